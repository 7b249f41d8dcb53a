/* SPDX-License-Identifier: MIT */
/*
 * Hosts, processes and threads of several sources. Two processes are one when
 * their pids are equal and they ran on one host at a time; or, where a source has
 * no pids, when their ranks are equal, or when each source has one process only.
 * Otherwise nothing is guessed: they are in the store beside each other.
 *
 * A source may have a row for each image of a pid that execve(2) made, another one row
 * for all of them: rows of a source that follow each other can be one process.
 *
 * A pid that several processes have at a time, as the 1 of containers, says nothing
 * in a source that does not know hosts.
 */
#include <string.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/join/internal.h"

#define NO_HOST "unknown" /* as importers name it */

static bool host_is_known(const struct join *j, uint32_t host)
{
	return host && *j->host[host - 1].name &&
	       strcmp(j->host[host - 1].name, NO_HOST) != 0;
}

static int add_host(struct join *j, struct join_part *p, sqlite3_stmt *q,
		    struct reel_error *err)
{
	const char *name = (const char *)sqlite3_column_text(q, 1);
	const char *boot = (const char *)sqlite3_column_text(q, 2);
	struct join_host *h;

	name = name ? name : "";
	boot = boot ? boot : "";
	for (uint32_t i = 0; i < j->hosts; i++) {
		h = &j->host[i];
		if (!strcmp(h->name, name) &&
		    (!*h->boot_id || !*boot || !strcmp(h->boot_id, boot)))
			return join_ids_set(&p->host,
					    sqlite3_column_int64(q, 0), i + 1,
					    err);
	}
	if (JOIN_REACH(j->host, j->host_room, j->hosts, err))
		return -1;
	h = &j->host[j->hosts++];
	h->name = reel_strdup(name, err);
	h->boot_id = reel_strdup(boot, err);
	return h->name && h->boot_id
		       ? join_ids_set(&p->host, sqlite3_column_int64(q, 0),
				      j->hosts, err)
		       : -1;
}

/* A copy of the text of a column that lives as long as @j; *@out NULL: NULL. */
static int keep_text(struct join *j, sqlite3_stmt *q, int column,
		     const char **out, struct reel_error *err)
{
	const char *text = (const char *)sqlite3_column_text(q, column);

	*out = NULL;
	if (!text)
		return 0;
	if (JOIN_REACH(j->text, j->text_room, j->texts, err))
		return -1;
	j->text[j->texts] = reel_strdup(text, err);
	if (!j->text[j->texts])
		return -1;
	*out = j->text[j->texts++];
	return 0;
}

enum column {
	ID,
	PID,
	PARENT,
	HOST,
	RANK,
	ROLE,
	EXE,
	COMMAND,
	CWD,
	FORK_NS,
	FORK_THREAD,
	START_NS,
	END_NS,
	ENDED,
	EVENTS,
	LOST,
	CODE_OPENS,
	CODE_CALLS,
	CODE_READ_BYTES,
	LAUNCHER,
	SHARES_PID,
};

/* Images of one pid follow each other. */
static const char process_sql[] =
	"SELECT process_id, pid, parent_id, host_id, rank, role, exe, command, "
	"cwd, fork_ns, fork_thread, start_ns, end_ns, ended, events, lost, "
	"code_opens, code_calls, code_read_bytes, launcher, "
	"2 * sum(end_ns - start_ns) OVER pids > "
	"3 * (max(end_ns) OVER pids - min(start_ns) OVER pids) FROM process "
	"WINDOW pids AS (PARTITION BY host_id, pid) ORDER BY process_id";

/* Ids of parents and threads are those of the part until all are read. */
static int read_row(struct join *j, struct join_part *p, sqlite3_stmt *q,
		    struct reel_writer_process *row, struct reel_error *err)
{
	int64_t fork_ns = join_int(q, FORK_NS, REEL_NO_OFFSET);
	int64_t rank = join_int(q, RANK, -1);

