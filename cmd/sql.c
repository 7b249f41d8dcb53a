/* SPDX-License-Identifier: MIT */
/*
 * ioreel sql: SQL over a store, the events included.
 *
 * An authorizer refuses statements that change the store, so a trace that was
 * loaded first behaves like a store on disk. Temporary tables and views belong to
 * the user.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/error.h"
#include "lib/store/schema.h"
#include "lib/store/store.h"

#include "analyzer/export/rows.h"
#include "analyzer/run/run.h"
#include "cmd/commands.h"

#define SCRIPT_MAX (64u << 20)

static sqlite3 *interrupted; /* the database of the query that runs */

static int read_only(void *arg, int action, const char *a, const char *b,
		     const char *db, const char *trigger)
{
	/*
	 * A virtual table declares its columns by a CREATE TABLE, which SQLite
	 * announces as a change of the schema. Real changes of main's schema
	 * are announced by their name too.
	 */
	if (a && (!strcmp(a, "sqlite_master") ||
		  (action == SQLITE_CREATE_TABLE &&
		   (!strcmp(a, "event") || !strcmp(a, "open_file") ||
		    !strcmp(a, "file") || !strcmp(a, "file_io") ||
		    !strcmp(a, "span")))))
		return SQLITE_OK;
	switch (action) {
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
	case SQLITE_DELETE:
	case SQLITE_CREATE_TABLE:
	case SQLITE_CREATE_VIEW:
	case SQLITE_CREATE_INDEX:
	case SQLITE_CREATE_TRIGGER:
	case SQLITE_CREATE_VTABLE:
	case SQLITE_DROP_TABLE:
	case SQLITE_DROP_VIEW:
	case SQLITE_DROP_VTABLE:
	case SQLITE_DROP_INDEX:
	case SQLITE_DROP_TRIGGER:
	case SQLITE_ALTER_TABLE:
		return db && !strcmp(db, "main") ? SQLITE_DENY : SQLITE_OK;
	default:
		return SQLITE_OK;
	}
}

static int db_fail(struct reel_store *st, int rc, struct reel_error *err)
{
	if (rc == SQLITE_AUTH)
		return reel_fail(err, REEL_E_DB, "the store is read-only");
	return reel_fail(err, REEL_E_DB, "%s", sqlite3_errmsg(st->db));
}

/* Execute the first statement of @sql, and make @sql the text after it. */
static int execute_first(struct reel_store *st, const char **sql,
			 enum sql_format format, struct reel_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(st->db, *sql, -1, &stmt, sql);

	if (rc != SQLITE_OK)
		return db_fail(st, rc, err);
	if (!stmt)
		return 0; /* blank, or a comment */
	rc = sql_output(stdout, stmt, format, err);
	sqlite3_finalize(stmt);
	return rc ? -1 : 0;
}

/* Execute every statement of @sql. */
static int execute_sql(struct reel_store *st, const char *sql,
		       enum sql_format format, struct reel_error *err)
{
	while (*sql)
		if (execute_first(st, &sql, format, err))
			return -1;
	return 0;
}

/* --- the prompt ----------------------------------------------------------- */

static const char help[] =
	"A query ends with ';'. Control-C stops it, control-D leaves.\n"
	".tables          tables and views; v_event and v_span are the way in\n"
	".schema [NAME]   how they were made, with their comments\n"
	".format F        table, tsv, csv or json\n"
	".quit            leave\n";

static const char tables_sql[] =
	"SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') "
	"AND name NOT LIKE 'sqlite_%' UNION SELECT type, name FROM "
	"sqlite_temp_schema ORDER BY 1 DESC, 2";

static int set_format(const char *word, enum sql_format *format)
{
	static const char *const names[] = {"table", "tsv", "csv", "json"};

	for (int i = 0; i < 4; i++) {
		if (strcmp(word, names[i]))
			continue;
		*format = (enum sql_format)i;
		return 0;
	}
	return -1;
}

/* Print the definition of table or view @name, or all for "". */
static int show_schema(const char *name, struct reel_error *err)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	reel_schema_show(f, *name ? name : NULL);
	if (fclose(f) || !len)
		reel_fail(err, REEL_E_FORMAT,
			  "no table or view '%s' in the schema; .tables lists "
			  "them",
			  name);
	else
		fputs(text, stdout);
	free(text);
	return len ? 0 : -1;
}

/* Execute a line that starts with a dot. 1: leave. */
static int run_dot_command(struct reel_store *st, char *line,
			   enum sql_format *format, struct reel_error *err)
{
	char *word = strtok(line, " \t\n"), *arg = strtok(NULL, " \t\n");

	arg = arg ? arg : "";
	if (!strcmp(word, ".quit") || !strcmp(word, ".exit"))
		return 1;
	if (!strcmp(word, ".tables"))
		return execute_sql(st, tables_sql, *format, err);
	if (!strcmp(word, ".schema"))
		return show_schema(arg, err);
	if (!strcmp(word, ".help")) {
		fputs(help, stdout);
		return 0;
	}
	if (strcmp(word, ".format"))
		return reel_fail(err, REEL_E_FORMAT,
				 "unknown word '%s'; .help lists them", word);
	if (set_format(arg, format))
		return reel_fail(err, REEL_E_FORMAT,
				 ".format wants %s, not '%s'", SQL_FORMATS,
				 arg);
	return 0;
}

/* Execute the dot command at @line up to the end of the line, and make @line the text
 * after it. 1: leave. */
static int run_dot_line(struct reel_store *st, const char **line,
			enum sql_format *format, struct reel_error *err)
{
	size_t n = strcspn(*line, "\n");
	struct reel_buf copy = REEL_BUF_INIT;
	int rc = reel_buf_add(&copy, *line, n, err);

