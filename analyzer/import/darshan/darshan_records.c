/* SPDX-License-Identifier: MIT */
/*
 * Records of Darshan logs. A record of an older version is read by the newest
 * names: each word of the layout knows whether that version has it.
 */
#include "analyzer/import/darshan/darshan_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "analyzer/import/darshan/darshan_region.h"

#define NAME_MOST 64
#define ITEMS_MOST (1 << 24) /* stripes, bins: more are damage */
#define RECORD_MOST (8 * (DARSHAN_COUNTERS_MOST + 16))

typedef int counter_fn(void *arg, const struct darshan_counter *c,
		       struct reel_error *err);

/* One counter of a layout. */
struct field {
	char name[NAME_MOST];
	bool real, sum, id;
	uint8_t skip;	/* 8-byte words in front of it */
	int8_t missing; /* 1: absent, reads as -1; 2: absent, reads as 0 */
};

struct reader {
	struct darshan_log *log;
	const struct darshan_file *file;
	struct darshan_region *region;
	struct reel_error *err;
};

static int bad(const struct reader *r, const char *why)
{
	return reel_fail(r->err, REEL_E_FORMAT,
			 "'%s' is damaged at offset %llu: %s", r->file->path,
			 (unsigned long long)darshan_region_offset(r->region),
			 why);
}

static int open_region(struct reader *r, struct darshan_log *log,
		       unsigned int module, struct reel_error *err)
{
	*r = (struct reader){
		.log = log, .file = darshan_log_file(log), .err = err};
	return darshan_log_region(log, module, &r->region, err);
}

/* Fill @to: 1, 0 at the end of the region, or -1. A cut record is damage. */
static int take(struct reader *r, void *to, size_t n)
{
	int64_t got = darshan_region_read(r->region, to, n, r->err);

	if (got < 0)
		return -1;
	if (got && (size_t)got < n)
		return bad(r, "a record is cut off");
	return got != 0;
}

/* More of the record that take() has begun. 0, or -1. */
static int take_more(struct reader *r, void *to, size_t n)
{
	int rc = n ? take(r, to, n) : 1;

	return rc > 0 ? 0 : rc < 0 ? -1 : bad(r, "a record is cut off");
}

/* The word of @list that is @word, with a mark in front or behind; or NULL. */
static const char *find_word(const char *list, const char *word, size_t n)
{
	for (const char *p = list; p && (p = strstr(p, word)); p += n)
		if ((p == list || strchr(" @&", p[-1])) &&
		    (!p[n] || strchr(" =", p[n])))
			return p;
	return NULL;
}

/* Add the fields of @words. Their number then, or -1: too many. */
static int add_fields(struct field *out, int n, const char *prefix,
		      const char *words, bool real, const char *lacks)
{
	while (*words) {
		size_t len = strcspn(words, " ");
		char word[NAME_MOST];
		const char *mark;
		struct field *f = &out[n];

		if (n == DARSHAN_COUNTERS_MOST || len >= sizeof(word))
			return -1;
		memcpy(word, words, len);
		word[len] = '\0';
		*f = (struct field){.real = real,
				    .id = !strcmp(word, "RENAMED_FROM")};
		snprintf(f->name, sizeof(f->name), "%s%s", prefix, word);
		mark = find_word(lacks, word, len);
		if (mark && mark > lacks && mark[-1] == '@')
			f->skip = (uint8_t)(mark[-2] - '0');
		else if (mark && mark > lacks && mark[-1] == '&')
			f->sum = true;
		else if (mark)
			f->missing = mark[len] == '=' ? 2 : 1;
		n++;
		words += len;
		words += strspn(words, " ");
	}
	return n;
}

static size_t fields_bytes(const struct field *f, int n)
{
	size_t words = 0;

	for (int i = 0; i < n; i++)
		words += f[i].missing ? 0u : 1u + f[i].skip + f[i].sum;
	return 8 * words;
}

static int put_integer(struct darshan_counter *c, const char *name, int64_t v,
		       counter_fn *each, void *arg, struct reel_error *err)
{
	c->type = DARSHAN_INTEGER;
	c->name = name;
	c->integer = v;
	return each(arg, c, err);
}