	*row = (struct reel_writer_process){
		.pid = join_int(q, PID, 0),
		.host_id = join_id(&p->host, join_int(q, HOST, 0)),
		.rank = rank >= 0 && rank < INT32_MAX ? (int)rank : -1,
		.fork_ns = fork_ns == REEL_NO_OFFSET ? fork_ns
						     : fork_ns + p->base_ns,
		.start_ns = join_int(q, START_NS, 0) + p->base_ns,
		.end_ns = join_int(q, END_NS, 0) + p->base_ns,
		.events = (uint64_t)join_int(q, EVENTS, 0),
		.lost = (uint64_t)join_int(q, LOST, 0),
		.code_opens = (uint64_t)join_int(q, CODE_OPENS, 0),
		.code_calls = (uint64_t)join_int(q, CODE_CALLS, 0),
		.code_read_bytes = (uint64_t)join_int(q, CODE_READ_BYTES, 0)};
	return keep_text(j, q, ROLE, &row->role, err) ||
	       keep_text(j, q, EXE, &row->exe, err) ||
	       keep_text(j, q, COMMAND, &row->command, err) ||
	       keep_text(j, q, CWD, &row->cwd, err) ||
	       keep_text(j, q, ENDED, &row->ended, err) ||
	       keep_text(j, q, LAUNCHER, &row->launcher, err);
}

static bool hosts_agree(const struct join *j, uint32_t a, uint32_t b)
{
	return a == b || !host_is_known(j, a) || !host_is_known(j, b);
}

static int64_t common_ns(const struct reel_writer_process *a,
			 const struct reel_writer_process *b)
{
	int64_t from = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
	int64_t to = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;

	return to - from;
}

static bool has_pid_of(const struct join *j, const struct join_process *c,
		       int part, const struct reel_writer_process *row)
{
	return row->pid > 0 && c->row.pid == row->pid && c->first_part < part &&
	       (c->last_part < part || c->last_end_ns <= row->start_ns) &&
	       hosts_agree(j, c->row.host_id, row->host_id);
}

/* The process of an earlier part that @row is: of its host, else of the only host
 * that has this pid. Of several images of a pid there, the one with most time in
 * common; an image behind another one of its own part may go on in the same.
 * 0: none. */
static uint32_t find_by_pid(const struct join *j, int part,
			    const struct reel_writer_process *row,
			    bool shares_pid)
{
	const struct join_process *best = NULL, *here = NULL;
	bool one_host = true;

	for (uint32_t i = 0; i < j->processes; i++) {
		const struct join_process *c = &j->process[i];
		bool same = host_is_known(j, row->host_id) &&
			    c->row.host_id == row->host_id;
		const struct join_process **to = same ? &here : &best;

		if (!has_pid_of(j, c, part, row) ||
		    (!same && (shares_pid || c->shares_pid)) ||
		    common_ns(&c->row, row) < 0)
			continue;
		one_host &=
			same || !best || best->row.host_id == c->row.host_id;
		if (!*to ||
		    common_ns(&c->row, row) > common_ns(&(*to)->row, row))
			*to = c;
	}
	if (here)
		best = here;
	return best && (here || one_host) ? (uint32_t)(best - j->process) + 1
					  : 0;
}

/* The number that @sql gives of the store of @p; @a and @b are its ?1 and ?2. */
static int64_t count_with(const struct join_part *p, const char *sql, int64_t a,
			  int64_t b)
{
	sqlite3_stmt *q = NULL;
	int64_t n = 0;

	if (reel_store_prepare(p->source->st, &q, sql, NULL))
		return 0;
	sqlite3_bind_int64(q, 1, a);
	sqlite3_bind_int64(q, 2, b);
	if (sqlite3_step(q) == SQLITE_ROW)
		n = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return n;
}

/* Is @c of a rank, and forked by no process of one? torchrun has no rank. */
static bool leads_rank(const struct join *j, const struct join_process *c)
{
	uint32_t parent = c->row.parent_id;

	if (c->row.launcher || !c->row.role || c->row.rank < 0)
		return false;
	return !strcmp(c->row.role, "main") ||
	       (!strcmp(c->row.role, "child") &&
		(!parent || j->process[parent - 1].row.rank < 0));
}

/* May @c be @row, by their pids? One may be missing or shared; and the pids of a
 * container are others inside: then no process of @p has that of @c. */
static bool pids_allow(const struct join_part *p, const struct join_process *c,
		       const struct reel_writer_process *row, bool shares_pid)
{
	return !c->row.pid || !row->pid || shares_pid || c->shares_pid ||
	       (common_ns(&c->row, row) > 0 &&
		!count_with(p,
			    "SELECT count(*) FROM process WHERE pid BETWEEN ?1 "
			    "AND ?2",
			    c->row.pid, c->row.pid));
}

