/* SPDX-License-Identifier: MIT */
/*
 * Outputs of tools that have no single operations with their times, or that need an
 * option: the message that refuses them says what to import in their place.
 *
 * Files are known by the words that their tool prints in them. Source: strace 6.1,
 * fio 3.33, blktrace 1.2, Lightning 2.6, PyTorch 2.13, Python 3.11, sysstat 12.6,
 * perf 6.1, py-spy 0.4, Nsight Systems' columns of its reports.
 */
#include "analyzer/import/unknown.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define LINE_MOST 4096

static const char *const separators = ",;\t|";

struct line {
	const char *s;
	size_t len;
};

/* The line at *@at, without its end; *@at moves behind it. */
static struct line next_line(const char **at, const char *end)
{
	const char *lf = memchr(*at, '\n', (size_t)(end - *at));
	const char *to = lf ? lf : end;
	struct line line = {*at, (size_t)(to - *at)};

	*at = lf ? lf + 1 : end;
	if (line.len && line.s[line.len - 1] == '\r')
		line.len--;
	return line;
}

static bool has_word(const char *s, size_t n, const char *word)
{
	return memmem(s, n, word, strlen(word));
}

static size_t count_byte(struct line line, char byte)
{
	size_t n = 0;

	for (size_t i = 0; i < line.len; i++)
		n += line.s[i] == byte;
	return n;
}

/* "1000, 1563806, 1, 65536, 0": time, value, direction, block size, and more. */
static bool is_fio_log(const char *head, size_t n)
{
	const char *at = head;
	struct line line = next_line(&at, head + n);
	size_t fields = 0;

	for (size_t i = 0; i < line.len; i++) {
		bool number = isdigit((unsigned char)line.s[i]);

		if (!number && line.s[i] != ',' && line.s[i] != ' ')
			return false;
		fields += line.s[i] == ',';
		if (fields == 2 && number && line.s[i] > '2')
			return false;
	}
	return fields >= 4 && has_word(line.s, line.len, ", ");
}

/* "  8,0  3  1  0.000000000  697  G  W 223490 + 8 [kjournald]", or the records. */
static bool is_blktrace(const char *head, size_t n)
{
	static const char magic[] = {0x07, 't', 'a', 'e'};
	const char *at = head;
	struct line line = next_line(&at, head + n);
	size_t i = 0, from;

	if (n >= sizeof(magic) && !memcmp(head, magic, sizeof(magic)))
		return true;
	while (i < line.len && line.s[i] == ' ')
		i++;
	from = i;
	while (i < line.len && isdigit((unsigned char)line.s[i]))
		i++;
	if (i == from || i + 1 >= line.len || line.s[i] != ',' ||
	    !isdigit((unsigned char)line.s[i + 1]))
		return false;
	return has_word(line.s, line.len, " + ") && line.s[line.len - 1] == ']';
}

/* Two lines with a separator at least twice; cells in quotes may have more. JSON is
 * none. */
static bool is_table(const char *head, size_t n)
{
	const char *at = head, *end = head + n;
	struct line first = next_line(&at, end), second = next_line(&at, end);

	if (memchr(head, '\0', n) || first.len > LINE_MOST || !first.len ||
	    strchr("{[", *first.s))
		return false;
	for (const char *sep = separators; *sep; sep++) {
		size_t cells = count_byte(first, *sep);

		if (cells >= 2 && cells <= count_byte(second, *sep))
			return true;
	}
	return false;
}

/* The archive of tar or zip. */
static bool is_archive(const char *head, size_t n)
{
	return (n >= 262 && !memcmp(head + 257, "ustar", 5)) ||
	       (n >= 4 && !memcmp(head, "PK\3\4", 4));
}

static bool is_parquet(const char *head, size_t n)
{
	return n >= 4 && !memcmp(head, "PAR1", 4);
}

static bool is_perf_data(const char *head, size_t n)
{
	return n >= 8 && !memcmp(head, "PERFILE2", 8);
}

