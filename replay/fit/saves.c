/* SPDX-License-Identifier: MIT */
/* Which files belong to checkpoints, and which of them are alike. */
#include "replay/fit/saves.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"

#define HASH_LEAST 8 /* hexadecimal digits */
#define SIMILAR 4    /* times as large */

/* The length of the hash that @path begins with; 0, of none: a word has no digit. */
static size_t hash_length(const char *path)
{
	size_t n = strspn(path, "0123456789abcdef");

	return n >= HASH_LEAST && strcspn(path, "0123456789") < n &&
			       strcspn(path, "abcdef") < n
		       ? n
		       : 0;
}

/* @path without digits and hashes: one name for the files of all checkpoints and
 * ranks. Has it a hash? */
static bool name_without_numbers(const char *path, char out[FIT_NAME_MOST])
{
	bool hashed = false;
	size_t n = 0;

	while (*path && n < FIT_NAME_MOST - 1) {
		size_t hash = hash_length(path);

		hashed |= hash > 0;
		path += hash;
		if (hash)
			continue;
		if (!isdigit((unsigned char)*path))
			out[n++] = *path;
		path++;
	}
	out[n] = '\0';
	return hashed;
}

static bool are_similar(int64_t a, int64_t b)
{
	return a / SIMILAR <= b && b / SIMILAR <= a;
}

static struct fit_group *group_of(struct fit *f, struct fit_saves *s,
				  const char *path, int64_t bytes)
{
	char name[FIT_NAME_MOST];
	bool hashed = name_without_numbers(path, name);
	struct fit_group *g;

	for (uint32_t i = 0; i < s->groups; i++) {
		g = &s->group[i];
		if (!strcmp(g->name, name) && g->hashed == hashed &&
		    (!hashed || are_similar(g->bytes / g->files, bytes)))
			return g;
	}
	if (reel_array_reach(&s->group, &s->room, s->groups, sizeof(*s->group),
			     f->err))
		return NULL;
	g = &s->group[s->groups++];
	*g = (struct fit_group){.process_id = -1, .hashed = hashed};
	memcpy(g->name, name, sizeof(name));
	return g;
}

static int add_writer(struct fit *f, struct fit_group *g, int64_t process)
{
	for (int64_t i = 0; i < g->writers; i++)
		if (g->process[i] == process)
			return 0;
	if (reel_array_reach(&g->process, &g->room, (uint32_t)g->writers,
			     sizeof(*g->process), f->err))
		return -1;
	g->process[g->writers++] = process;
	return 0;
}

/* The name within a zip file of torch.save(): that of the file without its ending. */
static void set_archive(struct fit_group *g, const char *path)
{
	const char *name = strrchr(path, '/'), *dot;
	size_t n;

	name = name ? name + 1 : path;
	dot = strrchr(name, '.');
	n = dot ? (size_t)(dot - name) : strlen(name);
	n = n < sizeof(g->archive) - 1 ? n : sizeof(g->archive) - 1;
	for (size_t i = 0; i < n; i++) {
		bool plain = isalnum((unsigned char)name[i]) ||
			     name[i] == '-' || (i && name[i] == '.');

		g->archive[i] = plain ? name[i] : '_';
	}
	g->archive[n] = '\0';
}

/* The index and the state beside the data are TensorFlow's own. */
static bool is_beside_data(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return strstr(name, ".index") || !strncmp(name, "checkpoint", 10);
}

static int add_file(struct fit *f, struct fit_saves *s, struct reel_view *v,
		    bool data)
{
	const char *path = reel_view_text(v, "path");
	int64_t process = reel_view_exact(v, "process_id");
	bool torch = !data && reel_view_int(v, "vector") > 0;
	struct fit_group *g = group_of(f, s, path, reel_view_int(v, "bytes"));

	if (!g || add_writer(f, g, process))
		return -1;
	if (g->process_id < 0 || (torch && !g->torch)) {
		g->process_id = process;
		g->open_id = reel_view_exact(v, "open_id");
		set_archive(g, path);
		g->own = 0;
	}
	s->files++;
	g->files++;
	g->own += g->process_id == process;
	g->bytes += reel_view_int(v, "bytes");
	g->writes += reel_view_int(v, "writes");
	g->torch += torch;
	g->tensorflow += data;
	g->renames += reel_view_int(v, "moved");
	g->syncs += reel_view_int(v, "synced");
	return 0;
}