/* The same by rank, where the pids do not tell: the process with most events. */
static uint32_t find_by_rank(const struct join *j, const struct join_part *p,
			     const struct reel_writer_process *row,
			     bool shares_pid)
{
	const struct join_process *best = NULL;

	for (uint32_t i = 0; row->rank >= 0 && i < j->processes; i++) {
		const struct join_process *c = &j->process[i];

		if (c->last_part < (int)(p - j->part) &&
		    c->row.rank == row->rank && leads_rank(j, c) &&
		    hosts_agree(j, c->row.host_id, row->host_id) &&
		    (!best || c->row.events > best->row.events) &&
		    pids_allow(p, c, row, shares_pid))
			best = c;
	}
	return best ? (uint32_t)(best - j->process) + 1 : 0;
}

/* The processes of part @p, but launchers, that live at a time with @c. */
static int64_t count_beside(const struct join_part *p,
			    const struct reel_writer_process *c)
{
	return count_with(p,
			  "SELECT count(*) FROM process WHERE launcher IS NULL "
			  "AND start_ns < ?1 AND end_ns > ?2",
			  c->end_ns - p->base_ns, c->start_ns - p->base_ns);
}

/* Sources are of one job: a single process in each, or a single one that lives while that
 * of the other does, is one, where one has no pid. */
static uint32_t find_alone(const struct join *j, const struct join_part *p,
			   const struct reel_writer_process *row)
{
	const struct reel_writer_process *c = NULL;
	int64_t rows = 0;
	uint32_t id = 0;
	bool has;

	for (uint32_t i = 0; i < j->processes; i++) {
		const struct join_process *at = &j->process[i];

		if (at->row.launcher || at->last_part == p - j->part ||
		    (j->processes > 1 && common_ns(&at->row, row) <= 0))
			continue;
		if (c)
			return 0;
		id = i + 1;
		c = &at->row;
	}
	if (!c || (c->pid && row->pid) ||
	    (c->rank >= 0 && row->rank >= 0 && c->rank != row->rank) ||
	    !hosts_agree(j, c->host_id, row->host_id) ||
	    reel_store_int(p->source->st, "SELECT count(*) FROM process", &rows,
			   &has, NULL))
		return 0;
	return rows == 1 || (common_ns(c, row) > 0 && count_beside(p, c) == 1)
		       ? id
		       : 0;
}

static void widen_row(struct join *j, struct reel_writer_process *to,
		      const struct reel_writer_process *from)
{
	if (to->pid <= 0)
		to->pid = from->pid;
	if (to->rank < 0)
		to->rank = from->rank;
	if (!host_is_known(j, to->host_id) && from->host_id)
		to->host_id = from->host_id;
	if (!to->exe || !*to->exe)
		to->exe = from->exe;
	if (!to->command || !*to->command)
		to->command = from->command;
	if (!to->cwd || !*to->cwd)
		to->cwd = from->cwd;
	if (to->ended && !strcmp(to->ended, "unknown"))
		to->ended = from->ended;
	/* The framework of a source reported it; other roles are of its process tree. */
	if (from->role && !strcmp(from->role, "worker"))
		to->role = from->role;
	if (from->start_ns < to->start_ns)
		to->start_ns = from->start_ns;
	if (from->end_ns > to->end_ns)
		to->end_ns = from->end_ns;
	to->lost += from->lost;
}

/* Calls that a source has only counted are as its events: of one source alone. */
static void add_counted_calls(struct reel_writer_process *to,
			      const struct reel_writer_process *from)
{
	to->events += from->events;
	to->code_opens += from->code_opens;
	to->code_calls += from->code_calls;
	to->code_read_bytes += from->code_read_bytes;
}

static void leave_counted_calls(struct join_part *p,
				const struct reel_writer_process *row)
{
	p->code_twice[REEL_WRITER_CODE_OPENS] += row->code_opens;
	p->code_twice[REEL_WRITER_CODE_CALLS] += row->code_calls;
	p->code_twice[REEL_WRITER_CODE_READ_BYTES] += row->code_read_bytes;
}

static int new_process(struct join *j, int part,
		       const struct reel_writer_process *row,
		       struct reel_error *err)
{
	struct join_process *c;

