/* SPDX-License-Identifier: MIT */
/*
 * The pickle of a dictionary of tensors "t0", "t1" ... of bytes, as torch.save() makes
 * it: byte by byte that of Python's pickler with protocol 2.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"

#include "replay/pipeline/checkpoint_pickle.h"

#define PADDING_LEAST 8 /* bytes of an item without its key */

struct pickle {
	struct reel_buf *text;
	uint64_t memo;
	struct reel_error *err;
	int rc;
};

static void add(struct pickle *p, const void *bytes, size_t n)
{
	if (!p->rc)
		p->rc = reel_buf_add(p->text, bytes, n, p->err);
}

static void add_words(struct pickle *p, const char *s)
{
	add(p, s, strlen(s));
}

/* @op with one byte, or @op_long with four: a place of the memo. */
static void add_memo(struct pickle *p, char op, char op_long, uint64_t i)
{
	uint8_t b[5] = {(uint8_t)op, (uint8_t)i};

	if (i > 255) {
		b[0] = (uint8_t)op_long;
		put_little(b + 1, i, 4);
	}
	add(p, b, i > 255 ? 5 : 2);
}

static void keep(struct pickle *p)
{
	add_memo(p, 'q', 'r', p->memo++);
}

static void get(struct pickle *p, uint64_t i)
{
	add_memo(p, 'h', 'j', i);
}

static void add_text(struct pickle *p, const char *s)
{
	uint8_t head[5] = {'X'};

	put_little(head + 1, strlen(s), 4);
	add(p, head, sizeof(head));
	add_words(p, s);
	keep(p);
}

static void add_integer(struct pickle *p, uint64_t v)
{
	uint8_t b[11] = {'K', (uint8_t)v};
	size_t n = 2;

	if (v > 0x7fffffff) {
		b[0] = 0x8a;
		put_little(b + 2, v, 8);
		/* As few bytes as hold it with its sign. */
		for (n = 8; !b[n + 1] && b[n] < 0x80; n--)
			;
		b[1] = (uint8_t)n;
		n += 2;
	} else if (v > 65535) {
		b[0] = 'J';
		put_little(b + 1, v, 4);
		n = 5;
	} else if (v > 255) {
		b[0] = 'M';
		put_little(b + 1, v, 2);
		n = 3;
	}
	add(p, b, n);
}

enum {
	MEMO_REBUILD = 2,
	MEMO_STORAGE,
	MEMO_TYPE,
	MEMO_CPU = 6,
	MEMO_DICT = 10
};

static void add_tensor(struct pickle *p, uint64_t i, uint64_t n)
{
	char name[32];
	bool first = !i;

	snprintf(name, sizeof(name), "t%llu", (unsigned long long)i);
	add_text(p, name);
	if (first) {
		add_words(p, "ctorch._utils\n_rebuild_tensor_v2\n");
		keep(p);
		add_words(p, "((");
		add_text(p, "storage");
		add_words(p, "ctorch\nByteStorage\n");
		keep(p);
	} else {
		get(p, MEMO_REBUILD);
		add_words(p, "((");
		get(p, MEMO_STORAGE);
		get(p, MEMO_TYPE);
	}
	add_text(p, name + 1);
	if (first)
		add_text(p, "cpu");
	else
		get(p, MEMO_CPU);
	add_integer(p, n);
	add_words(p, "t");
	keep(p);
	add_words(p, "QK");
	add(p, "\0", 1);
	add_integer(p, n);
	add_words(p, "\x85");
	keep(p);
	add_words(p, "K\1\x85");
	keep(p);
	add_words(p, "\x89");
	if (first) {
		add_words(p, "ccollections\nOrderedDict\n");
		keep(p);
	} else {
		get(p, MEMO_DICT);
	}
	add_words(p, ")R");
	keep(p);
	add_words(p, "t");
	keep(p);
	add_words(p, "R");
	keep(p);
}

/* One more item of the dictionary, for @n bytes: a key of blanks, and 0. */
static void add_padding(struct pickle *p, uint64_t n)
{
	uint8_t head[5] = {'X'};

	if (n < PADDING_LEAST)
		return;
	put_little(head + 1, n - PADDING_LEAST, 4);
	add(p, head, sizeof(head));
	for (uint64_t i = PADDING_LEAST; i < n; i++)
		add_words(p, " ");
	add_words(p, "K");
	add(p, "\0", 1);
	add_words(p, "s");
}

/* Items of a dictionary come in lots of 1000, of which the last may be empty. */
int torch_pickle(struct reel_buf *to, const int64_t *bytes, int64_t n,
		 int64_t least, struct reel_error *err)
{
	struct pickle p = {.text = to, .err = err};
	size_t begin = to->len;
	int64_t i = 0, lot;

	add_words(&p, "\x80\2}");
	keep(&p);
	if (n == 1) {
		add_tensor(&p, 0, (uint64_t)bytes[0]);
		add_words(&p, "s");
	} else if (n) {
		do {
			add_words(&p, "(");
			for (lot = 0; lot < 1000 && i < n; lot++, i++)
				add_tensor(&p, (uint64_t)i, (uint64_t)bytes[i]);
			add_words(&p, "u");
		} while (lot == 1000);
	}
	if ((uint64_t)least > to->len - begin)
		add_padding(&p, (uint64_t)least - (to->len - begin) - 1);
	add_words(&p, ".");
	return p.rc;
}
