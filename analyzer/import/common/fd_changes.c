/* SPDX-License-Identifier: MIT */
/* The last changes of descriptors' numbers, in a ring. */
#include "analyzer/import/common/fd_changes.h"

#include <stddef.h>

void fd_changes_add(struct fd_changes *c, int process, int64_t fd,
		    const struct fd_entry *was, int64_t ns)
{
	if (!was->desc && !was->silent)
		return;
	c->ring[c->n++ % FD_CHANGES] = (struct fd_change){
		.was = *was, .fd = fd, .ns = ns, .process = process};
	if (ns > c->last_ns)
		c->last_ns = ns;
}

const struct fd_entry *fd_changes_find(const struct fd_changes *c, int process,
				       int64_t fd, int64_t ns)
{
	const struct fd_entry *was = NULL;
	uint64_t most = c->n < FD_CHANGES ? c->n : FD_CHANGES;

	if (ns >= c->last_ns) /* most calls of a job with one thread */
		return NULL;
	for (uint64_t i = 1; i <= most; i++) {
		const struct fd_change *at = &c->ring[(c->n - i) % FD_CHANGES];

		if (at->fd != fd || at->process != process)
			continue;
		if (at->ns <= ns)
			break;
		was = &at->was;
	}
	return was;
}