	if (!rc)
		rc = run_dot_command(st, copy.data, format, err);
	*line += n;
	reel_buf_fini(&copy);
	return rc;
}

/* Execute statements and dot commands. No statement begins with a dot. */
static int run_text(struct reel_store *st, const char *sql,
		    enum sql_format format, struct reel_error *err)
{
	int rc = 0;

	while (!rc && *(sql += strspn(sql, " \t\r\n")))
		rc = *sql == '.' ? run_dot_line(st, &sql, &format, err)
				 : execute_first(st, &sql, format, err);
	return rc < 0 ? -1 : 0;
}

static int execute_script(struct reel_store *st, enum sql_format format,
			  struct reel_error *err)
{
	struct reel_buf sql = REEL_BUF_INIT;
	char chunk[65536];
	size_t n;
	int rc = -1;

	while ((n = fread(chunk, 1, sizeof(chunk), stdin)) > 0) {
		if (sql.len + n > SCRIPT_MAX) {
			reel_fail(
				err, REEL_E_FORMAT,
				"cannot read standard input: more than 64 MiB");
			goto out;
		}
		if (reel_buf_add(&sql, chunk, n, err))
			goto out;
	}
	n = strlen(reel_buf_text(&sql));
	if (ferror(stdin))
		reel_fail(err, REEL_E_IO, "cannot read standard input: %s",
			  strerror(errno));
	else if (n < sql.len)
		reel_fail(err, REEL_E_FORMAT,
			  "cannot read standard input: byte %zu is NUL", n);
	else
		rc = run_text(st, reel_buf_text(&sql), format, err);
out:
	reel_buf_fini(&sql);
	return rc;
}

static void on_interrupt(int sig)
{
	if (interrupted)
		sqlite3_interrupt(interrupted);
}

/* Add a line to @sql and execute it when it is complete. 1: leave. */
static int take_line(struct reel_store *st, struct reel_buf *sql, char *line,
		     enum sql_format *format, struct reel_error *err)
{
	int rc;

	if (!sql->len && line[strspn(line, " \t")] == '.')
		return run_dot_command(st, line + strspn(line, " \t"), format,
				       err);
	if (!sql->len && !line[strspn(line, " \t\r\n")])
		return 0;
	if (reel_buf_puts(sql, line, err))
		return -1;
	if (!sqlite3_complete(reel_buf_text(sql)))
		return 0;
	interrupted = st->db;
	rc = execute_sql(st, reel_buf_text(sql), *format, err);
	interrupted = NULL;
	reel_buf_reset(sql);
	return rc;
}

static int run_prompt(struct reel_store *st, enum sql_format format,
		      struct reel_error *err)
{
	/* no SA_RESTART: control-C ends the line too */
	struct sigaction sa = {.sa_handler = on_interrupt};
	struct reel_buf sql = REEL_BUF_INIT;
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	sigaction(SIGINT, &sa, NULL);
	fputs("SQL over the run; .help for help\n", stderr);
	while (rc != 1) {
		struct reel_error one = {0};

		fputs(sql.len ? "   ...> " : "ioreel> ", stderr);
		errno = 0;
		if (getline(&line, &room, stdin) < 0) {
			if (errno != EINTR)
				break;
			clearerr(stdin);
			reel_buf_reset(&sql);
			fputc('\n', stderr);
			continue;
		}
		rc = take_line(st, &sql, line, &format, &one);
		if (rc < 0) {
			reel_cli_fail(&cmd_sql, &one);
			reel_buf_reset(&sql);
		}
	}
	if (rc != 1)
		fputc('\n', stderr);
	free(line);
	reel_buf_fini(&sql);
	return 0;
}

/* --- the command ---------------------------------------------------------- */

static int run(int argc, char **argv);

const struct reel_command cmd_sql = {
	.name = "sql",
	.task = "ask a run anything, in SQL",
	.usage = "[--format " SQL_FORMATS "] RUN [QUERY]",
	.examples = "ioreel sql train.reel 'SELECT call, count(*) FROM v_event "
		    "GROUP BY call'\n"
		    "ioreel sql train.db\n",
	.about = "RUN is a store or a trace directory. Without QUERY: a prompt "
		 "on a terminal, else SQL from standard input. A table on a "
		 "terminal, else TSV with a header.",
	.run = run,
};

static int run(int argc, char **argv)
{
	struct reel_error err = {0};
	struct reel_store *st = NULL;
	int format = -1, first, rc = -1;
	struct reel_opt opts[] = {
		{"format", 'f', REEL_OPT_CHOICE, &format, SQL_FORMATS,
		 "how to print rows", 0, 0},
		{0},
	};

	first = reel_cli_parse(&cmd_sql, opts, false, argc, argv);
	if (first < 0)
		return first == -2 ? 0 : 2;
	if (first == argc)
		return reel_cli_usage(&cmd_sql, "no run given");
	if (argc - first > 2)
		return reel_cli_usage(&cmd_sql,
				      "one query at a time: '%s' is "
				      "one too many",
				      argv[first + 2]);
	if (format < 0)
		format = isatty(STDOUT_FILENO) ? SQL_TABLE : SQL_TSV;
	if (reel_run_open(&st, argv[first], &err))
		goto out;
	sqlite3_exec(st->db, "PRAGMA query_only = OFF", NULL, NULL, NULL);
	sqlite3_set_authorizer(st->db, read_only, NULL);
	if (argc - first == 2)
		rc = run_text(st, argv[first + 1], (enum sql_format)format,
			      &err);
	else if (isatty(STDIN_FILENO))
		rc = run_prompt(st, (enum sql_format)format, &err);
	else
		rc = execute_script(st, (enum sql_format)format, &err);
out:
	reel_store_close(st);
	return rc ? reel_cli_fail(&cmd_sql, &err) : 0;
}
