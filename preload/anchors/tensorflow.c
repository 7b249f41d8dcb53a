/* SPDX-License-Identifier: MIT */
/*
 * The fetches of TensorFlow's graphs: a compiled loop, like that of Keras'
 * fit(), gets its batches by an operation that no Python hook sees.
 *
 * TensorFlow exports the methods that compute these operations, and calls them
 * through vtables that the loader fills by name, with our functions. A version
 * with other names, or with local binding, runs unchanged and unrecorded. The
 * methods return a status by their first, hidden argument, which is passed on
 * unchanged. An operation that hits the end of the data is a fetch too, since
 * the program waited for it.
 *
 * The methods run in a thread of TensorFlow, or in one of the program, where
 * the hook of the iterator may have recorded the fetch already. On machines
 * other than x86-64 the hidden argument is in a register that C cannot pass on.
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

/* Once: TensorFlow's own definition of the name, which @own interposes. */
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
		bool open = shim_fetching != 0;                                \
		void *r;                                                       \
                                                                               \
		if (unlikely(!fn)) {                                           \
			fn = find_real(#method, method);                       \
			__atomic_store_n(&next, fn, __ATOMIC_RELAXED);         \
		}                                                              \
		if (!open)                                                     \
			ioreel_span_begin(REEL_SPAN_FETCH, -1);                \
		r = fn(status, op, context);                                   \
		if (!open)                                                     \
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
