/* SPDX-License-Identifier: MIT */
/*
 * The anchors as Python functions, for preload/python/: a call costs about 50
 * ns, a tenth of a call through ctypes.
 *
 * The shim does not link Python, and most processes have none: the functions of
 * the interpreter are looked up once, when the hooks request ours, with the GIL
 * held. Only the stable ABI is used, and PyMethodDef, stable since 3.7; objects
 * are opaque. All functions but within(), fetching() and now() return a bool.
 */
#include <string.h>

#include "schemas/ioreel.h"

#include "preload/anchors/spans.h"
#include "preload/core/dlfcn_compat.h"
#include "preload/core/symbols.h"

struct object; /* PyObject */

enum { METH_NOARGS = 4, METH_O = 8, METH_FASTCALL = 0x80 };

struct method { /* PyMethodDef */
	const char *name;
	void *function;
	int flags;
	const char *doc;
};

static struct {
	struct object *(*PyCFunction_NewEx)(struct method *, struct object *,
					    struct object *);
	int (*PyDict_SetItemString)(struct object *, const char *,
				    struct object *);
	void (*Py_DecRef)(struct object *);
	struct object *(*PyBool_FromLong)(long);
	struct object *(*PyLong_FromLong)(long);
	long long (*PyLong_AsLongLong)(struct object *);
	struct object *(*PyErr_Occurred)(void);
	const char *(*PyUnicode_AsUTF8AndSize)(struct object *, ssize_t *);
} py;

/*
 * The kinds of span that this thread entered by enter(): a call within a call
 * of the same kind belongs to it.
 */
static _Thread_local uint32_t inside __attribute__((tls_model("initial-exec")));

static struct object *make_bool(bool yes)
{
	return py.PyBool_FromLong(yes);
}

/* A kind of span; -1: not one, or an exception is set. */
static int kind_of(struct object *o)
{
	long long kind = py.PyLong_AsLongLong(o);

	return kind >= 0 && kind < 32 ? (int)kind : -1;
}

/* begin(kind, detail[, since]): true if @kind is valid. */
static struct object *py_begin(struct object *self, struct object *const *args,
			       ssize_t n)
{
	int kind = n == 2 || n == 3 ? kind_of(args[0]) : -1;
	long long detail = kind < 0 ? 0 : py.PyLong_AsLongLong(args[1]);
	long long since = kind < 0 || n < 3 ? 0 : py.PyLong_AsLongLong(args[2]);

	if (py.PyErr_Occurred())
		return NULL;
	shim_span_since(kind, detail, (uint64_t)since);
	return make_bool(kind >= 0);
}

/* now(): a time for begin() and end(). */
static struct object *py_now(struct object *self, struct object *unused)
{
	return py.PyLong_FromLong((long)shim_clock());
}

typedef void span_function(int span);

static struct object *span_call(struct object *arg, span_function *fn)
{
	int kind = kind_of(arg);

	if (kind < 0 && py.PyErr_Occurred())
		return NULL;
	fn(kind);
	return make_bool(kind >= 0);
}

/* end(kind[, at]): true if @kind is valid. */
static struct object *py_end(struct object *self, struct object *const *args,
			     ssize_t n)
{
	int kind = n == 1 || n == 2 ? kind_of(args[0]) : -1;
	long long at = kind < 0 || n < 2 ? 0 : py.PyLong_AsLongLong(args[1]);

	if (py.PyErr_Occurred())
		return NULL;
	shim_span_end_at(kind, (uint64_t)at);
	return make_bool(kind >= 0);
}

static struct object *py_cancel(struct object *self, struct object *arg)
{
	return span_call(arg, ioreel_span_cancel);
}

/*
 * enter(kind[, detail]): begin a span unless one of its kind is entered; true
 * if it began. USER and 31, which is no kind, are remembered only.
 */
static struct object *py_enter(struct object *self, struct object *const *args,
			       ssize_t n)
{
	int kind = n ? kind_of(args[0]) : -1;
	long long detail = n > 1 ? py.PyLong_AsLongLong(args[1]) : -1;

	if (kind < 0 || inside & 1u << kind || (n > 1 && py.PyErr_Occurred()))
		return py.PyErr_Occurred() ? NULL : make_bool(false);
	inside |= 1u << kind;
	if (kind != REEL_SPAN_USER)
		ioreel_span_begin(kind, detail);
	return make_bool(true);
}

static struct object *leave_span(struct object *arg, span_function *fn)
{
	int kind = kind_of(arg);

