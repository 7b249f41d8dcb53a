/* SPDX-License-Identifier: MIT */
/*
 * Damage a foreign trace in many ways; its import must end with a store or with
 * a message of one line. A crash, or a sanitizer, ends the program.
 *
 *   fuzz_import COUNT SEED FILE [MAP]
 *
 * MAP: the columns of a CSV file, as --map takes them. Each second file is imported
 * as by --partial.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/import/import.h"
#include "lib/buf.h"
#include "lib/error.h"
#include "lib/store/store.h"
#include "tests/lib/random.h"

/* Pieces that a parser of text treats in a way of their own. */
static const char *const words[] = {
	"<unfinished ...>",
	"<... read resumed>",
	"\"",
	"\\",
	"<",
	">",
	"{",
	"}",
	"(",
	")",
	"[",
	"]",
	", ",
	"\n",
	" = ",
	"-1",
	"18446744073709551615",
	"9223372036854775807",
	"0x",
	"AT_FDCWD<",
	"...",
	"99999999999999999999999999",
	"=>",
	"/*",
	"NULL",
	"+++ ",
	"--- ",
};
#define WORDS (sizeof(words) / sizeof(words[0]))

static size_t below(size_t n)
{
	return n ? (size_t)(chance() % n) : 0;
}

/* One change of @b, which keeps its room. */
static void damage(char *data, size_t *len, size_t room)
{
	size_t at = below(*len), n = below(200), from = below(*len);
	const char *word = words[below(WORDS)];

	if (at + n > *len)
		n = *len - at;
	switch (below(5)) {
	case 0:
		if (*len)
			data[at] = (char)chance();
		break;
	case 1: /* cut a piece out */
		memmove(data + at, data + at + n, *len - at - n);
		*len -= n;
		break;
	case 2: /* repeat one elsewhere */
		if (from + n <= *len)
			memmove(data + at, data + from, n);
		break;
	case 3:
		n = strlen(word);
		if (*len + n > room)
			break;
		memmove(data + at + n, data + at, *len - at);
		memcpy(data + at, word, n);
		*len += n;
		break;
	default: /* the end is missing */
		if (!below(20))
			*len = at;
	}
}

static void write_file(const char *path, const char *data, size_t len)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		err(1, "cannot write '%s'", path);
}

int main(int argc, char **argv)
{
	struct reel_buf whole = REEL_BUF_INIT;
	char path[] = "fuzz_import.XXXXXX", *names[] = {path}, *data;
	uint64_t stores = 0, refused = 0;
	const struct reel_importer *as = NULL;
	const char *map = argc == 5 ? argv[4] : NULL;
	struct reel_error err_ = {0};
	int fd;

	if (argc < 4 || argc > 5 ||
	    reel_buf_read_file(&whole, argv[3], 16 << 20, &err_))
		errx(2, "usage: fuzz_import COUNT SEED FILE [MAP] %s",
		     err_.text);
	as = map ? reel_importer_find("csv", &err_)
		 : reel_importer_detect(argv[3]);
	if (!as)
		errx(2, "'%s' is of no format", argv[3]);
	chance_state += strtoull(argv[2], NULL, 10);
	fd = mkstemp(path);
	data = malloc(whole.len + 65536);
	if (fd < 0 || !data)
		err(1, "cannot begin");
	close(fd);
	for (uint64_t i = strtoull(argv[1], NULL, 10); i; i--) {
		const struct reel_import_options options = {
			.as = as, .map = map, .partial = i % 2};
		struct reel_error why = {0};
		struct reel_store *st = NULL;
		size_t len = whole.len;

		memcpy(data, whole.data, len);
		for (size_t n = 1 + below(30); n; n--)
			damage(data, &len, whole.len + 65536);
		write_file(path, data, len);
		if (reel_store_temporary(&st, path, &why))
			errx(1, "%s", why.text);
		if (reel_import(st, names, 1, &options, &why) >= 0)
			stores++;
		else if (*why.text && !strchr(why.text, '\n'))
			refused++;
		else
			errx(1, "a failure without a line");
		reel_store_close(st);
	}
	unlink(path);
	free(data);
	reel_buf_fini(&whole);
	printf("%llu stores, %llu refused\n", (unsigned long long)stores,
	       (unsigned long long)refused);
	return 0;
}
