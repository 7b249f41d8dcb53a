/* SPDX-License-Identifier: MIT */
/*
 * Mappings: the address differs from run to run, so a mapping is found again
 * by its descriptor's number in the job and the offset in the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/calls.h"
#include "replay/player.h"

#define CALL_OF(name) static int64_t do_##name(struct player *p, const struct step *s)

static bool holds(const struct mapping *m, const struct step *s)
{
	return m->fd == s->r->fd && s->offset >= m->offset &&
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
	int flags = s->m->arg2 == PLAN_NO_OFFSET ? MAP_PRIVATE :
						   (int)s->m->arg2;
	struct mapping *m = malloc(sizeof(*m));
	void *at;

	/* At an address of the job nothing may be put here. */
	flags &= ~(MAP_FIXED | MAP_FIXED_NOREPLACE);
	at = mmap(NULL, (size_t)s->size, s->flags, flags, s->fd, s->offset);
	if (at == MAP_FAILED || !m) {
		free(m);
		return -1;
	}
	*m = (struct mapping){ .at = at,
			       .len = (size_t)s->size,
			       .offset = s->offset,
			       .fd = s->r->fd };
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
	r = munmap(at, (size_t)s->size == len ? (size_t)s->size : len);
	free(m);
	return r;
}

CALL_OF(msync)
{
	size_t len = 0;
	void *at;

	wait_lock(&p->process->lock);
	at = place_of(*find(p, s), s, &len);
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
	}
	return NULL;
}