static int put_text(struct darshan_counter *c, const char *name,
		    const char *text, counter_fn *each, void *arg,
		    struct reel_error *err)
{
	c->type = DARSHAN_TEXT;
	c->name = name;
	c->text = text;
	return each(arg, c, err);
}

/* The id of a record: in words where it exceeds 2^63 - 1, as in the text of
 * darshan-parser. */
static int put_id(struct darshan_counter *c, const char *name, uint64_t id,
		  counter_fn *each, void *arg, struct reel_error *err)
{
	char text[NAME_MOST];

	if (id <= INT64_MAX)
		return put_integer(c, name, (int64_t)id, each, arg, err);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)id);
	return put_text(c, name, text, each, arg, err);
}

static int put_fields(const struct reader *r, struct darshan_counter *c,
		      const struct field *f, int n, const uint8_t *p,
		      counter_fn *each, void *arg)
{
	for (int i = 0; i < n; i++, f++) {
		c->type = f->real ? DARSHAN_REAL : DARSHAN_INTEGER;
		c->name = f->name;
		c->integer = f->missing == 2 ? 0 : -1;
		c->real = (double)c->integer;
		if (!f->missing) {
			p += 8 * f->skip;
			c->integer = (int64_t)darshan_number(r->file, p);
			c->real = darshan_real(r->file, p);
			p += 8;
		}
		if (f->sum) {
			c->integer = (int64_t)((uint64_t)c->integer +
					       darshan_number(r->file, p));
			p += 8;
		}
		if (f->id ? put_id(c, f->name, (uint64_t)c->integer, each, arg,
				   r->err)
			  : each(arg, c, r->err))
			return -1;
	}
	return 0;
}

/* As darshan-parser names an object of DAOS: two numbers in front of @end. */
static void name_object(const struct reader *r, const uint8_t *end,
			char out[static NAME_MOST])
{
	snprintf(out, NAME_MOST, "%llu.%llu",
		 (unsigned long long)darshan_number(r->file, end - 16),
		 (unsigned long long)darshan_number(r->file, end - 8));
}

static int read_layout(struct reader *r, unsigned int module,
		       unsigned int version, counter_fn *each, void *arg)
{
	const struct darshan_layout *l = darshan_layout(module);
	struct darshan_counter c = {.module = module};
	struct field field[DARSHAN_COUNTERS_MOST];
	uint8_t record[RECORD_MOST];
	char object[NAME_MOST], file_name[NAME_MOST];
	bool has_file = l->file_id_since && version >= l->file_id_since;
	const char *lacks;
	size_t head = 16, bytes;
	uint64_t file;
	int n, rc;

	lacks = l->lacks[version - 1] ? l->lacks[version - 1] : "";
	n = add_fields(field, 0, l->prefix, l->integers, false, lacks);
	if (n >= 0)
		n = add_fields(field, n, l->prefix, l->doubles, true, lacks);
	if (n < 0)
		return bad(r, "too many counters");
	if (has_file)
		head += 8;
	bytes = head + fields_bytes(field, n) + l->tail;
	c.object = l->object ? object : NULL;
	snprintf(file_name, sizeof(file_name), "%sFILE_REC_ID", l->prefix);
	while ((rc = take(r, record, bytes)) > 0) {
		c.record = darshan_number(r->file, record);
		c.rank = (int64_t)darshan_number(r->file, record + 8);
		if (l->object)
			name_object(r, record + bytes, object);
		file = has_file ? darshan_number(r->file, record + 16) : 0;
		if (put_fields(r, &c, field, n, record + head, each, arg) ||
		    (l->file_id_since &&
		     put_id(&c, file_name, file, each, arg, r->err)))
			return -1;
	}
	return rc;
}

/* A layout of Lustre: bits, as darshan-parser prints them. */
static const char *stripe_pattern(int64_t pattern)
{
	return pattern == 0   ? "raid0"
	       : pattern == 2 ? "mdt"
	       : pattern == 4 ? "raid0,overstriped"
	       : pattern == 8 ? "foreign"
			      : "N/A";
}

