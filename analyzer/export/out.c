/* SPDX-License-Identifier: MIT */
/* Buffered output of an export. */
#include "analyzer/export/out.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

static void write_out(struct export_out *o, const char *data, size_t len)
{
	if (o->failed)
		return;
	errno = 0;
	if (fwrite(data, 1, len, o->file) != len)
		o->failed = errno ? errno : EIO;
	o->written += len;
}

int export_out_flush(struct export_out *o)
{
	write_out(o, o->data, o->len);
	o->len = 0;
	if (!o->failed && fflush(o->file))
		o->failed = errno ? errno : EIO;
	return o->failed;
}

void export_put(struct export_out *o, const char *data, size_t len)
{
	if (len > EXPORT_OUT_BYTES - o->len) {
		write_out(o, o->data, o->len);
		o->len = 0;
		if (len > EXPORT_OUT_BYTES) {
			write_out(o, data, len);
			return;
		}
	}
	memcpy(o->data + o->len, data, len);
	o->len += len;
}

void export_puts(struct export_out *o, const char *text)
{
	export_put(o, text, strlen(text));
}

void export_put_int(struct export_out *o, int64_t v)
{
	uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
	char digits[24], *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + u % 10);
		u /= 10;
	} while (u);
	if (v < 0)
		*--p = '-';
	export_put(o, p, (size_t)(digits + sizeof(digits) - p));
}

void export_put_us(struct export_out *o, int64_t ns)
{
	int rest = (int)(ns % 1000);
	const char fraction[] = {'.', (char)('0' + rest / 100),
				 (char)('0' + rest / 10 % 10),
				 (char)('0' + rest % 10)};

	export_put_int(o, ns / 1000);
	export_put(o, fraction, sizeof(fraction));
}

/* Bytes of the UTF-8 character at @s, 0: there is none. */
static size_t utf8_bytes(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n == 1)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* overlong, a surrogate, beyond U+10FFFF */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static bool is_utf8(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t n = utf8_bytes(s);

		if (!n)
			return false;
		s += n;
	}
	return true;
}

static void put_json_valid(struct export_out *o, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	const char *from = text;

	export_put(o, "\"", 1);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		char escape[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
			continue;
		export_put(o, from, (size_t)(text - from));
		if (c == '"' || c == '\\') {
			escape[1] = (char)c;
			export_put(o, escape, 2);
		} else {
			export_put(o, escape, sizeof(escape));
		}
		from = text + 1;
	}
	export_put(o, from, (size_t)(text - from));
	export_put(o, "\"", 1);
}

void export_put_json(struct export_out *o, const char *text)
{
	size_t len;
	char *shown;

	if (is_utf8(text)) {
		put_json_valid(o, text);
		return;
	}
	len = strlen(text);
	shown = malloc(4 * len + 1);
	if (!shown) {
		o->failed = o->failed ? o->failed : ENOMEM;
		return;
	}
	reel_text_escape(shown, 4 * len + 1, text, len);
	put_json_valid(o, shown);
	free(shown);
}

void export_put_csv(struct export_out *o, const char *text)
{
	size_t n = strcspn(text, "\",\r\n");

	if (!text[n] && n) {
		export_put(o, text, n);
		return;
	}
	export_put(o, "\"", 1); /* an empty text too: a field without is NULL */
	for (;;) {
		n = strcspn(text, "\"");
		export_put(o, text, n);
		if (!text[n])
			break;
		export_put(o, "\"\"", 2);
		text += n + 1;
	}
	export_put(o, "\"", 1);
}
