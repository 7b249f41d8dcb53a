/* SPDX-License-Identifier: MIT */
/*
 * Conditions on names of events: which ids match.
 *
 * Texts match as in SQLite's own operators: = byte by byte, LIKE without the
 * case of ASCII letters, GLOB with it.
 */
#include "lib/store/event_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first function of SQLite 3.38 that is used; an older one that loads the
 * module gives values of a list one by one. */
#if SQLITE_VERSION_NUMBER >= 3038000
#define HAVE_LISTS 1
#endif

/* --- values --------------------------------------------------------------- */

static int compare_values(const void *a, const void *b)
{
	const struct reel_match_value *x = a, *y = b;

	if (x->text.text && y->text.text) {
		if (x->text.len != y->text.len)
			return x->text.len < y->text.len ? -1 : 1;
		return memcmp(x->text.text, y->text.text, (size_t)x->text.len);
	}
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Convert @v: 1, 0 if it matches nothing, -1 if SQLite has to decide. */
static int convert_value(enum reel_match_of of, sqlite3_value *v,
			 struct reel_match_value *out)
{
	int type = sqlite3_value_type(v);

	*out = (struct reel_match_value){0};
	if (type == SQLITE_NULL)
		return 0;
	if (reel_match_is_text(of)) {
		if (type != SQLITE_TEXT)
			return -1;
		out->text.text = (const char *)sqlite3_value_text(v);
		out->text.len = sqlite3_value_bytes(v);
		return out->text.text ? 1 : -1;
	}
	type = sqlite3_value_numeric_type(v);
	if (type == SQLITE_FLOAT) {
		double d = sqlite3_value_double(v);

		if (!(fabs(d) < 9e15) || d != floor(d))
			return fabs(d) < 9e15 ? 0 : -1;
		out->number = (int64_t)d;
		return 1;
	}
	out->number = sqlite3_value_int64(v);
	return type == SQLITE_INTEGER ? 1 : -1;
}

static int add_value(struct reel_match *m, sqlite3_value *v, bool copy)
{
	struct reel_match_value one;
	int rc = convert_value(m->of, v, &one);

	m->any = m->any || rc < 0;
	if (rc <= 0)
		return SQLITE_OK;
	if (m->values == m->room) {
		size_t room = m->room ? 2 * m->room : 4;
		void *p = realloc(m->value, room * sizeof(*m->value));

		if (!p)
			return SQLITE_NOMEM;
		m->value = p;
		m->room = room;
	}
	if (copy && one.text.text) {
		char *text =
			sqlite3_mprintf("%.*s", one.text.len, one.text.text);

		if (!text)
			return SQLITE_NOMEM;
		one.text.text = text;
		one.text.len = (int)strlen(text);
	}
	m->value[m->values++] = one;
	return SQLITE_OK;
}

int reel_match_init(struct reel_match *m, enum reel_match_of of, char op,
		    sqlite3_value *v)
{
	int rc = SQLITE_OK;

	*m = (struct reel_match){.of = of, .op = op};
#ifdef HAVE_LISTS
	if (op == REEL_MATCH_IN) {
		sqlite3_value *one;

		rc = sqlite3_vtab_in_first(v, &one);
		while (rc == SQLITE_OK && one) {
			rc = add_value(m, one, true);
			if (rc == SQLITE_OK)
				rc = sqlite3_vtab_in_next(v, &one);
		}
		if (rc == SQLITE_DONE)
			rc = SQLITE_OK;
	} else
#endif
		rc = add_value(m, v, false);
	if (m->values > 1)
		qsort(m->value, m->values, sizeof(*m->value), compare_values);
	return rc;
}

void reel_match_fini(struct reel_match *m)
{
	for (size_t i = 0; m->op == REEL_MATCH_IN && i < m->values; i++)
		sqlite3_free((char *)m->value[i].text.text);
	free(m->value);
	*m = (struct reel_match){0};
}

/* --- matching ------------------------------------------------------------- */

static bool match_text(const struct reel_match *m, struct reel_name text)
{
	const struct reel_match_value key = {.text = text};

	if (m->any)
		return true;
	if (!text.text || !m->values)
		return false;
	if (m->op == REEL_MATCH_LIKE)
		return !sqlite3_strlike(m->value->text.text, text.text, 0);
	if (m->op == REEL_MATCH_GLOB)
		return !sqlite3_strglob(m->value->text.text, text.text);
	return m->values == 1
		       ? !compare_values(&key, m->value)
		       : bsearch(&key, m->value, m->values, sizeof(*m->value),
				 compare_values) != NULL;
}

static bool match_number(const struct reel_match *m, int64_t number)
{
	const struct reel_match_value key = {.number = number};

	return m->any ||
	       (m->values && bsearch(&key, m->value, m->values,
				     sizeof(*m->value), compare_values));
}

static bool match_thread(const struct reel_match *m,
			 const struct reel_event_thread *t)
{
	switch (m->of) {
	case REEL_MATCH_THREAD:
		return match_number(m, t->thread);
	case REEL_MATCH_PROCESS:
		return match_number(m, t->process);
	case REEL_MATCH_PID:
		return match_number(m, t->pid);
	case REEL_MATCH_TID:
		return match_number(m, t->tid);
	default:
		return true;
	}
}

static bool match_call(const struct reel_match *m,
		       const struct reel_event_call *c)
{
	switch (m->of) {
	case REEL_MATCH_CALL_ID:
		return match_number(m, c->call);
	case REEL_MATCH_CALL:
		return match_text(m, c->name);
	case REEL_MATCH_LAYER:
		return match_text(m, c->layer);
	case REEL_MATCH_GROUP:
		return match_text(m, c->group);
	default:
		return true;
	}
}

static struct reel_name name_of(const char *text)
{
	return (struct reel_name){text, (int)strlen(text)};
}

static bool match_file(const struct reel_match *m, int64_t id,
		       const struct reel_event_file *f)
{
	switch (m->of) {
	case REEL_MATCH_FILE_ID:
		return match_number(m, id);
	case REEL_MATCH_PATH:
		return match_text(m, f->path);
	case REEL_MATCH_CLASS:
		return match_text(m, name_of(f->class_));
	case REEL_MATCH_KIND:
		return match_text(m, name_of(f->kind));
	default:
		return true;
	}
}

/* --- sets ----------------------------------------------------------------- */

struct every_file {
	const struct reel_match *m;
	size_t n;
	struct reel_idset *set;
};

static int add_file(void *arg, int64_t id, const struct reel_event_file *f)
{
	const struct every_file *e = arg;

	for (size_t i = 0; i < e->n; i++)
		if (!match_file(&e->m[i], id, f))
			return 0;
	return reel_idset_add(e->set, id);
}

/* Are all decided conditions of @m between @first and @last on the id @of?
 * Then the values of one are the set, whatever the store has. */
static const struct reel_match *by_id_only(const struct reel_match *m, size_t n,
					   enum reel_match_of of,
					   enum reel_match_of last)
{
	const struct reel_match *only = NULL;

	for (size_t i = 0; i < n; i++) {
		if (m[i].of < of || m[i].of > last || m[i].any)
			continue;
		if (m[i].of != of || only)
			return NULL;
		only = &m[i];
	}
	return only;
}

static int add_values(const struct reel_match *m, struct reel_idset *set)
{
	for (size_t i = 0; i < m->values; i++)
		if (reel_idset_add(set, m->value[i].number))
			return -1;
	return 0;
}

static int add_threads(const struct reel_match *m, size_t n,
		       const struct reel_event_names *names,
		       struct reel_idset *set)
{
	size_t count;
	const struct reel_event_thread *t =
		reel_event_names_threads(names, &count);

	for (size_t k = 0; k < count; k++) {
		size_t i = 0;

		while (i < n && match_thread(&m[i], &t[k]))
			i++;
		if (i == n && reel_idset_add(set, t[k].thread))
			return -1;
	}
	return 0;
}

static int add_calls(const struct reel_match *m, size_t n,
		     const struct reel_event_names *names,
		     struct reel_idset *set)
{
	size_t count;
	const struct reel_event_call *c = reel_event_names_calls(names, &count);

	for (size_t k = 0; k < count; k++) {
		size_t i = 0;

		while (i < n && match_call(&m[i], &c[k]))
			i++;
		if (i == n && reel_idset_add(set, c[k].call))
			return -1;
	}
	return 0;
}

int reel_match_ids(const struct reel_match *m, size_t n,
		   struct reel_event_names *names, struct reel_event_wanted *w,
		   const char **why)
{
	struct every_file files = {m, n, &w->file};
	const struct reel_match *id;
	int rc = 0;

	w->by_thread = w->by_call = w->by_file = false;
	for (size_t i = 0; i < n; i++) {
		bool decided = !m[i].any;

		w->by_thread |= decided && m[i].of >= REEL_MATCH_THREAD &&
				m[i].of <= REEL_MATCH_TID;
		w->by_call |= decided && m[i].of >= REEL_MATCH_CALL_ID &&
			      m[i].of <= REEL_MATCH_GROUP;
		w->by_file |= decided && m[i].of >= REEL_MATCH_FILE_ID;
	}
	*why = "out of memory";
	if (w->by_thread) {
		id = by_id_only(m, n, REEL_MATCH_THREAD, REEL_MATCH_TID);
		rc = id ? add_values(id, &w->thread)
			: add_threads(m, n, names, &w->thread);
	}
	if (!rc && w->by_call) {
		id = by_id_only(m, n, REEL_MATCH_CALL_ID, REEL_MATCH_GROUP);
		rc = id ? add_values(id, &w->call)
			: add_calls(m, n, names, &w->call);
	}
	if (!rc && w->by_file) {
		id = by_id_only(m, n, REEL_MATCH_FILE_ID, REEL_MATCH_KIND);
		rc = id ? add_values(id, &w->file)
			: reel_event_names_each_file(names, add_file, &files,
						     why);
	}
	return rc;
}