static const char *stripe_flags(int64_t flags, char out[static 128])
{
	static const char *const names[] = {"stale",	 "prefrd",  "prefwr",
					    "offline",	 "init",    "nosync",
					    "extension", "parity",  "compress",
					    "partial",	 "nocompr", "neg"};
	size_t n = 0;

	if (flags == -1)
		return "N/A";
	strcpy(out, "0");
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (flags >> i & 1)
			n += (size_t)snprintf(out + n, 128 - n, "%s%s",
					      n ? "," : "", names[i]);
	return out;
}

struct component {
	int64_t number[7]; /* size, count, pattern, flags, start, end, mirror */
	char pool[17];
};

static int put_component(struct reader *r, struct darshan_counter *c, int index,
			 const struct component *comp, const uint8_t *ost,
			 counter_fn *each, void *arg)
{
	static const char *const names[] = {
		"STRIPE_SIZE", "STRIPE_COUNT", "STRIPE_PATTERN", "FLAGS",
		"EXT_START",   "EXT_END",      "MIRROR_ID"};
	char name[NAME_MOST], flags[128];

	for (int i = 0; i < 7; i++) {
		const char *text =
			i == 2	 ? stripe_pattern(comp->number[i])
			: i == 3 ? stripe_flags(comp->number[i], flags)
				 : NULL;

		snprintf(name, sizeof(name), "LUSTRE_COMP%d_%s", index,
			 names[i]);
		if (text ? put_text(c, name, text, each, arg, r->err)
			 : put_integer(c, name, comp->number[i], each, arg,
				       r->err))
			return -1;
	}
	snprintf(name, sizeof(name), "LUSTRE_COMP%d_POOL_NAME", index);
	if (put_text(c, name, comp->pool[0] ? comp->pool : "N/A", each, arg,
		     r->err))
		return -1;
	for (int64_t i = 0; i < comp->number[1]; i++) {
		snprintf(name, sizeof(name), "LUSTRE_COMP%d_OST_ID_%lld", index,
			 (long long)i);
		if (put_integer(c, name,
				(int64_t)darshan_number(r->file, ost + 8 * i),
				each, arg, r->err))
			return -1;
	}
	return 0;
}

/* Components of @bytes each, whose last ones may be unused, then stripes. */
static int put_lustre(struct reader *r, struct darshan_counter *c,
		      struct component *comp, int64_t comps, int64_t stripes,
		      const uint8_t *ost, counter_fn *each, void *arg)
{
	int64_t used = 0;

	for (int64_t i = 0; i < comps; i++) {
		if (comp[i].number[0] == -1) {
			comps = i;
			break;
		}
		if (comp[i].number[1] < 0 || comp[i].number[1] > stripes - used)
			return bad(r, "a number of stripes");
		used += comp[i].number[1];
	}
	if (put_integer(c, "LUSTRE_NUM_COMPONENTS", comps, each, arg, r->err) ||
	    put_integer(c, "LUSTRE_NUM_STRIPES", used, each, arg, r->err))
		return -1;
	for (int64_t i = 0; i < comps; i++) {
		if (put_component(r, c, (int)i + 1, &comp[i], ost, each, arg))
			return -1;
		ost += 8 * comp[i].number[1];
	}
	return 0;
}

/* Version 1: {OSTs, MDTs, stripe offset, size, count}, one component. */
static int read_lustre_old(struct reader *r, counter_fn *each, void *arg)
{
	struct darshan_counter c = {.module = DARSHAN_LUSTRE};
	uint8_t head[56];
	int rc;

	while ((rc = take(r, head, sizeof(head))) > 0) {
		struct component comp = {{0, 0, -1, -1, 0, -1, -1}, ""};
		int64_t stripes = (int64_t)darshan_number(r->file, head + 48);
		uint8_t *ost;

		if (stripes < 0 || stripes > ITEMS_MOST)
			return bad(r, "a number of stripes");
		c.record = darshan_number(r->file, head);
		c.rank = (int64_t)darshan_number(r->file, head + 8);
		comp.number[0] = (int64_t)darshan_number(r->file, head + 40);
		comp.number[1] = stripes;
		ost = reel_alloc((size_t)stripes + 1, 8, r->err);
		rc = !ost || take_more(r, ost, 8 * (size_t)stripes) ||
		     put_lustre(r, &c, &comp, 1, stripes, ost, each, arg);
		free(ost);
		if (rc)
			return -1;
	}
	return rc;
}

