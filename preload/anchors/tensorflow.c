/* SPDX-License-Identifier: MIT */
/*
 * The fetches of TensorFlow's graphs: a compiled loop, as that of Keras' fit(),
 * takes its batches by an operation where no hook of Python sees it.
 *
 * TensorFlow exports the methods that compute these operations, and calls them
 * through tables that the loader fills by name: it finds ours first. Of a
 * version that has other names, or binds them itself, nothing is known, and
 * nothing changes. The status that they return lies where their first, hidden
 * argument says, which is handed through as it is. An operation that finds the
 * end of the data is a fetch, too: it was waited for.
 *
 * They run in any thread of TensorFlow's, or in the program's, where a hook of
 * the iterator has told the fetch already. On other machines than x86-64 the
 * hidden argument is in a register that C cannot hand through.
 */
#include <errno.h>

#include "schemas/ioreel.h"

#include "preload/anchors/spans.h"
#include "preload/elf/object.h"
#include "preload/core/symbols.h"

#if defined(__x86_64__)

typedef void *compute(void *status, void *op, void *context);

struct search {
	const char *name;
	compute *own, *found;
};

static int find_in(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct shim_object o;
	void *fn;

	shim_object_read(&o, info);
	fn = shim_object_defined(&o, s->name);
	if (!fn || fn == (void *)s->own)
		return 0;
	s->found = (compute *)fn;
	return 1;
}

/* Once: the library that bound the name to @own defines it, too. */
COLD static compute *find_real(const char *name, compute *own)
{
	struct search s = {name, own, NULL};
	int saved = errno;

	dl_iterate_phdr(find_in, &s);
	errno = saved;
	return s.found;
}

#define GET_NEXT(method)                                                       \
	EXPORT compute method;                                                 \
	void *method(void *status, void *op, void *context)                    \
	{                                                                      \
		static compute *next;                                          \
		compute *fn = __atomic_load_n(&next, __ATOMIC_RELAXED);        \
		bool told = shim_fetching != 0;                                \
		void *r;                                                       \
                                                                               \
		if (unlikely(!fn)) {                                           \
			fn = find_real(#method, method);                       \
			__atomic_store_n(&next, fn, __ATOMIC_RELAXED);         \
		}                                                              \
		if (!told)                                                     \
			ioreel_span_begin(REEL_SPAN_FETCH, -1);                \
		r = fn(status, op, context);                                   \
		if (!told)                                                     \
			ioreel_span_end(REEL_SPAN_FETCH);                      \
		return r;                                                      \
	}

/* tensorflow::data::IteratorGetNextOp::DoCompute(OpKernelContext *) */
GET_NEXT(
	_ZN10tensorflow4data17IteratorGetNextOp9DoComputeEPNS_15OpKernelContextE)
/* tensorflow::data::IteratorGetNextAsOptionalOp::DoCompute(...) */
GET_NEXT(
	_ZN10tensorflow4data27IteratorGetNextAsOptionalOp9DoComputeEPNS_15OpKernelContextE)

#endif
