/* SPDX-License-Identifier: MIT */
/*
 * The first reading of an xplane.pb: names, lines and clock of its planes.
 * Events are skipped.
 */
#ifndef ANALYZER_IMPORT_XPLANE_NAMES_H
#define ANALYZER_IMPORT_XPLANE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/intmap.h"

#include "analyzer/import/common/span_names.h"
#include "analyzer/import/profile/tensorflow.h"

struct reel_error;

enum xplane_kind {
	XPLANE_OTHER, /* counted by name only */
	XPLANE_HOST,
	XPLANE_DEVICE,
};

enum xplane_line_kind {
	XPLANE_LINE_OTHER,   /* counted by name only */
	XPLANE_LINE_THREAD,  /* of the host */
	XPLANE_LINE_KERNELS, /* a stream of a GPU, the operations of a TPU */
	XPLANE_LINE_STEPS,   /* of a device; the names are numbers */
};

struct xplane_name {
	char *text;
	uint32_t index; /* for the caller; REEL_NO_INDEX at first */
	bool is_function, trains;
	enum tensorflow_wait wait;
	struct span_meaning meaning; /* as an annotation of the program */
};

struct xplane_line {
	int64_t id, timestamp_ns;
	enum xplane_line_kind kind;
	uint32_t thread; /* for the caller; 0 at first */
};

struct xplane {
	char *name;
	enum xplane_kind kind;
	int64_t device; /* its number */
	struct xplane_line *line;
	size_t lines, line_room;
	/* Ids of the stats of use; 0: the plane has none. */
	int64_t step_num, root, element_size, start_time;
	uint32_t number; /* of the plane */
};

/* Zeroed is empty. */
struct xplane_names {
	struct xplane *plane;
	size_t planes, plane_room;
	struct xplane_name *name;
	uint32_t names, name_room;
	struct reel_intmap by_id;
	char host[256];	 /* "": not known */
	bool jax;	 /* JAX made the file */
	int64_t base_ns; /* CLOCK_REALTIME of time 0; 0: not known */
};

/* Read @path into the empty @x. 0, or -1 with @err (file and offset). */
int xplane_names_read(struct xplane_names *x, const char *path,
		      struct reel_error *err);
void xplane_names_fini(struct xplane_names *x); /* empty again */

/* The name of event metadata @id of @plane; "unnamed ID" for one without. NULL
 * with @err: REEL_E_MEMORY. Borrowed until the next call. */
struct xplane_name *xplane_name(struct xplane_names *x,
				const struct xplane *plane, int64_t id,
				struct reel_error *err);

/* Do the first @n bytes of a file look like an XSpace? */
bool xplane_detect(const char *bytes, size_t n);

#endif