	if (kind < 0 || !(inside & 1u << kind))
		return kind < 0 && py.PyErr_Occurred() ? NULL
						       : make_bool(false);
	inside &= ~(1u << kind);
	if (kind != REEL_SPAN_USER)
		fn(kind);
	return make_bool(true);
}

/* leave(kind), withdraw(kind): end or cancel a span that enter() began. */
static struct object *py_leave(struct object *self, struct object *arg)
{
	return leave_span(arg, ioreel_span_end);
}

static struct object *py_withdraw(struct object *self, struct object *arg)
{
	return leave_span(arg, ioreel_span_cancel);
}

/* within(): a bit for each kind that this thread entered and has not left. */
static struct object *py_within(struct object *self, struct object *unused)
{
	return py.PyLong_FromLong((long)inside);
}

/* fetching(): how many spans "fetch" are open in this thread. */
static struct object *py_fetching(struct object *self, struct object *unused)
{
	return py.PyLong_FromLong((long)shim_fetching);
}

/* forget(): in a forked child no span is open. */
static struct object *py_forget(struct object *self, struct object *unused)
{
	inside = 0;
	shim_fetching = 0;
	return make_bool(true);
}

/* open_span(name, detail), close_span(name): spans of any name. */
static struct object *py_open(struct object *self, struct object *const *args,
			      ssize_t n)
{
	const char *name =
		n == 2 ? py.PyUnicode_AsUTF8AndSize(args[0], NULL) : NULL;
	long long detail = name ? py.PyLong_AsLongLong(args[1]) : 0;

	if (py.PyErr_Occurred())
		return NULL;
	ioreel_begin(name, detail);
	return make_bool(name);
}

static struct object *py_close(struct object *self, struct object *arg)
{
	const char *name = py.PyUnicode_AsUTF8AndSize(arg, NULL);

	if (!name)
		return NULL;
	ioreel_end(name);
	return make_bool(true);
}

static struct object *py_note(struct object *self, struct object *const *args,
			      ssize_t n)
{
	const char *key =
		n == 2 ? py.PyUnicode_AsUTF8AndSize(args[0], NULL) : NULL;
	const char *value =
		key ? py.PyUnicode_AsUTF8AndSize(args[1], NULL) : NULL;

	if (py.PyErr_Occurred())
		return NULL;
	ioreel_note(key, value);
	return make_bool(value);
}

static struct object *py_recording(struct object *self, struct object *unused)
{
	return make_bool(ioreel_recording());
}

static struct method methods[] = {
	{"begin", (void *)py_begin, METH_FASTCALL, NULL},
	{"now", (void *)py_now, METH_NOARGS, NULL},
	{"end", (void *)py_end, METH_FASTCALL, NULL},
	{"cancel", (void *)py_cancel, METH_O, NULL},
	{"enter", (void *)py_enter, METH_FASTCALL, NULL},
	{"leave", (void *)py_leave, METH_O, NULL},
	{"withdraw", (void *)py_withdraw, METH_O, NULL},
	{"within", (void *)py_within, METH_NOARGS, NULL},
	{"fetching", (void *)py_fetching, METH_NOARGS, NULL},
	{"forget", (void *)py_forget, METH_NOARGS, NULL},
	{"open_span", (void *)py_open, METH_FASTCALL, NULL},
	{"close_span", (void *)py_close, METH_O, NULL},
	{"note", (void *)py_note, METH_FASTCALL, NULL},
	{"recording", (void *)py_recording, METH_NOARGS, NULL},
};

static bool find_python(void)
{
#define FIND(fn)                                                               \
	if (!(*(void **)&py.fn = dlsym(RTLD_DEFAULT, #fn)))                    \
		return false;
	FIND(PyCFunction_NewEx)
	FIND(PyDict_SetItemString)
	FIND(Py_DecRef)
	FIND(PyBool_FromLong)
	FIND(PyLong_FromLong)
	FIND(PyLong_AsLongLong)
	FIND(PyErr_Occurred)
	FIND(PyUnicode_AsUTF8AndSize)
#undef FIND
	return true;
}

/* Put the functions into the dict @names. The caller holds the GIL. */
EXPORT int ioreel_python(struct object *names)
{
	if (!find_python())
		return -1;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		struct object *f =
			py.PyCFunction_NewEx(&methods[i], NULL, NULL);
		int failed = !f ||
			     py.PyDict_SetItemString(names, methods[i].name, f);

		if (f)
			py.Py_DecRef(f);
		if (failed)
			return -1;
	}
	return 0;
}
