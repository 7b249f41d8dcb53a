/* SPDX-License-Identifier: MIT */
/*
 * Issues calls on mappings. Addresses differ from run to run, so a mapping is
 * identified by its open file in the job and its offset. The shim uses
 * descriptors of its own during mmap() and munmap(): other threads make none
 * meanwhile.
 */
#include "replay/engine/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "lib/calls.h"

#include "replay/engine/fdtable.h"

struct mapping {
	void *at;
	size_t len;
	int64_t offset;
	int fd;		 /* the job's descriptor that was mapped, */
	uint32_t open;	 /* and its open file */
	int64_t touched; /* bytes from the start */
	int64_t ahead;	 /* of them: dirtied by msync() before their record */
	struct mapping *next;
};

#define PAGE_BYTES 4096
#define PAGES_AT_ONCE 64
#define PAGE_PRESENT (UINT64_C(1) << 63)

static bool mapping_holds(const struct mapping *m, const struct call_spec *s)
{
	return m->fd == s->r->fd && m->open == s->m->open &&
	       s->offset >= m->offset &&
	       s->offset - m->offset < (int64_t)m->len;
}

/* The link to the mapping that @s is in, or to NULL. */
static struct mapping **find_mapping(struct player *p,
				     const struct call_spec *s)
{
	struct mapping **m = &p->process->mapping;

	while (*m && !mapping_holds(*m, s))
		m = &(*m)->next;
	return m;
}

CALL_OF(MMAP)
{
	int flags =
		s->m->arg2 == PLAN_NO_OFFSET ? MAP_PRIVATE : (int)s->m->arg2;
	struct mapping *m = malloc(sizeof(*m));
	void *at;

	/* An address of the job may be in use here. */
	flags &= ~(MAP_FIXED | MAP_FIXED_NOREPLACE);
	fdtable_take_turn(p);
	at = mmap(NULL, (size_t)s->size, s->flags, flags, s->fd, s->offset);
	fdtable_end_turn(p);
	if (at == MAP_FAILED || !m) {
		free(m);
		return -1;
	}
	*m = (struct mapping){.at = at,
			      .len = (size_t)s->size,
			      .offset = s->offset,
			      .fd = s->r->fd,
			      .open = s->m->open};
	wait_lock(&p->process->lock);
	m->next = p->process->mapping;
	p->process->mapping = m;
	wait_unlock(&p->process->lock);
	return 0;
}

/* The address of @s in @m, and how much of it is there; NULL: none. */
static void *range_in_mapping(const struct mapping *m,
			      const struct call_spec *s, size_t *len)
{
	size_t from;

	if (!m)
		return NULL;
	from = (size_t)(s->offset - m->offset);
	*len = (size_t)s->size;
	if (*len > m->len - from)
		*len = ((m->len - from) + 4095) & ~(size_t)4095;
	return (char *)m->at + from;
}

CALL_OF(MUNMAP)
{
	struct mapping **link, *m;
	size_t len = 0;
	void *at;
	int64_t r;

	wait_lock(&p->process->lock);
	link = find_mapping(p, s);
	m = *link;
	at = range_in_mapping(m, s, &len);
	if (m && at == m->at && len >= m->len)
		*link = m->next;
	else
		m = NULL; /* only a part: the mapping stays */
	wait_unlock(&p->process->lock);
	if (!at) {
		errno = EINVAL;
		return -1;
	}
	fdtable_take_turn(p);
	r = munmap(at, (size_t)s->size == len ? (size_t)s->size : len);
	fdtable_end_turn(p);
	free(m);
	return r;
}

/* Call @fn on the recorded range. */
static int64_t call_on_range(struct player *p, const struct call_spec *s,
			     int64_t (*fn)(void *at, size_t len, int flags))
{
	size_t len = 0;
	int64_t r;
	void *at;

	wait_lock(&p->process->lock);
	at = range_in_mapping(*find_mapping(p, s), s, &len);
	wait_unlock(&p->process->lock);
	if (!at) {
		errno = ENOMEM;
		return -1;
	}
	fdtable_take_turn(p);
	r = fn(at, len, s->flags);
	fdtable_end_turn(p);
	return r;
}

static int64_t advise_range(void *at, size_t len, int advice)
{
	return madvise(at, len, advice);
}

static int64_t posix_advise_range(void *at, size_t len, int advice)
{
	errno = posix_madvise(at, len, advice);
	return errno ? -1 : 0;
}

static int64_t lock_range(void *at, size_t len, int flags)
{
	return flags ? mlock2(at, len, (unsigned int)flags) : mlock(at, len);
}

static int64_t unlock_range(void *at, size_t len, int flags)
{
	(void)flags;
	return munlock(at, len);
}

CALL_IS(MADVISE, call_on_range(p, s, advise_range))
CALL_IS(POSIX_MADVISE, call_on_range(p, s, posix_advise_range))
CALL_IS(MLOCK, call_on_range(p, s, lock_range))
CALL_IS(MUNLOCK, call_on_range(p, s, unlock_range))