/* The byte order mark in two bytes, of either order. */
static bool is_utf16(const char *head, size_t n)
{
	return n >= 2 &&
	       (!memcmp(head, "\xff\xfe", 2) || !memcmp(head, "\xfe\xff", 2));
}

/* Each is of the first kind that it looks like. */
static const struct {
	const char *words[2]; /* all are in the head */
	bool (*look)(const char *head, size_t n);
	struct import_unknown unknown;
} known[] = {
	{{"", ""},
	 is_archive,
	 {"an archive of files", "its files, unpacked into a folder"}},
	{{"", ""},
	 is_utf16,
	 {"text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE >NEW"}},
	{{"% time     seconds", "usecs/call"},
	 NULL,
	 {"strace's table of sums", "strace -f -y -ttt -T -o FILE CMD"}},
	{{"Profiler Report", "Profile stats for: records"},
	 NULL,
	 {"a table of Lightning's PyTorchProfiler",
	  "the *.pt.trace.json files that it writes beside it"}},
	{{"Profiler Report", ""},
	 NULL,
	 {"a table of a profiler of Lightning, which has sums only",
	  "Lightning's PyTorchProfiler, which writes *.pt.trace.json"}},
	{{"Self CPU %", "# of Calls"},
	 NULL,
	 {"a table of PyTorch's profiler, which has sums only",
	  "the JSON of its export_chrome_trace()"}},
	{{" function calls", "percall"},
	 NULL,
	 {"a table of Python's profiler, which has sums only",
	  "ioreel record -- CMD"}},
	{{"\"fio version\"", "\"jobs\""},
	 NULL,
	 {"fio's summary", "fio --write_iolog=FILE"}},
	{{": (g=", "ioengine="},
	 NULL,
	 {"fio's summary", "fio --write_iolog=FILE"}},
	{{";fio-", ";"}, NULL, {"fio's summary", "fio --write_iolog=FILE"}},
	{{"", ""},
	 is_fio_log,
	 {"a log of fio's rates or latencies, or a CSV of numbers",
	  "fio --write_iolog=FILE, or --map with the columns of the CSV"}},
	{{"", ""},
	 is_blktrace,
	 {"a trace of blktrace, which knows no files", "ioreel record -- CMD"}},
	{{"", ""},
	 is_parquet,
	 {"Parquet", "a CSV of its rows; of Nsight Systems, "
		     "nsys export --type sqlite REPORT.nsys-rep"}},
	{{"", ""},
	 is_perf_data,
	 {"a recording of perf", "strace -f -y -ttt -T -o FILE CMD"}},
	{{" ms): ", " = "},
	 NULL,
	 {"a text of perf trace", "strace -f -y -ttt -T -o FILE CMD"}},
	{{"Linux ", " CPU)"},
	 NULL,
	 {"a table of sysstat, which knows no calls", "ioreel record -- CMD"}},
	{{"speedscope.app/file-format-schema", ""},
	 NULL,
	 {"samples of a profiler, which have no I/O", "ioreel record -- CMD"}},
	{{"\"schema\"", "|execution_trace|"},
	 NULL,
	 {"PyTorch's execution trace, which has no durations",
	  "the JSON of its export_chrome_trace()"}},
	{{"Total Time (ns)", "Avg (ns)"},
	 NULL,
	 {"a table of nsys stats, which has sums only",
	  "nsys export --type sqlite REPORT.nsys-rep"}},
	{{"", ""},
	 is_table,
	 {"perhaps a CSV",
	  "ioreel import --map start=COLUMN,duration=COLUMN,call=COLUMN"}},
};

const struct import_unknown *import_unknown_find(const char *head, size_t n)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (has_word(head, n, known[i].words[0]) &&
		    has_word(head, n, known[i].words[1]) &&
		    (!known[i].look || known[i].look(head, n)))
			return &known[i].unknown;
	return NULL;
}