	if (JOIN_REACH(j->process, j->process_room, j->processes, err))
		return -1;
	c = &j->process[j->processes++];
	c->row = *row;
	c->row.process_id = j->processes;
	/* Counted by their part. */
	c->row.events = 0;
	c->row.code_opens = c->row.code_calls = c->row.code_read_bytes = 0;
	c->io_part = -1;
	c->first_part = part;
	for (int i = 0; i < REEL_SPANS; i++)
		c->span_part[i] = -1;
	return 0;
}

static int add_process(struct join *j, struct join_part *p, sqlite3_stmt *q,
		       struct reel_error *err)
{
	int part = (int)(p - j->part);
	bool one = j->processes == 1;
	struct reel_writer_process row;
	struct join_process *c;
	bool shares_pid;
	uint32_t id;

	if (read_row(j, p, q, &row, err))
		return -1;
	p->processes++;
	shares_pid = join_int(q, SHARES_PID, 0) != 0;
	id = find_by_pid(j, part, &row, shares_pid);
	p->by_pid += id != 0;
	if (!id) {
		id = find_by_rank(j, p, &row, shares_pid);
		p->by_rank += id != 0;
	}
	if (!id) {
		id = find_alone(j, p, &row);
		p->by_time += id != 0;
		p->alone = id && one;
	}
	if (id)
		widen_row(j, &j->process[id - 1].row, &row);
	else if (new_process(j, part, &row, err))
		return -1;
	else
		id = j->processes;
	c = &j->process[id - 1];
	c->last_part = part;
	c->last_end_ns = row.end_ns;
	c->shares_pid |= shares_pid;
	if (c->io_part < 0 && (row.events || row.code_calls))
		c->io_part = part;
	if (c->io_part == part)
		add_counted_calls(&c->row, &row);
	else
		leave_counted_calls(p, &row);
	p->io_own += c->io_part == part;
	p->io_earlier += c->io_part >= 0 && c->io_part < part;
	return join_ids_set(&p->process, sqlite3_column_int64(q, ID), id, err);
}

/* Parents, once every process of the part has its id. */
static int set_parent(struct join *j, struct join_part *p, sqlite3_stmt *q,
		      struct reel_error *err)
{
	uint32_t id = join_id(&p->process, sqlite3_column_int64(q, 0));
	uint32_t parent = join_id(&p->process, join_int(q, 1, 0));
	struct reel_writer_process *row;

	(void)err;
	if (!id || !parent || parent == id)
		return 0;
	row = &j->process[id - 1].row;
	if (row->parent_id)
		return 0;
	row->parent_id = parent;
	row->fork_thread = join_id(&p->thread, join_int(q, 2, 0));
	return 0;
}

static int new_thread(struct join *j, int part, struct reel_writer_thread *row,
		      struct reel_error *err)
{
	if (JOIN_REACH(j->thread, j->thread_room, j->threads, err))
		return -1;
	row->thread_id = j->threads + 1;
	j->thread[j->threads].first_part = part;
	j->thread[j->threads++].row = *row;
	return 0;
}

/* The thread of an earlier part with the tid of @row, rather one that no row of this
 * part has; 0: none. */
static uint32_t find_thread(const struct join *j, int part,
			    const struct reel_writer_thread *row)
{
	uint32_t id = 0;

	for (uint32_t i = 0; row->tid && i < j->threads; i++) {
		const struct join_thread *t = &j->thread[i];

		if (t->first_part >= part ||
		    t->row.process_id != row->process_id ||
		    t->row.tid != row->tid)
			continue;
		if (t->last_part < part)
			return i + 1;
		id = i + 1;
	}
	return id;
}

static int add_thread(struct join *j, struct join_part *p, sqlite3_stmt *q,
		      struct reel_error *err)
{
	int part = (int)(p - j->part);
	struct reel_writer_thread row = {
		.process_id = join_id(&p->process, join_int(q, 1, 0)),
		.tid = join_int(q, 2, 0),
		.start_ns = join_int(q, 3, 0) + p->base_ns,
		.end_ns = join_int(q, 4, 0) + p->base_ns,
		.events = (uint64_t)join_int(q, 5, 0),
		.lost = (uint64_t)join_int(q, 6, 0)};
	struct reel_writer_thread *to;
	uint32_t id;