static int read_lustre(struct reader *r, counter_fn *each, void *arg)
{
	struct darshan_counter c = {.module = DARSHAN_LUSTRE};
	uint8_t head[32];
	int rc;

	while ((rc = take(r, head, sizeof(head))) > 0) {
		int64_t comps = (int64_t)darshan_number(r->file, head + 16);
		int64_t stripes = (int64_t)darshan_number(r->file, head + 24);
		struct component *comp;
		uint8_t *ost, raw[72];

		if (comps < 0 || comps > 4096 || stripes < 0 ||
		    stripes > ITEMS_MOST)
			return bad(r, "a number of components or stripes");
		c.record = darshan_number(r->file, head);
		c.rank = (int64_t)darshan_number(r->file, head + 8);
		comp = reel_alloc((size_t)comps + 1, sizeof(*comp), r->err);
		ost = reel_alloc((size_t)stripes + 1, 8, r->err);
		rc = !comp || !ost;
		for (int64_t i = 0; !rc && i < comps; i++) {
			rc = take_more(r, raw, sizeof(raw));
			for (int k = 0; !rc && k < 7; k++)
				comp[i].number[k] = (int64_t)darshan_number(
					r->file, raw + 8 * k);
			memcpy(comp[i].pool, raw + 56, 16);
		}
		rc = rc || take_more(r, ost, 8 * (size_t)stripes) ||
		     put_lustre(r, &c, comp, comps, stripes, ost, each, arg);
		free(comp);
		free(ost);
		if (rc)
			return -1;
	}
	return rc;
}

static int put_bins(struct reader *r, struct darshan_counter *c,
		    const char *name, int64_t bins, const uint8_t *bin,
		    counter_fn *each, void *arg)
{
	char text[NAME_MOST];

	for (int64_t i = 0; i < bins; i++) {
		snprintf(text, sizeof(text), "HEATMAP_%s_BIN_%lld", name,
			 (long long)i);
		if (put_integer(c, text,
				(int64_t)darshan_number(r->file, bin + 8 * i),
				each, arg, r->err))
			return -1;
	}
	return 0;
}

/* {id, rank, seconds a bin, bins, written bytes by bin, read bytes by bin}. */
static int read_heatmap(struct reader *r, counter_fn *each, void *arg)
{
	struct darshan_counter c = {.module = DARSHAN_HEATMAP};
	uint8_t head[48]; /* its last 16 bytes: two pointers of the job */
	int rc;

	while ((rc = take(r, head, sizeof(head))) > 0) {
		int64_t bins = (int64_t)darshan_number(r->file, head + 24);
		uint8_t *bin;

		if (bins < 0 || bins > ITEMS_MOST)
			return bad(r, "a number of bins");
		c.record = darshan_number(r->file, head);
		c.rank = (int64_t)darshan_number(r->file, head + 8);
		c.type = DARSHAN_REAL;
		c.name = "HEATMAP_F_BIN_WIDTH_SECONDS";
		c.real = darshan_real(r->file, head + 16);
		bin = reel_alloc(2 * (size_t)bins + 1, 8, r->err);
		rc = !bin || take_more(r, bin, 16 * (size_t)bins) ||
		     each(arg, &c, r->err) ||
		     put_bins(r, &c, "READ", bins, bin + 8 * bins, each, arg) ||
		     put_bins(r, &c, "WRITE", bins, bin, each, arg);
		free(bin);
		if (rc)
			return -1;
	}
	return rc;
}