static int count_files(struct fit *f, struct fit_saves *s, bool tensorflow)
{
	struct reel_view v;
	int rc = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "WITH moved AS MATERIALIZED (SELECT process_id, path, "
		    "max(path2) AS path2 FROM v_event WHERE class = "
		    "'checkpoint' AND call LIKE 'rename%' AND result >= 0 "
		    "GROUP BY process_id, path), "
		    "synced AS MATERIALIZED (SELECT DISTINCT process_id, "
		    "open_id FROM v_event WHERE class = 'checkpoint' AND call "
		    "IN ('fsync', 'fdatasync')), "
		    "file AS (SELECT path, process_id, open_id, sum(bytes) AS "
		    "bytes, count(*) AS writes, max(call = 'writev') AS vector "
		    "FROM v_event WHERE class = 'checkpoint' AND call_group = "
		    "'write' AND bytes > 0 GROUP BY process_id, open_id, path) "
		    "SELECT coalesce(m.path2, f.path) AS path, f.process_id, "
		    "f.open_id, f.bytes, f.writes, f.vector, m.path IS NOT "
		    "NULL AS moved, s.process_id IS NOT NULL AS synced "
		    "FROM file f LEFT JOIN moved m ON m.process_id = "
		    "f.process_id AND m.path = f.path LEFT JOIN synced s ON "
		    "s.process_id = f.process_id AND s.open_id = f.open_id "
		    "ORDER BY f.process_id, f.open_id",
		    f->err))
		while (!rc && reel_view_next(&v)) {
			const char *path = reel_view_text(&v, "path");
			bool data = strstr(path, ".data-0") != NULL;

			if (!tensorflow || data || !is_beside_data(path))
				rc = add_file(f, s, &v, data);
		}
	return reel_view_close(&v) || rc ? -1 : 0;
}

/* A checkpoint after @step steps. */
static int add_save(struct fit *f, struct fit_saves *s, int64_t step)
{
	if (reel_array_reach(&s->step, &s->steps_room, s->steps,
			     sizeof(*s->step), f->err))
		return -1;
	s->step[s->steps++] = step;
	s->saves++;
	return 0;
}

/* Checkpoints of the process that wrote most of the first group: its files that are
 * written between the same two steps are of one. A step that begins within a marked
 * checkpoint, which a thread writes in the background, does not part its files. */
static int count_saves(struct fit *f, struct fit_saves *s)
{
	struct reel_view v;
	int64_t running = 0, last = 0, steps = 0, at = 0;
	bool any = true, within = false, evaluated = false, after = false;
	int rc = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT min(start_ns) AS ns, 1 AS file, 0 AS step, 0 AS "
		    "marked, 0 AS evaluation FROM v_event WHERE class = "
		    "'checkpoint' AND "
		    "call_group = 'write' AND bytes > 0 AND process_id = ?1 "
		    "GROUP BY open_id UNION ALL SELECT start_ns, 0, 1, 0, 0 "
		    "FROM "
		    "v_step WHERE rank = (SELECT min(rank) FROM v_rank WHERE "
		    "steps > 0) UNION ALL SELECT start_ns, 0, 0, 0, 1 FROM "
		    "v_span "
		    "WHERE name = 'eval' AND process_id = ?1 "
		    "UNION ALL SELECT start_ns, 0, 0, 1, 0 FROM v_span "
		    "WHERE name = 'checkpoint' AND process_id = ?1 UNION ALL "
		    "SELECT start_ns + dur_ns, 0, 0, -1, 0 FROM v_span WHERE "
		    "name "
		    "= 'checkpoint' AND process_id = ?1 ORDER BY 1",
		    f->err)) {
		reel_view_bind(&v, 1, s->group[0].process_id);
		while (!rc && reel_view_next(&v)) {
			bool file = reel_view_int(&v, "file");
			bool step = reel_view_int(&v, "step");

			steps += step;
			evaluated = !step && (evaluated ||
					      reel_view_int(&v, "evaluation"));
			at = running ? at : steps;
			after = running ? after : evaluated;
			running += reel_view_int(&v, "marked");
			within = running && (within || step);
			if (file && any) {
				rc = add_save(f, s, at);
				s->evaluated += after;
			}
			if (file && within && last < s->saves) {
				s->background++;
				last = s->saves;
			}
			any = file ? false : any || (step && !running);
		}
	}
	if (!f->steps)
		s->saves = s->group[0].own;
	if (s->saves < 1)
		s->saves = 1;
	return reel_view_close(&v) || rc ? -1 : 0;
}

/* The median of the marked checkpoints that write: their time without the calls on
 * files of checkpoints, of any thread. A checkpoint within another is part of it. */
