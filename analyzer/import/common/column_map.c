/* SPDX-License-Identifier: MIT */
/* Which column of a CSV file has which field of an event. */
#include "analyzer/import/common/column_map.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/error.h"

#define NS_PER_S INT64_C(1000000000)

static const struct {
	const char *name;
	enum { TEXT, TIME, INTEGER } type;
} fields[IMPORT_FIELDS] = {
	[FIELD_START] = {"start", TIME},
	[FIELD_END] = {"end", TIME},
	[FIELD_DURATION] = {"duration", TIME},
	[FIELD_CALL] = {"call", TEXT},
	[FIELD_SPAN] = {"span", TEXT},
	[FIELD_DETAIL] = {"detail", INTEGER},
	[FIELD_PATH] = {"path", TEXT},
	[FIELD_OFFSET] = {"offset", INTEGER},
	[FIELD_SIZE] = {"size", INTEGER},
	[FIELD_RESULT] = {"result", INTEGER},
	[FIELD_RANK] = {"rank", INTEGER},
	[FIELD_HOST] = {"host", TEXT},
	[FIELD_PID] = {"pid", INTEGER},
	[FIELD_TID] = {"tid", INTEGER},
};

/* Words that programs write in place of a number that they do not have, in any
 * case. */
static const char *const missing[] = {"-", "na", "n/a", "nan", "none", "null"};

static const struct {
	const char *name;
	int digits;
	bool unix_time, date;
} units[] = {
	{"s", 9, false, false},	     {"ms", 6, false, false},
	{"us", 3, false, false},     {"ns", 0, false, false},
	{"unix-s", 9, true, false},  {"unix-ms", 6, true, false},
	{"unix-us", 3, true, false}, {"unix-ns", 0, true, false},
	{"iso", 9, true, true},
};

static bool is_word(const char *word, const char *p, size_t n)
{
	return strlen(word) == n && !memcmp(word, p, n);
}

static int find_unit(struct import_column *c, const char *p, size_t n,
		     struct reel_error *err)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (is_word(units[i].name, p, n)) {
			c->digits = units[i].digits;
			c->unix_time = units[i].unix_time;
			c->date = units[i].date;
			return 0;
		}
	return reel_fail(err, REEL_E_USAGE,
			 "--map: no unit '%.*s' (there are: s, ms, us, ns, "
			 "unix-s, unix-ms, unix-us, unix-ns, iso)",
			 (int)(n < 40 ? n : 40), p);
}

/* The field of "start" or "start:us". NULL with @err. */
static struct import_column *find_field(struct import_column_map *map,
					const char *p, size_t n,
					struct reel_error *err)
{
	const char *colon = memchr(p, ':', n);
	size_t len = colon ? (size_t)(colon - p) : n;

	for (int i = 0; i < IMPORT_FIELDS; i++) {
		struct import_column *c = &map->column[i];

		if (!is_word(fields[i].name, p, len))
			continue;
		c->digits = 9;
		c->unix_time = c->date = false;
		if (colon && fields[i].type != TIME) {
			reel_fail(err, REEL_E_USAGE,
				  "--map: '%s' is no time and has no unit",
				  fields[i].name);
			return NULL;
		}
		return colon && find_unit(c, colon + 1, n - len - 1, err) ? NULL
									  : c;
	}
	reel_fail(err, REEL_E_USAGE,
		  "--map: no field '%.*s' (there are: start, end, duration, "
		  "call, span, detail, path, offset, size, result, rank, host, "
		  "pid, tid)",
		  (int)(len < 40 ? len : 40), p);
	return NULL;
}

/*
 * The column behind "=": a name, a name in quotes, or #NUMBER. It ends before
 * the next comma: *@rest.
 */
static int parse_column(struct import_column_map *map, struct import_column *c,
			const char *p, const char **rest,
			struct reel_error *err)
{
	bool quoted = *p == '"';
	size_t n = 0;

