/* SPDX-License-Identifier: MIT */
/*
 * Calls that copy between two descriptors inside the kernel. A copy makes two
 * records with the same times: the call's own for the read side, the part
 * copy_out for the write side. An offset in the caller's memory is read after
 * the call, which has advanced it by the bytes copied.
 */
#include "preload/core/symbols.h"
#include "preload/core/wrap.h"
#include "preload/posix/calls.h"

/* The most bytes that the kernel copies; callers that copy a whole file pass
 * more. */
#define MOST_BYTES 0x7ffff000

void shim_record_copy(const struct shim_copy *c, uint64_t start, uint64_t end,
		      int64_t result)
{
	int err = result < 0 ? errno : 0;
	struct shim_event ev = {SHIM_EVENT_NONE};

	ev.call = c->call;
	ev.desc = c->from;
	ev.size = c->len < MOST_BYTES ? (int64_t)c->len : MOST_BYTES;
	if (!err && c->from_off)
		ev.offset = *c->from_off - result;
	ev.arg = c->flags;
	ev.arg2 = c->to_fd;
	if (shim_is_desc(c->from)) {
		shim_record_full(&ev, start, end, result, err);
		if (err)
			return;
	}
	if (!shim_is_desc(c->to))
		return;
	ev.call = CALL_COPY_OUT;
	ev.desc = c->to;
	ev.offset = !err && c->to_off ? *c->to_off - result : NONE;
	ev.arg = ev.arg2 = NONE;
	shim_record_full(&ev, start, end, result, err);
}

#define COPY(fn, params, args, id, from_, from_off_, to_, to_off_, flags_)     \
	EXPORT ssize_t fn params                                               \
	{                                                                      \
		struct shim_copy c;                                            \
		uint64_t start, end;                                           \
		ssize_t r;                                                     \
                                                                               \
		PASS_WHEN(!shim_hot.on || shim_vfork_child(), fn, args);       \
		c = (struct shim_copy){                                        \
			id,  shim_fd(from_), shim_fd(to_), to_, flags_,        \
			len, from_off_,	     to_off_};                         \
		TIMED(r = real.fn args);                                       \
		shim_record_copy(&c, start, end, r);                           \
		return r;                                                      \
	}
COPY(copy_file_range,
     (int from, off64_t *from_off, int to, off64_t *to_off, size_t len,
      unsigned int flags),
     (from, from_off, to, to_off, len, flags), CALL_COPY_FILE_RANGE, from,
     from_off, to, to_off, flags)
COPY(splice,
     (int from, off64_t *from_off, int to, off64_t *to_off, size_t len,
      unsigned int flags),
     (from, from_off, to, to_off, len, flags), CALL_SPLICE, from, from_off, to,
     to_off, flags)
COPY(tee, (int from, int to, size_t len, unsigned int flags),
     (from, to, len, flags), CALL_TEE, from, NULL, to, NULL, flags)
COPY(sendfile, (int to, int from, off_t *off, size_t len), (to, from, off, len),
     CALL_SENDFILE, from, off, to, NULL, NONE)
COPY(sendfile64, (int to, int from, off64_t *off, size_t len),
     (to, from, off, len), CALL_SENDFILE, from, off, to, NULL, NONE)
