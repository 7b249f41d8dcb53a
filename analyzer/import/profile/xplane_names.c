/* SPDX-License-Identifier: MIT */
/*
 * The first reading of an xplane.pb: names, lines and clock of its planes.
 * Names are kept by (plane, id); ids of a hostile file may collide after
 * hashing, which costs a wrong name, not more.
 */
#include "analyzer/import/profile/xplane_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"

#include "analyzer/import/common/profile.h"
#include "analyzer/import/profile/tensorflow.h"
#include "analyzer/import/profile/protobuf.h"

#define TEXT_BYTES 4096 /* of a name; longer ones are cut */
#define TIME_NS_MOST (INT64_MAX / 4)

/* A key and value of a map of protobuf: names by id. */
struct entry {
	int64_t id;
	char text[TEXT_BYTES];
};

/* Ids of two planes differ, as do those of one unless the file is made to. */
static uint64_t key_of(const struct xplane *plane, int64_t id)
{
	return (uint64_t)id * 0x9e3779b97f4a7c15u ^ (uint64_t)plane->number
							    << 40;
}

static struct xplane_name *add_name(struct xplane_names *x,
				    const struct xplane *plane, int64_t id,
				    const char *text, struct reel_error *err)
{
	uint32_t i = reel_intmap_get(&x->by_id, key_of(plane, id), err);
	struct xplane_name *name;

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&x->name, &x->name_room, i, sizeof(*name), err))
		return NULL;
	name = &x->name[i];
	if (i < x->names)
		return name; /* the first one counts */
	name->text = reel_strdup(text, err);
	if (!name->text)
		return NULL;
	name->index = REEL_NO_INDEX;
	name->wait = tensorflow_wait_of(text);
	name->meaning = span_names_meaning(text);
	name->is_function = !strcmp(text, "FunctionRun");
	name->trains = tensorflow_trains(text);
	x->jax |= tensorflow_is_jax(text);
	x->names++;
	return name;
}

struct xplane_name *xplane_name(struct xplane_names *x,
				const struct xplane *plane, int64_t id,
				struct reel_error *err)
{
	uint32_t i = reel_intmap_find(&x->by_id, key_of(plane, id));
	char text[40];

	if (i != REEL_NO_INDEX)
		return &x->name[i];
	snprintf(text, sizeof(text), "unnamed %lld", (long long)id);
	return add_name(x, plane, id, text, err);
}

/* XEventMetadata or XStatMetadata: of both the name is field 2. */
static int read_metadata(struct protobuf *pb, uint64_t end, struct entry *e,
			 struct reel_error *err)
{
	struct protobuf_field f;
	int more;

	while ((more = protobuf_next(pb, end, &f, err)) > 0) {
		if (f.number == 2 && f.type == PROTOBUF_BYTES) {
			if (protobuf_text(pb, &f, e->text, TEXT_BYTES, err) < 0)
				return -1;
		} else if (protobuf_skip(pb, &f, err)) {
			return -1;
		}
	}
	return more;
}

static int read_entry(struct protobuf *pb, uint64_t end, struct entry *e,
		      struct reel_error *err)
{
	struct protobuf_field f;
	int more;

	e->id = 0;
	e->text[0] = '\0';
	while ((more = protobuf_next(pb, end, &f, err)) > 0) {
		if (f.number == 1 && f.type == PROTOBUF_VARINT)
			e->id = (int64_t)f.value;
		else if (f.number == 2 && f.type == PROTOBUF_BYTES)
			more = read_metadata(pb, f.end, e, err);
		else
			more = protobuf_skip(pb, &f, err);
		if (more < 0)
			return -1;
	}
	return more;
}

