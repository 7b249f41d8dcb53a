/* SPDX-License-Identifier: MIT */
/*
 * A YAML file as a list of scalars. An alias is followed as if its node were
 * written out, so that depth and visits are bounded: a few lines of aliases can
 * mean billions of nodes, or a circle.
 */
#include "replay/workload/dlio_yaml.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"

#define FILE_MOST (1u << 20)
#define DEPTH_MOST 8
#define NODES_MOST 100000

struct walk {
	struct yaml_scalars *out;
	yaml_document_t *doc;
	const char *path;
	unsigned int nodes;
	struct reel_error *err;
};

static int add(struct walk *w, const char *key, const yaml_node_t *n)
{
	struct yaml_scalars *y = w->out;
	struct yaml_scalar *s;

	if (reel_array_reach(&y->at, &y->room, y->n, sizeof(*y->at), w->err))
		return -1;
	s = &y->at[y->n];
	s->line = n->start_mark.line + 1;
	s->key = reel_strdup(key, w->err);
	s->text = reel_strdup((const char *)n->data.scalar.value, w->err);
	y->n++; /* with a NULL too, so that both are freed */
	return s->key && s->text ? 0 : -1;
}

static int walk(struct walk *w, int id, struct reel_buf *key, int depth);

static int walk_list(struct walk *w, const yaml_node_t *n, struct reel_buf *key,
		     int depth)
{
	const yaml_node_item_t *first = n->data.sequence.items.start;
	size_t len = key->len;
	int rc = 0;

	for (const yaml_node_item_t *i = first;
	     !rc && i < n->data.sequence.items.top; i++) {
		rc = reel_buf_printf(key, w->err, "[%d]", (int)(i - first)) ||
		     walk(w, *i, key, depth);
		key->len = len;
	}
	return rc;
}

static int walk_map(struct walk *w, const yaml_node_t *n, struct reel_buf *key,
		    int depth)
{
	size_t len = key->len;
	int rc = 0;

	for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
	     !rc && p < n->data.mapping.pairs.top; p++) {
		const yaml_node_t *k = yaml_document_get_node(w->doc, p->key);

		if (k->type != YAML_SCALAR_NODE)
			return reel_fail(w->err, REEL_E_FORMAT,
					 "'%s', line %zu: a key is no word",
					 w->path, k->start_mark.line + 1);
		rc = reel_buf_printf(key, w->err, "%s%s", len ? "." : "",
				     (const char *)k->data.scalar.value) ||
		     walk(w, p->value, key, depth);
		key->len = len;
	}
	return rc;
}

static int walk(struct walk *w, int id, struct reel_buf *key, int depth)
{
	const yaml_node_t *n = yaml_document_get_node(w->doc, id);

	if (depth > DEPTH_MOST || ++w->nodes > NODES_MOST)
		return reel_fail(w->err, REEL_E_FORMAT,
				 "'%s', line %zu: too deep or too large for a "
				 "DLIO workload",
				 w->path, n->start_mark.line + 1);
	switch (n->type) {
	case YAML_SCALAR_NODE:
		if (key->data)
			key->data[key->len] = 0;
		return add(w, reel_buf_text(key), n);
	case YAML_SEQUENCE_NODE:
		return walk_list(w, n, key, depth + 1);
	case YAML_MAPPING_NODE:
		return walk_map(w, n, key, depth + 1);
	default:
		return 0;
	}
}

static int parse(struct walk *w, yaml_parser_t *parser)
{
	struct reel_buf key = REEL_BUF_INIT;
	const yaml_node_t *root;
	yaml_document_t doc;
	int rc;

	if (!yaml_parser_load(parser, &doc))
		return reel_fail(
			w->err, REEL_E_FORMAT, "'%s' is no YAML: line %zu: %s",
			w->path, parser->problem_mark.line + 1,
			parser->problem ? parser->problem : "cannot be read");
	w->doc = &doc;
	root = yaml_document_get_root_node(&doc);
	if (!root || root->type != YAML_MAPPING_NODE)
		rc = reel_fail(w->err, REEL_E_FORMAT,
			       "'%s' is no DLIO workload: its top is no map",
			       w->path);
	else
		rc = walk(w, 1, &key, 0); /* node 1 is the root */
	w->doc = NULL;
	yaml_document_delete(&doc);
	reel_buf_fini(&key);
	return rc ? -1 : 0;
}

int yaml_scalars_read(struct yaml_scalars *y, const char *path,
		      struct reel_error *err)
{
	struct walk w = {.out = y, .path = path, .err = err};
	struct reel_buf text = REEL_BUF_INIT;
	yaml_parser_t parser;
	int rc = -1;

	memset(y, 0, sizeof(*y));
	if (reel_buf_read_file(&text, path, FILE_MOST, err))
		goto out;
	if (!yaml_parser_initialize(&parser)) {
		reel_fail(err, REEL_E_MEMORY, "out of memory");
		goto out;
	}
	yaml_parser_set_input_string(
		&parser, (const unsigned char *)reel_buf_text(&text), text.len);
	rc = parse(&w, &parser);
	yaml_parser_delete(&parser);
out:
	reel_buf_fini(&text);
	return rc;
}

void yaml_scalars_fini(struct yaml_scalars *y)
{
	for (uint32_t i = 0; i < y->n; i++) {
		free(y->at[i].key);
		free(y->at[i].text);
	}
	free(y->at);
	memset(y, 0, sizeof(*y));
}

const struct yaml_scalar *yaml_scalar_of(const struct yaml_scalars *y,
					 const char *key)
{
	for (uint32_t i = y->n; i > 0; i--)
		if (!strcmp(y->at[i - 1].key, key))
			return &y->at[i - 1];
	return NULL;
}