	if (!row.process_id)
		return 0;
	if (j->process[row.process_id - 1].io_part != part)
		row.events = 0;
	id = part ? find_thread(j, part, &row) : 0;
	if (id) {
		to = &j->thread[id - 1].row;
		to->events += row.events;
		to->lost += row.lost;
		if (row.start_ns < to->start_ns)
			to->start_ns = row.start_ns;
		if (row.end_ns > to->end_ns)
			to->end_ns = row.end_ns;
	} else if (new_thread(j, part, &row, err)) {
		return -1;
	} else {
		id = j->threads;
	}
	j->thread[id - 1].last_part = part;
	return join_ids_set(&p->thread, sqlite3_column_int64(q, 0), id, err);
}

/* The kinds of spans of each process: the first part that has one keeps it. */
static int add_kind(struct join *j, struct join_part *p, sqlite3_stmt *q,
		    struct reel_error *err)
{
	uint32_t id = join_id(&p->process, join_int(q, 0, 0));
	int64_t kind = join_int(q, 1, 0);

	(void)err;
	if (id && kind > 0 && kind < REEL_SPANS &&
	    j->process[id - 1].span_part[kind] < 0) {
		j->process[id - 1].span_part[kind] = (int)(p - j->part);
		if (kind == REEL_SPAN_FETCH) {
			j->process[id - 1].loop_start_ns =
				join_int(q, 2, 0) + p->base_ns;
			j->process[id - 1].loop_end_ns =
				join_int(q, 3, 0) + p->base_ns;
		}
	}
	return 0;
}

int join_processes_read(struct join *j, struct join_part *p,
			struct reel_error *err)
{
	return join_each_row(j, p,
			     "SELECT host_id, name, boot_id FROM host "
			     "ORDER BY host_id",
			     add_host, err) ||
			       join_each_row(j, p, process_sql, add_process,
					     err) ||
			       join_each_row(j, p,
					     "SELECT thread_id, process_id, "
					     "tid, start_ns, end_ns, events, "
					     "lost FROM thread "
					     "ORDER BY thread_id",
					     add_thread, err) ||
			       join_each_row(j, p,
					     "SELECT process_id, parent_id, "
					     "fork_thread FROM process",
					     set_parent, err) ||
			       join_each_row(j, p,
					     "SELECT process_id, kind, "
					     "min(s.start_ns), "
					     "max(s.start_ns + s.dur_ns) "
					     "FROM span s JOIN thread "
					     "USING (thread_id) GROUP BY 1, 2",
					     add_kind, err)
		       ? -1
		       : 0;
}

/* --- loader workers ------------------------------------------------------- */

static int see_loader(struct join *j, struct join_part *p, sqlite3_stmt *q,
		      struct reel_error *err)
{
	(void)p;
	(void)err;
	j->has_workers = j->has_workers || sqlite3_column_int(q, 0);
	return 0;
}

static bool says(const char *text, const char *part)
{
	return text && strstr(text, part);
}

/* The process whose loader forked @c or started it by multiprocessing; NULL: it is
 * another child. */
static const struct join_process *feeds(const struct join *j,
					const struct join_process *c)
{
	const struct join_process *up;

	if (!c->row.parent_id || !c->row.role ||
	    strcmp(c->row.role, "child") != 0)
		return NULL;
	up = &j->process[c->row.parent_id - 1];
	if (c->row.exe && !says(c->row.command, "--multiprocessing-fork"))
		return NULL;
	if (says(up->row.command, "multiprocessing.forkserver") &&
	    up->row.parent_id)
		up = &j->process[up->row.parent_id - 1];
	return up;
}

int join_workers_mark(struct join *j, struct reel_error *err)
{
	static const char sql[] =
		"SELECT json_extract(job_json, '$.loader') = 'processes' "
		"FROM run";

	for (int i = 0; i < j->parts; i++)
		if (join_each_row(j, &j->part[i], sql, see_loader, err))
			return -1;
	for (uint32_t i = 0; j->has_workers && i < j->processes; i++) {
		struct join_process *c = &j->process[i];
		const struct join_process *up = feeds(j, c);

		if (up && up->span_part[REEL_SPAN_FETCH] >= 0 &&
		    c->row.events && c->row.start_ns < up->loop_end_ns &&
		    c->row.end_ns > up->loop_start_ns)
			c->row.role = "worker";
	}
	return 0;
}