static void keep_stat(struct xplane_names *x, struct xplane *plane,
		      const struct entry *e)
{
	x->jax |= !strcmp(e->text, "jax_version");
	if (!strcmp(e->text, "step_num"))
		plane->step_num = e->id;
	else if (!strcmp(e->text, "_r"))
		plane->root = e->id;
	else if (!strcmp(e->text, "element_size"))
		plane->element_size = e->id;
	else if (!strcmp(e->text, "profile_start_time"))
		plane->start_time = e->id;
}

/* XLine without its events. */
static int read_line(struct xplane *plane, struct protobuf *pb, uint64_t end,
		     struct reel_error *err)
{
	struct xplane_line line = {0};
	struct protobuf_field f;
	char name[64] = "";
	int more;

	while ((more = protobuf_next(pb, end, &f, err)) > 0) {
		if (f.number == 1 && f.type == PROTOBUF_VARINT)
			line.id = (int64_t)f.value;
		else if (f.number == 3 && f.type == PROTOBUF_VARINT)
			line.timestamp_ns = (int64_t)f.value;
		else if (f.number == 2 && f.type == PROTOBUF_BYTES)
			more = protobuf_text(pb, &f, name, sizeof(name), err);
		else
			more = protobuf_skip(pb, &f, err);
		if (more < 0)
			return -1;
	}
	if (more < 0)
		return -1;
	/* The plane's name comes first: fields are in the order of their
	 * numbers. */
	if (plane->kind == XPLANE_HOST)
		line.kind = XPLANE_LINE_THREAD;
	else if (plane->kind == XPLANE_DEVICE && !strcmp(name, "Steps"))
		line.kind = XPLANE_LINE_STEPS;
	else if (plane->kind == XPLANE_DEVICE &&
		 (profile_has_prefix(name, "Stream") ||
		  !strcmp(name, "XLA Ops")))
		line.kind = XPLANE_LINE_KERNELS;
	if (plane->lines == plane->line_room) {
		size_t room = plane->line_room ? 2 * plane->line_room : 16;

		if (reel_grow(&plane->line, room, sizeof(line), err))
			return -1;
		plane->line_room = room;
	}
	plane->line[plane->lines++] = line;
	return 0;
}

static int read_plane_name(struct xplane *plane, struct protobuf *pb,
			   const struct protobuf_field *f,
			   struct reel_error *err)
{
	char name[256];
	const char *colon;

	if (protobuf_text(pb, f, name, sizeof(name), err) < 0)
		return -1;
	free(plane->name);
	plane->name = reel_strdup(name, err);
	if (!plane->name)
		return -1;
	colon = strrchr(name, ':');
	plane->device = colon ? strtoll(colon + 1, NULL, 10) : 0;
	plane->kind = profile_has_prefix(name, "/device:")    ? XPLANE_DEVICE
		      : profile_has_prefix(name, "/host:CPU") ? XPLANE_HOST
							      : XPLANE_OTHER;
	return 0;
}

/* A stat of the plane itself: the start of the profile has an absolute time.
 * Stats come after their names. */
static int read_plane_stat(struct xplane_names *x, const struct xplane *plane,
			   struct protobuf *pb, uint64_t end,
			   struct reel_error *err)
{
	struct protobuf_field f;
	uint64_t id = 0, value = 0;
	int more;

	while ((more = protobuf_next(pb, end, &f, err)) > 0) {
		if (f.type == PROTOBUF_BYTES) {
			if (protobuf_skip(pb, &f, err))
				return -1;
		} else if (f.number == 1) {
			id = f.value;
		} else {
			value = f.value;
		}
	}
	if (id && id == (uint64_t)plane->start_time &&
	    value >= PROFILE_EPOCH_NS && value <= TIME_NS_MOST)
		x->base_ns = (int64_t)value;
	return more;
}

