/* SPDX-License-Identifier: MIT */
/*
 * Mappings: the address differs from run to run, so a mapping is found again
 * by the open file in the job and the offset in it. The shim has descriptors of
 * its own while a mapping comes or goes: no other thread makes one meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "lib/calls.h"

#include "replay/engine/player.h"

#define PAGE_BYTES 4096
#define PAGES_AT_ONCE 64
#define PAGE_PRESENT (UINT64_C(1) << 63)

static bool holds(const struct mapping *m, const struct step *s)
{
	return m->fd == s->r->fd && m->open == s->m->open &&
	       s->offset >= m->offset &&
	       s->offset - m->offset < (int64_t)m->len;
}

/* The link that leads to the mapping of @s, or to NULL. */
static struct mapping **find(struct player *p, const struct step *s)
{
	struct mapping **m = &p->process->mapping;

	while (*m && !holds(*m, s))
		m = &(*m)->next;
	return m;
}

CALL_OF(mmap)
{
	int flags =
		s->m->arg2 == PLAN_NO_OFFSET ? MAP_PRIVATE : (int)s->m->arg2;
	struct mapping *m = malloc(sizeof(*m));
	void *at;

	/* At an address of the job nothing may be put here. */
	flags &= ~(MAP_FIXED | MAP_FIXED_NOREPLACE);
	descriptors_take_turn(p);
	at = mmap(NULL, (size_t)s->size, s->flags, flags, s->fd, s->offset);
	descriptors_end_turn(p);
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

/* Where @s is in a mapping, and how much of it. NULL: it is in none. */
static void *place_of(const struct mapping *m, const struct step *s,
		      size_t *len)
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

CALL_OF(munmap)
{
	struct mapping **link, *m;
	size_t len = 0;
	void *at;
	int64_t r;

	wait_lock(&p->process->lock);
	link = find(p, s);
	m = *link;
	at = place_of(m, s, &len);
	if (m && at == m->at && len >= m->len)
		*link = m->next;
	else
		m = NULL; /* a part of it: the rest stays */
	wait_unlock(&p->process->lock);
	if (!at) {
		errno = EINVAL;
		return -1;
	}
	descriptors_take_turn(p);
	r = munmap(at, (size_t)s->size == len ? (size_t)s->size : len);
	descriptors_end_turn(p);
	free(m);
	return r;
}

/* Call @fn on the recorded mapping, under the lock of its process. */
static int64_t about(struct player *p, const struct step *s,
		     int64_t (*fn)(void *at, size_t len, int flags))
{
	size_t len = 0;
	int64_t r;
	void *at;

	wait_lock(&p->process->lock);
	at = place_of(*find(p, s), s, &len);
	wait_unlock(&p->process->lock);
	if (!at) {
		errno = ENOMEM;
		return -1;
	}
	descriptors_take_turn(p);
	r = fn(at, len, s->flags);
	descriptors_end_turn(p);
	return r;
}

static int64_t advise(void *at, size_t len, int advice)
{
	return madvise(at, len, advice);
}

static int64_t posix_advise(void *at, size_t len, int advice)
{
	errno = posix_madvise(at, len, advice);
	return errno ? -1 : 0;
}

static int64_t lock(void *at, size_t len, int flags)
{
	return flags ? mlock2(at, len, (unsigned int)flags) : mlock(at, len);
}

static int64_t unlock(void *at, size_t len, int flags)
{
	(void)flags;
	return munlock(at, len);
}

CALL_OF(madvise)
{
	return about(p, s, advise);
}

CALL_OF(posix_madvise)
{
	return about(p, s, posix_advise);
}

CALL_OF(mlock)
{
	return about(p, s, lock);
}

CALL_OF(munlock)
{
	return about(p, s, unlock);
}

/* A part of a mapping cannot move: it would be two. */
CALL_OF(mremap)
{
	struct mapping *m;
	size_t to_len = s->m->arg > 0 ? (size_t)s->m->arg : 0, len = 0;
	void *to = MAP_FAILED, *at;

	errno = EINVAL;
	wait_lock(&p->process->lock);
	m = *find(p, s);
	at = place_of(m, s, &len);
	if (m && at == m->at && to_len)
		to = mremap(at, m->len, to_len, MREMAP_MAYMOVE);
	if (to != MAP_FAILED) {
		m->at = to;
		m->len = to_len;
	}
	wait_unlock(&p->process->lock);
	return to == MAP_FAILED ? -1 : 0;
}

/* A byte through the kernel: what is not there is an error, not a SIGBUS. */
static bool touch_page(char *at, bool write)
{
	char byte = 0;
	struct iovec near = {&byte, 1}, far = {at, 1};

	return raw(write ? SYS_process_vm_writev : SYS_process_vm_readv,
		   getpid(), &near, 1, &far, 1, 0) == 1;
}

/* Pages from @at on that the process has touched now: the first at least. */
static int64_t pages_there(long pagemap, const char *at, int64_t most)
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
 * Touch pages of the mapping of @len bytes until @want bytes are there; the
 * kernel brings more at a time when they are only read. What there is then.
 */
static int64_t touch(char *at, size_t len, int64_t want, bool write)
{
	int64_t pages = ((int64_t)len + PAGE_BYTES - 1) / PAGE_BYTES, done = 0;
	long pagemap = -1;

	if (!write)
		pagemap = raw(SYS_openat, AT_FDCWD, "/proc/self/pagemap",
			      O_RDONLY | O_CLOEXEC, 0);
	while (done < pages && done * PAGE_BYTES < want &&
	       touch_page(at + done * PAGE_BYTES, write))
		done += pages_there(pagemap, at + done * PAGE_BYTES,
				    pages - done);
	if (pagemap >= 0)
		raw(SYS_close, pagemap);
	return done * PAGE_BYTES;
}

/*
 * The job's pages were anywhere in the mapping: here they are its first, but
 * for those that were touched before. What there is then, of @want bytes.
 */
static int64_t touch_more(struct player *p, const struct step *s, int64_t want,
			  bool write)
{
	int64_t done, left;
	struct mapping *m;
	size_t len = 0;
	char *at;

	wait_lock(&p->process->lock);
	m = *find(p, s);
	at = place_of(m, s, &len);
	left = (int64_t)len;
	/* A single page that was told of is where it was. */
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
	/* It has a descriptor for a while. */
	descriptors_take_turn(p);
	done = touch(at, (size_t)left, want, write);
	descriptors_end_turn(p);
	return done < want ? done : want;
}

CALL_OF(map_read)
{
	return touch_more(p, s, s->want, false);
}

/* Takes what msync() had changed ahead; the rest is still to be changed. */
CALL_OF(map_write)
{
	struct mapping *m;
	int64_t ahead = 0, done;

	wait_lock(&p->process->lock);
	m = *find(p, s);
	if (m) {
		ahead = m->ahead < s->want ? m->ahead : s->want;
		m->ahead -= ahead;
	}
	wait_unlock(&p->process->lock);
	if (ahead == s->want)
		return ahead;
	done = touch_more(p, s, s->want - ahead, true);
	return done < 0 ? done : ahead + done;
}

/* What it writes back must have been changed before. */
CALL_OF(msync)
{
	size_t len = 0;
	struct mapping *m;
	int64_t done = 0;
	void *at;

	if (s->r->flags & PLAN_F_DIRTY)
		done = touch_more(p, s, s->m->dirty_bytes, true);
	wait_lock(&p->process->lock);
	m = *find(p, s);
	at = place_of(m, s, &len);
	if (m && done > 0)
		m->ahead += done;
	wait_unlock(&p->process->lock);
	if (!at) {
		errno = ENOMEM;
		return -1;
	}
	return msync(at, len, s->flags);
}

player_call *engine_map(uint16_t op)
{
	switch (op) {
	case REEL_CALL_MMAP:
		return do_mmap;
	case REEL_CALL_MUNMAP:
		return do_munmap;
	case REEL_CALL_MSYNC:
		return do_msync;
	case REEL_CALL_MADVISE:
		return do_madvise;
	case REEL_CALL_POSIX_MADVISE:
		return do_posix_madvise;
	case REEL_CALL_MLOCK:
		return do_mlock;
	case REEL_CALL_MUNLOCK:
		return do_munlock;
	case REEL_CALL_MREMAP:
		return do_mremap;
	case REEL_CALL_MAP_READ:
		return do_map_read;
	case REEL_CALL_MAP_WRITE:
		return do_map_write;
	}
	return NULL;
}