/* A part of a mapping cannot be moved: it would become two. */
CALL_OF(MREMAP)
{
	struct mapping *m;
	size_t to_len = s->m->arg > 0 ? (size_t)s->m->arg : 0, len = 0;
	void *to = MAP_FAILED, *at;

	errno = EINVAL;
	wait_lock(&p->process->lock);
	m = *find_mapping(p, s);
	at = range_in_mapping(m, s, &len);
	if (m && at == m->at && to_len)
		to = mremap(at, m->len, to_len, MREMAP_MAYMOVE);
	if (to != MAP_FAILED) {
		m->at = to;
		m->len = to_len;
	}
	wait_unlock(&p->process->lock);
	return to == MAP_FAILED ? -1 : 0;
}

/* Access a page through the kernel: a missing one is an error, not a SIGBUS. */
static bool touch_page(char *at, bool write)
{
	char byte = 0;
	struct iovec near = {&byte, 1}, far = {at, 1};

	return raw(write ? SYS_process_vm_writev : SYS_process_vm_readv,
		   getpid(), &near, 1, &far, 1, 0) == 1;
}

/* The number of mapped pages from @at on; the first was touched. */
static int64_t mapped_pages(long pagemap, const char *at, int64_t most)
{
	uint64_t page[PAGES_AT_ONCE];
	int64_t n = 1, got;

	got = raw(SYS_pread64, pagemap, page, sizeof(page),
		  (uintptr_t)at / PAGE_BYTES * sizeof(page[0]));
	got /= (int64_t)sizeof(page[0]);
	while (n < got && n < most && page[n] & PAGE_PRESENT)
		n++;
	return n;
}

/*
 * Touch pages of a mapping of @len bytes until @want bytes are mapped; a read
 * fault maps several pages. Returns the bytes that are mapped.
 */
static int64_t touch_pages(char *at, size_t len, int64_t want, bool write)
{
	int64_t pages = ((int64_t)len + PAGE_BYTES - 1) / PAGE_BYTES, done = 0;
	long pagemap = -1;

	if (!write)
		pagemap = raw(SYS_openat, AT_FDCWD, "/proc/self/pagemap",
			      O_RDONLY | O_CLOEXEC, 0);
	while (done < pages && done * PAGE_BYTES < want &&
	       touch_page(at + done * PAGE_BYTES, write))
		done += mapped_pages(pagemap, at + done * PAGE_BYTES,
				     pages - done);
	if (pagemap >= 0)
		raw(SYS_close, pagemap);
	return done * PAGE_BYTES;
}

/*
 * The places of touched pages are not recorded: take the first ones that were
 * not touched before. Returns the touched bytes, at most @want.
 */
static int64_t touch_next_pages(struct player *p, const struct call_spec *s,
				int64_t want, bool write)
{
	int64_t done, left;
	struct mapping *m;
	size_t len = 0;
	char *at;

	wait_lock(&p->process->lock);
	m = *find_mapping(p, s);
	at = range_in_mapping(m, s, &len);
	left = (int64_t)len;
	/* A single page with its own offset is touched there instead. */
	if (at && s->offset == m->offset) {
		left = m->touched < left ? left - m->touched : 0;
		at += len - (size_t)left;
		m->touched += want < left ? want : left;
		m->touched += -m->touched & (PAGE_BYTES - 1);
	}
	wait_unlock(&p->process->lock);
	if (!at) {
		errno = EINVAL;
		return -1;
	}
	/* It opens a descriptor for a while. */
	fdtable_take_turn(p);
	done = touch_pages(at, (size_t)left, want, write);
	fdtable_end_turn(p);
	return done < want ? done : want;
}

CALL_IS(MAP_READ, touch_next_pages(p, s, s->want, false))

/* msync() may have dirtied pages ahead of this record: dirty the rest. */
CALL_OF(MAP_WRITE)
{
	struct mapping *m;
	int64_t ahead = 0, done;

	wait_lock(&p->process->lock);
	m = *find_mapping(p, s);
	if (m) {
		ahead = m->ahead < s->want ? m->ahead : s->want;
		m->ahead -= ahead;
	}
	wait_unlock(&p->process->lock);
	if (ahead == s->want)
		return ahead;
	done = touch_next_pages(p, s, s->want - ahead, true);
	return done < 0 ? done : ahead + done;
}

/* msync() writes dirty pages back: dirty as many before. */
CALL_OF(MSYNC)
{
	size_t len = 0;
	struct mapping *m;
	int64_t done = 0;
	void *at;

	if (s->r->flags & PLAN_F_DIRTY)
		done = touch_next_pages(p, s, s->m->dirty_bytes, true);
	wait_lock(&p->process->lock);
	m = *find_mapping(p, s);
	at = range_in_mapping(m, s, &len);
	if (m && done > 0)
		m->ahead += done;
	wait_unlock(&p->process->lock);
	if (!at) {
		errno = ENOMEM;
		return -1;
	}
	return msync(at, len, s->flags);
}