bool darshan_log_reads(unsigned int module, unsigned int version)
{
	static const uint8_t newest[DARSHAN_MODULES] = {
		[DARSHAN_LUSTRE] = 2,
		[DARSHAN_DXT_POSIX] = 2,
		[DARSHAN_DXT_MPIIO] = 3,
		[DARSHAN_HEATMAP] = 1,
	};
	const struct darshan_layout *l = darshan_layout(module);

	return version && module < DARSHAN_MODULES &&
	       version <= (l ? l->versions : newest[module]);
}

/* Open the region of @module. 1; 0: the log has none; -1 with @err. */
static int open_module(struct reader *r, struct darshan_log *log,
		       unsigned int module, unsigned int *version,
		       struct reel_error *err)
{
	if (!darshan_log_has(log, module, version))
		return 0;
	if (!darshan_log_reads(module, *version))
		return reel_fail(err, REEL_E_VERSION,
				 "'%s': version %u of module %s is not known",
				 darshan_log_file(log)->path, *version,
				 darshan_module_name(module));
	return open_region(r, log, module, err) ? -1 : 1;
}

int darshan_log_counters(struct darshan_log *log, unsigned int module,
			 counter_fn *each, void *arg, struct reel_error *err)
{
	unsigned int version;
	struct reader r;
	int rc = open_module(&r, log, module, &version, err);

	if (rc <= 0)
		return rc;
	if (darshan_layout(module))
		rc = read_layout(&r, module, version, each, arg);
	else if (module == DARSHAN_HEATMAP)
		rc = read_heatmap(&r, each, arg);
	else if (version == 1)
		rc = read_lustre_old(&r, each, arg);
	else
		rc = read_lustre(&r, each, arg);
	darshan_region_close(r.region);
	return rc;
}

/* {offset, length, start, end [, thread]}. */
static int read_segments(struct reader *r, unsigned int module,
			 unsigned int version, int64_t n, bool write,
			 int (*each)(void *arg, const struct darshan_segment *s,
				     struct reel_error *err),
			 void *arg)
{
	bool threads = version > (module == DARSHAN_DXT_POSIX ? 1u : 2u);
	size_t bytes = threads ? 40 : 32;
	uint8_t raw[40];

	for (int64_t i = 0; i < n; i++) {
		struct darshan_segment s = {.write = write};

		if (take_more(r, raw, bytes))
			return -1;
		s.offset = (int64_t)darshan_number(r->file, raw);
		/* The first version had no offsets of MPI-IO. */
		if (module == DARSHAN_DXT_MPIIO && version == 1)
			s.offset = -1;
		s.length = (int64_t)darshan_number(r->file, raw + 8);
		s.start = darshan_real(r->file, raw + 16);
		s.end = darshan_real(r->file, raw + 24);
		if (threads)
			s.thread = darshan_number(r->file, raw + 32);
		if (each(arg, &s, r->err))
			return -1;
	}
	return 0;
}

int darshan_log_segments(struct darshan_log *log, unsigned int module,
			 int (*begin)(void *arg, const struct darshan_dxt *dxt,
				      struct reel_error *err),
			 int (*each)(void *arg, const struct darshan_segment *s,
				     struct reel_error *err),
			 void *arg, struct reel_error *err)
{
	struct darshan_dxt d = {.module = module};
	unsigned int version;
	uint8_t head[104];
	struct reader r;
	int rc = open_module(&r, log, module, &version, err);

	if (rc <= 0)
		return rc;
	while ((rc = take(&r, head, sizeof(head))) > 0) {
		d.record = darshan_number(r.file, head);
		d.rank = (int64_t)darshan_number(r.file, head + 8);
		memcpy(d.host, head + 24, 64);
		d.writes = (int64_t)darshan_number(r.file, head + 88);
		d.reads = (int64_t)darshan_number(r.file, head + 96);
		if (d.writes < 0 || d.reads < 0)
			rc = bad(&r, "a number of segments");
		else
			rc = begin(arg, &d, err) ||
			     read_segments(&r, module, version, d.writes, true,
					   each, arg) ||
			     read_segments(&r, module, version, d.reads, false,
					   each, arg);
		if (rc)
			break;
	}
	darshan_region_close(r.region);
	return rc ? -1 : 0;
}
