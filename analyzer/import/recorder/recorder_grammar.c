/* SPDX-License-Identifier: MIT */
/* Recorder's compression: signatures of calls, and the grammar of their order. */
#include "analyzer/import/recorder/recorder_grammar.h"

#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/intmap.h"

#include "analyzer/import/recorder/recorder_log.h"

/* Thread 8, function 1, depth 1, number of arguments 1, their bytes 4. */
#define KEY_HEAD 15

/* --- signatures ------------------------------------------------------------- */

void recorder_signatures_fini(struct recorder_signatures *s)
{
	recorder_file_fini(&s->file);
	free(s->at);
	*s = (struct recorder_signatures){0};
}

/* End each argument, which a space ends, with a NUL. */
static void split_arguments(uint8_t *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (at[i] == ' ')
			at[i] = '\0';
}

int recorder_signatures_read(struct recorder_signatures *s,
			     struct recorder_file *f, bool ranked,
			     struct reel_error *err)
{
	uint32_t head = ranked ? 16 : 8;
	size_t at = 4;

	s->file = *f;
	*f = (struct recorder_file){0};
	f = &s->file;
	if (f->bytes < 4 || f->bytes > UINT32_MAX)
		return recorder_file_bad(f, 0, "is no table of calls", err);
	s->n = recorder_u32(f->data);
	if (s->n > f->bytes / (head + KEY_HEAD))
		return recorder_file_bad(
			f, 0, "has no possible number of calls", err);
	s->at = reel_alloc((size_t)s->n + 1, sizeof(*s->at), err);
	if (!s->at)
		return -1;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t terminal, bytes, text;

		if (f->bytes - at < head + KEY_HEAD)
			return recorder_file_bad(f, at, "is cut off", err);
		terminal = recorder_u32(f->data + at);
		bytes = recorder_u32(f->data + at + head - (ranked ? 8 : 4));
		at += head;
		text = recorder_u32(f->data + at + KEY_HEAD - 4);
		if (terminal >= s->n || bytes < KEY_HEAD ||
		    bytes > f->bytes - at || text > bytes - KEY_HEAD)
			return recorder_file_bad(f, at, "has a damaged call",
						 err);
		s->at[terminal] = (uint32_t)at;
		split_arguments(f->data + at + KEY_HEAD, text);
		at += bytes;
	}
	return 0;
}

bool recorder_signature(const struct recorder_signatures *s, uint32_t terminal,
			struct recorder_call *call, unsigned int *function)
{
	const uint8_t *key;
	const char *text, *end;

	if (terminal >= s->n || !s->at[terminal])
		return false;
	key = s->file.data + s->at[terminal];
	call->tid = recorder_u64(key);
	*function = key[8];
	call->depth = key[9];
	text = (const char *)key + KEY_HEAD;
	end = text + recorder_u32(key + KEY_HEAD - 4);
	for (call->args = 0;
	     call->args < key[10] && call->args < RECORDER_ARGS && text < end;
	     text += strnlen(text, (size_t)(end - text)) + 1)
		/* The last one of a damaged file may lack its end. */
		call->arg[call->args++] =
			memchr(text, '\0', (size_t)(end - text)) ? text : "";
	return true;
}

/* --- the grammar ------------------------------------------------------------- */

struct rule {
	size_t at; /* of its first symbol in the file */
	uint32_t symbols;
};

struct place { /* in a rule that is being expanded */
	uint32_t rule, symbol;
	int32_t left; /* times that the symbol is still to be given */
};

struct grammar {
	const struct recorder_file *file;
	struct rule *rule;
	struct reel_intmap by_id;
	struct place *stack;
	uint32_t rules, depth;
};

static int bad(const struct grammar *g, size_t at, struct reel_error *err)
{
	return recorder_file_bad(g->file, at, "has a damaged grammar", err);
}

/*
 * Each rule stands for at least two symbols, but for the first one: else the
 * work could grow faster than the number of terminals.
 */
static int check_rule(const struct grammar *g, const struct rule *r, int32_t id,
		      struct reel_error *err)
{
	uint64_t weight = 0;

	for (uint32_t i = 0; i < r->symbols; i++) {
		size_t at = r->at + 8 * (size_t)i;
		int32_t times = (int32_t)recorder_u32(g->file->data + at + 4);

		if (times < 1)
			return bad(g, at, err);
		weight += (uint32_t)times;
	}
	return weight < 2 && id != -1 ? bad(g, r->at, err) : 0;
}

static int read_rules(struct grammar *g, struct reel_error *err)
{
	const struct recorder_file *f = g->file;
	uint32_t n = f->bytes < 4 ? 0 : recorder_u32(f->data);
	size_t at = 4;

	if (!n || n > f->bytes / 8)
		return bad(g, 0, err);
	g->rule = reel_alloc(n, sizeof(*g->rule), err);
	g->stack = reel_alloc((size_t)n + 1, sizeof(*g->stack), err);
	if (!g->rule || !g->stack)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		struct rule *r = &g->rule[i];
		int32_t id;

		if (f->bytes - at < 8)
			return bad(g, at, err);
		id = (int32_t)recorder_u32(f->data + at);
		r->symbols = recorder_u32(f->data + at + 4);
		r->at = at + 8;
		if (id >= 0 || r->symbols > (f->bytes - r->at) / 8)
			return bad(g, at, err);
		if (check_rule(g, r, id, err))
			return -1;
		/* no memory, or the same id again */
		if (reel_intmap_get(&g->by_id, (uint32_t)id, err) != i)
			return bad(g, at, err);
		at = r->at + 8 * (size_t)r->symbols;
		g->rules++;
	}
	return 0;
}

/* Begin the rule @id. */
static int enter(struct grammar *g, int32_t id, size_t at,
		 struct reel_error *err)
{
	uint32_t rule = reel_intmap_find(&g->by_id, (uint32_t)id);

	/* A rule inside itself would be deeper than there are rules. */
	if (rule == REEL_NO_INDEX || g->depth == g->rules)
		return bad(g, at, err);
	g->stack[g->depth++] = (struct place){.rule = rule};
	return 0;
}

static int walk(struct grammar *g, recorder_terminal_fn *each, void *arg,
		struct reel_error *err)
{
	int rc = enter(g, -1, 0, err);

	while (!rc && g->depth) {
		struct place *p = &g->stack[g->depth - 1];
		const struct rule *r = &g->rule[p->rule];
		size_t at = r->at + 8 * (size_t)p->symbol;
		int32_t symbol;

		if (p->symbol == r->symbols) {
			g->depth--;
			continue;
		}
		symbol = (int32_t)recorder_u32(g->file->data + at);
		if (!p->left)
			p->left = (int32_t)recorder_u32(g->file->data + at + 4);
		if (!--p->left)
			p->symbol++;
		rc = symbol < 0 ? enter(g, symbol, at, err)
				: each(arg, (uint32_t)symbol, err);
	}
	return rc;
}

int recorder_grammar_walk(const struct recorder_file *f,
			  recorder_terminal_fn *each, void *arg,
			  struct reel_error *err)
{
	struct grammar g = {.file = f};
	int rc = read_rules(&g, err);

	if (!rc)
		rc = walk(&g, each, arg, err);
	reel_intmap_fini(&g.by_id);
	free(g.rule);
	free(g.stack);
	return rc;
}