static int count_work(struct fit *f, struct fit_saves *s)
{
	int64_t *value;
	uint32_t n;
	int rc = fit_column(
		f,
		"WITH span AS MATERIALIZED (SELECT process_id, start_ns, "
		"dur_ns, start_ns + dur_ns AS end_ns FROM v_span WHERE name = "
		"'checkpoint' AND closed AND dur_ns > 0), "
		"outer AS (SELECT * FROM span s WHERE NOT EXISTS (SELECT 1 "
		"FROM span o WHERE o.process_id = s.process_id AND o.start_ns "
		"<= s.start_ns AND o.end_ns >= s.end_ns AND o.dur_ns > "
		"s.dur_ns) ORDER BY start_ns LIMIT 200) "
		"SELECT o.dur_ns - union_ns(e.start_ns, e.dur_ns) AS ns FROM "
		"outer o JOIN v_event e ON e.process_id = o.process_id AND "
		"e.start_ns >= o.start_ns AND e.start_ns + e.dur_ns <= "
		"o.end_ns WHERE e.class = 'checkpoint' GROUP BY o.process_id, "
		"o.start_ns HAVING total(e.bytes) > 0",
		&value, &n);

	s->work_ns = -1;
	if (!rc && n)
		s->work_ns = fit_median(value, n);
	free(value);
	return rc;
}

static int count_calls(struct fit *f, struct fit_saves *s)
{
	return fit_ask(f,
		       "SELECT count(*) FROM v_event WHERE class = "
		       "'checkpoint' AND call IN ('fsync', 'fdatasync')",
		       0, &s->syncs) ||
	       fit_ask(f,
		       "SELECT count(*) FROM v_event WHERE class = "
		       "'checkpoint' AND call LIKE 'rename%'",
		       0, &s->renames);
}

static void join(struct fit_group *to, struct fit_group *g)
{
	to->files += g->files;
	to->own += g->own;
	to->bytes += g->bytes;
	to->writes += g->writes;
	to->torch += g->torch;
	to->tensorflow += g->tensorflow;
	to->renames += g->renames;
	to->syncs += g->syncs;
	free(g->process);
}

/* Files with names of their own in each checkpoint: such groups are one, of
 * @similar sizes or of any. */
static void join_rare_groups(struct fit_saves *s, bool similar)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->groups; i++)
		s->group[i].rare = 2 * s->group[i].own <= s->saves;
	for (uint32_t i = 0; i < s->groups; i++) {
		struct fit_group *g = &s->group[i], *to = s->group;
		struct fit_group *end = s->group + n;

		while (to < end &&
		       !(g->rare && to->rare &&
			 (!similar || are_similar(to->bytes / to->files,
						  g->bytes / g->files))))
			to++;
		if (to < end)
			join(to, g);
		else if (n++ < i)
			s->group[n - 1] = *g;
	}
	s->groups = n;
}

/* A checkpoint has no half of a file: a group of fewer, as what is saved at the end of
 * the job, would be written with each checkpoint. The largest group stays. */
static void leave_seldom_groups(struct fit_saves *s)
{
	uint32_t n = 0, most = 0;

	for (uint32_t i = 1; i < s->groups; i++)
		if (s->group[i].own > s->group[most].own)
			most = i;
	for (uint32_t i = 0; i < s->groups; i++) {
		struct fit_group *g = &s->group[i];

		if (i == most || 2 * g->own >= s->saves) {
			s->group[n++] = *g;
			continue;
		}
		if (!s->seldom)
			memcpy(s->seldom_name, g->name, sizeof(g->name));
		s->seldom += g->files;
		s->seldom_bytes += g->bytes;
		free(g->process);
	}
	s->groups = n;
}

int fit_find_saves(struct fit *f, struct fit_saves *s)
{
	int64_t data;

	if (fit_ask(f,
		    "SELECT count(*) FROM v_event WHERE class = 'checkpoint' "
		    "AND call_group = 'write' AND path LIKE '%.data-0%'",
		    0, &data) ||
	    count_files(f, s, data > 0) || count_calls(f, s))
		return -1;
	if (!s->files)
		return 0;
	if (count_saves(f, s) || count_work(f, s))
		return -1;
	join_rare_groups(s, true);
	join_rare_groups(s, false);
	leave_seldom_groups(s);
	return 0;
}

void fit_saves_fini(struct fit_saves *s)
{
	for (uint32_t i = 0; i < s->groups; i++)
		free(s->group[i].process);
	free(s->group);
	free(s->step);
}