	p += quoted;
	for (; *p && *p != (quoted ? '"' : ','); p++) {
		if (n + 1 == sizeof(c->name))
			return reel_fail(err, REEL_E_USAGE,
					 "--map: the name of a column has more "
					 "than %d bytes",
					 COLUMN_NAME_MOST - 1);
		c->name[n++] = *p;
	}
	c->name[n] = '\0';
	if (quoted && *p++ != '"')
		return reel_fail(err, REEL_E_USAGE,
				 "--map: a quote is not closed");
	if (*p && *p != ',')
		return reel_fail(err, REEL_E_USAGE,
				 "--map: a comma is missing before '%.40s'", p);
	*rest = p + (*p == ',');
	c->mapped = n > 0; /* "pid=" is the same as nothing */
	c->index = -1;
	if (!quoted && *c->name == '#') {
		char *end;
		long number = strtol(c->name + 1, &end, 10);

		if (end == c->name + 1 || *end || number < 1 ||
		    number > IMPORT_CELLS_MOST)
			return reel_fail(err, REEL_E_USAGE,
					 "--map: no column '%s'", c->name);
		c->index = (int)number - 1;
	} else if (c->mapped) {
		map->named = true;
	}
	return 0;
}

int import_column_map_parse(struct import_column_map *map, const char *text,
			    struct reel_error *err)
{
	const struct import_column *column = map->column;

	*map = (struct import_column_map){0};
	while (*text) {
		const char *equals = strchr(text, '=');
		struct import_column *c;

		if (!equals)
			return reel_fail(err, REEL_E_USAGE,
					 "--map: '%.40s' has no =", text);
		c = find_field(map, text, (size_t)(equals - text), err);
		if (!c || parse_column(map, c, equals + 1, &text, err))
			return -1;
	}
	if (!column[FIELD_START].mapped &&
	    !(column[FIELD_END].mapped && column[FIELD_DURATION].mapped))
		return reel_fail(err, REEL_E_USAGE,
				 "--map: start, or end and duration, must have "
				 "columns");
	if (!column[FIELD_CALL].mapped && !column[FIELD_SPAN].mapped)
		return reel_fail(err, REEL_E_USAGE,
				 "--map: call or span must have a column");
	return 0;
}

/* The header has no column @name: the error shows the names that it has. */
static int no_column(const char *path, const char *name,
		     const struct import_cell *cell, unsigned int cells,
		     struct reel_error *err)
{
	char names[200] = "";
	size_t n = 0;

	for (unsigned int i = 0; i < cells && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s'%s'",
				      i ? ", " : "", cell[i].s);
	for (char *c = names; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s', line 1: no column '%s' (there are: %s%s)", path,
			 name, names, n < sizeof(names) ? "" : "...");
}

int import_column_map_find(struct import_column_map *map, const char *path,
			   const struct import_cell *cell, unsigned int cells,
			   struct reel_error *err)
{
	for (int i = 0; i < IMPORT_FIELDS; i++) {
		struct import_column *c = &map->column[i];

		if (!c->mapped || (*c->name == '#' && c->index >= 0))
			continue;
		c->index = import_csv_find(cell, cells, c->name);
		if (c->index < 0)
			return no_column(path, c->name, cell, cells, err);
	}
	return 0;
}

static bool is_missing(const struct import_cell *cell)
{
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (!strcasecmp(cell->s, missing[i]))
			return true;
	return false;
}

const struct import_cell *
import_column_map_cell(const struct import_column_map *map,
		       enum import_field field, const struct import_cell *cell,
		       unsigned int cells)
{
	const struct import_column *c = &map->column[field];

	if (!c->mapped || (unsigned int)c->index >= cells)
		return NULL;
	cell += c->index;
	return cell->len && !(fields[field].type != TEXT && is_missing(cell))
		       ? cell
		       : NULL;
}

const char *import_field_name(enum import_field field)
{
	return fields[field].name;
}