static int read_plane_field(struct xplane_names *x, struct xplane *plane,
			    struct protobuf *pb, const struct protobuf_field *f,
			    struct entry *e, struct reel_error *err)
{
	if (f->type != PROTOBUF_BYTES)
		return 0;
	switch (f->number) {
	case 2:
		return read_plane_name(plane, pb, f, err);
	case 3:
		return read_line(plane, pb, f->end, err);
	case 4:
		if (read_entry(pb, f->end, e, err))
			return -1;
		return add_name(x, plane, e->id, e->text, err) ? 0 : -1;
	case 5:
		if (read_entry(pb, f->end, e, err))
			return -1;
		keep_stat(x, plane, e);
		return 0;
	case 6:
		return read_plane_stat(x, plane, pb, f->end, err);
	default:
		return protobuf_skip(pb, f, err);
	}
}

static int read_plane(struct xplane_names *x, struct protobuf *pb, uint64_t end,
		      struct entry *e, struct reel_error *err)
{
	struct protobuf_field f;
	struct xplane *plane;
	int more;

	if (x->planes == x->plane_room) {
		size_t room = x->plane_room ? 2 * x->plane_room : 8;

		if (reel_grow(&x->plane, room, sizeof(*plane), err))
			return -1;
		x->plane_room = room;
	}
	plane = &x->plane[x->planes];
	*plane = (struct xplane){.number = (uint32_t)x->planes,
				 .name = reel_strdup("", err)};
	x->planes++;
	if (!plane->name)
		return -1;
	while ((more = protobuf_next(pb, end, &f, err)) > 0)
		if (read_plane_field(x, plane, pb, &f, e, err))
			return -1;
	return more;
}

int xplane_names_read(struct xplane_names *x, const char *path,
		      struct reel_error *err)
{
	struct entry *e = reel_alloc(1, sizeof(*e), err);
	struct protobuf *pb = NULL;
	struct protobuf_field f;
	int more = e ? protobuf_open(&pb, path, err) : -1;

	while (!more &&
	       (more = protobuf_next(pb, PROTOBUF_DOCUMENT, &f, err)) > 0) {
		if (f.number == 1 && f.type == PROTOBUF_BYTES)
			more = read_plane(x, pb, f.end, e, err);
		else if (f.number == 4 && f.type == PROTOBUF_BYTES)
			more = protobuf_text(pb, &f, x->host, sizeof(x->host),
					     err) < 0;
		else
			more = protobuf_skip(pb, &f, err);
		more = more ? -1 : 0;
	}
	protobuf_close(pb);
	free(e);
	return more;
}

void xplane_names_fini(struct xplane_names *x)
{
	for (size_t i = 0; i < x->planes; i++) {
		free(x->plane[i].name);
		free(x->plane[i].line);
	}
	for (uint32_t i = 0; i < x->names; i++)
		free(x->name[i].text);
	free(x->plane);
	free(x->name);
	reel_intmap_fini(&x->by_id);
	*x = (struct xplane_names){0};
}

/* --- detection ------------------------------------------------------------ */

/* A varint at *@at of @n bytes. */
static bool skip_varint(const uint8_t *p, size_t n, size_t *at)
{
	for (int i = 0; i < 10 && *at < n; i++)
		if (!(p[(*at)++] & 0x80))
			return true;
	return false;
}

/* Field 1 of the document is a plane: perhaps an id, then a name of a host, of
 * a device, or of the profile's task. */
bool xplane_detect(const char *bytes, size_t n)
{
	static const char *const names[] = {
		"/host:", "/device:", "Task Environment", "#Chip"};
	const uint8_t *p = (const uint8_t *)bytes;
	size_t at = 1;

	if (n < 4 || p[0] != 0x0a || !skip_varint(p, n, &at))
		return false;
	if (at < n && p[at] == 0x08 && (at++, !skip_varint(p, n, &at)))
		return false;
	if (at + 2 > n || p[at] != 0x12 || p[at + 1] > 127 ||
	    at + 2 + p[at + 1] > n)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (p[at + 1] >= strlen(names[i]) &&
		    !memcmp(p + at + 2, names[i], strlen(names[i])))
			return true;
	return false;
}