enum import_field import_column_map_bad(const struct import_column_map *map,
					const struct import_cell *cell,
					unsigned int cells)
{
	int64_t v;
	int i = 0;

	for (; i < IMPORT_FIELDS; i++) {
		if (fields[i].type == TEXT ||
		    !import_column_map_cell(map, i, cell, cells))
			continue;
		if (fields[i].type == TIME
			    ? !import_column_map_time(map, i, cell, cells, &v)
			    : !import_column_map_integer(map, i, cell, cells,
							 &v))
			break;
	}
	return i;
}

/* Read @n digits of *@p, then one of the characters @end (NULL: any may follow). */
static bool take_digits(const char **p, int n, const char *end, int *out)
{
	for (*out = 0; n; n--, ++*p) {
		if (!isdigit((unsigned char)**p))
			return false;
		*out = 10 * *out + (**p - '0');
	}
	if (!end)
		return true;
	return **p && strchr(end, *(*p)++);
}

/* A zone behind a date, as ns to add: "", "Z", "+05:30", "-0800". */
static bool take_zone(const char **p, int64_t *ns)
{
	bool west = **p == '-';
	int hours, minutes;

	*ns = 0;
	if (**p == 'Z')
		++*p;
	if (**p != '+' && !west)
		return true;
	++*p;
	if (!take_digits(p, 2, NULL, &hours))
		return false;
	*p += **p == ':';
	if (!take_digits(p, 2, NULL, &minutes))
		return false;
	*ns = (west ? 1 : -1) * (hours * 60 + minutes) * 60 * NS_PER_S;
	return true;
}

bool import_date_ns(const char *p, int64_t *ns)
{
	struct tm t = {0};
	int64_t zone_ns, part_ns = 0;
	int day;

	if (!take_digits(&p, 4, "-", &t.tm_year) || t.tm_year < 1970 ||
	    !take_digits(&p, 2, "-", &t.tm_mon) ||
	    !take_digits(&p, 2, "T t", &t.tm_mday) ||
	    !take_digits(&p, 2, ":", &t.tm_hour) ||
	    !take_digits(&p, 2, ":", &t.tm_min) ||
	    !take_digits(&p, 2, NULL, &t.tm_sec))
		return false;
	if (*p == '.' || *p == ',') {
		int64_t unit = NS_PER_S;

		for (p++; isdigit((unsigned char)*p); p++) {
			unit /= 10;
			part_ns += (*p - '0') * unit;
		}
	}
	if (!take_zone(&p, &zone_ns) || *p || t.tm_mon < 1 || t.tm_mon > 12 ||
	    t.tm_mday < 1 || t.tm_mday > 31 || t.tm_hour > 23 ||
	    t.tm_min > 59 || t.tm_sec > 59)
		return false;
	t.tm_year -= 1900;
	t.tm_mon--;
	day = t.tm_mday;
	*ns = timegm(&t); /* of February 30 it makes a day of March */
	if (*ns > INT64_MAX / 4 / NS_PER_S || t.tm_mday != day)
		return false;
	*ns = *ns * NS_PER_S + part_ns + zone_ns;
	return true;
}

bool import_column_map_time(const struct import_column_map *map,
			    enum import_field field,
			    const struct import_cell *cell, unsigned int cells,
			    int64_t *ns)
{
	const struct import_cell *c =
		import_column_map_cell(map, field, cell, cells);

	if (c && map->column[field].date)
		return import_date_ns(c->s, ns);
	/* Sums of a time and a duration stay in range. */
	return c && import_cell_decimal(c, map->column[field].digits, ns) &&
	       *ns > -(INT64_MAX / 4) && *ns < INT64_MAX / 4;
}

bool import_column_map_integer(const struct import_column_map *map,
			       enum import_field field,
			       const struct import_cell *cell,
			       unsigned int cells, int64_t *out)
{
	const struct import_cell *c =
		import_column_map_cell(map, field, cell, cells);

	return c && import_cell_integer(c, out);
}
