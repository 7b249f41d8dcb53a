/* SPDX-License-Identifier: MIT */
/*
 * Outputs of tools that have no single operations with their times, or that need an
 * option: the message that refuses them says what to import in their place.
 *
 * Files are known by the words that their tool prints in them, or by their suffix.
 * Source: strace 6.1, fio 3.33, blktrace 1.2, Lightning 2.6, PyTorch 2.13, Python
 * 3.11, sysstat 12.6, perf 6.1, py-spy 0.4, OTF2 3.2, Nsight Systems' columns of its
 * reports;
 * darshan-log-format.h of Darshan 2.3, Perfetto's trace_packet.proto, the manuals of
 * TAU and Caliper.
 */
#include "analyzer/import/unknown.h"

#include <ctype.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/store/byte_planes.h"
#include "lib/text.h"

#define LINE_MOST 4096
#define NSYS_EXPORT "nsys export --type sqlite REPORT.nsys-rep"

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

bool import_unknown_is_utf16(const char *head, size_t n)
{
	return n >= 2 &&
	       (!memcmp(head, "\xff\xfe", 2) || !memcmp(head, "\xfe\xff", 2));
}

/* Darshan 1 and 2: a version as text, and a number that shows the byte order. */
static bool is_darshan_2(const char *head, size_t n)
{
	uint64_t magic;

	if (n < 16 || (*head != '1' && *head != '2') || head[1] != '.')
		return false;
	memcpy(&magic, head + 8, sizeof(magic));
	return le64toh(magic) == 6567223 || be64toh(magic) == 6567223;
}

/* The anchor file of OTF2: a chunk, its byte order, and the name. */
static bool is_otf2(const char *head, size_t n)
{
	return n >= 6 && *head == 3 && strchr("B#", head[1]) &&
	       !memcmp(head + 2, "OTF2", 4);
}

#define PROTOBUF_BYTES 2	/* the wire type of a message */
#define PERFETTO_PACKET 1	/* Trace.packet */
#define PERFETTO_SEQUENCE_ID 10 /* TracePacket.trusted_packet_sequence_id */

/* Has the packet the number of its sequence? Perfetto's service puts it in each. */
static bool is_packet(const uint8_t *at, const uint8_t *end)
{
	static const uint8_t fixed[8] = {[1] = 8, [5] = 4}; /* bytes, by type */
	uint64_t key, n;

	while (at < end && !reel_varint_get(&at, end, &key)) {
		if (key == PERFETTO_SEQUENCE_ID << 3)
			return true;
		n = fixed[key & 7];
		if (!n && reel_varint_get(&at, end, &n))
			return false;
		if ((key & 7) && n > (uint64_t)(end - at))
			return false;
		at += key & 7 ? n : 0;
	}
	return false;
}

/* Packets only, as far as the head goes, with one of a sequence among them. */
static bool is_perfetto(const char *head, size_t n)
{
	const uint8_t *at = (const uint8_t *)head, *end = at + n;
	bool found = false;

	while (at < end) {
		uint64_t len;

		if (*at++ != (PERFETTO_PACKET << 3 | PROTOBUF_BYTES))
			return false;
		if (reel_varint_get(&at, end, &len))
			break;
		if (len > (uint64_t)(end - at))
			len = (uint64_t)(end - at);
		found |= is_packet(at, at + len);
		at += len;
	}
	return found;
}

/* Formats of which the content is not known here. */
static const struct {
	const char *suffix;
	struct import_unknown unknown;
} suffixes[] = {
	{".nsys-rep", {"a report of Nsight Systems", NSYS_EXPORT}},
	{".qdrep", {"a report of Nsight Systems", NSYS_EXPORT}},
	{".qdstrm",
	 {"a raw stream of Nsight Systems",
	  "QdstrmImporter, then " NSYS_EXPORT}},
};

/* Each is of the first kind that it looks like. */
static const struct {
	const char *words[2]; /* all are in the head */
	bool (*look)(const char *head, size_t n);
	struct import_unknown unknown;
} known[] = {
	{{"anchor.xml", ""},
	 is_archive,
	 {"a profile of Score-P, which has sums only", "ioreel record -- CMD"}},
	{{"", ""},
	 is_archive,
	 {"an archive of files", "its files, unpacked into a folder"}},
	{{"", ""},
	 import_unknown_is_utf16,
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
	 {"Parquet", "a CSV of its rows; of Nsight Systems, " NSYS_EXPORT}},
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
	 {"a table of nsys stats, which has sums only", NSYS_EXPORT}},
	{{"\"TraceProcessEvent\"", ""},
	 NULL,
	 {"nsys export's JSON", NSYS_EXPORT}},
	{{"", ""},
	 is_darshan_2,
	 {"a log of Darshan 1 or 2, whose counters are others",
	  "Darshan 3, or ioreel record -- CMD"}},
	{{"", ""},
	 is_perfetto,
	 {"a trace of Perfetto", "traceconv json FILE NEW.json"}},
	{{"", ""},
	 is_otf2,
	 {"a trace of OTF2, as Score-P writes it", "ioreel record -- CMD"}},
	{{"templated_functions", "# Name Calls Subrs"},
	 NULL,
	 {"a profile of TAU, which has sums only",
	  "a trace of TAU (TAU_TRACE=1) through tau_trace2json -chrome"}},
	{{"__rec=", ""},
	 NULL,
	 {"a file of Caliper",
	  "cali2traceevent.py FILE NEW.json, of Caliper's event-trace"}},
	{{"\"column_metadata\"", "\"nodes\""},
	 NULL,
	 {"a profile of Caliper, which has sums only",
	  "Caliper's event-trace through cali2traceevent.py"}},
	{{"\"sysstat\"", "\"hosts\""},
	 NULL,
	 {"sysstat's JSON, which knows no calls", "ioreel record -- CMD"}},
	{{"Attaching ", " probe"},
	 NULL,
	 {"a text of bpftrace, of any form",
	  "strace -f -y -ttt -T -o FILE CMD, or a CSV with --map"}},
	{{"brain.Event:", ""},
	 NULL,
	 {"TensorBoard's scalars and graphs, which have no times of calls",
	  "the profile in its folder plugins/profile"}},
	{{"", ""},
	 is_table,
	 {"perhaps a CSV",
	  "ioreel import --map start=COLUMN,duration=COLUMN,call=COLUMN"}},
};

const struct import_unknown *import_unknown_find(const char *path,
						 const char *head, size_t n)
{
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (reel_text_ends(path, suffixes[i].suffix))
			return &suffixes[i].unknown;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (has_word(head, n, known[i].words[0]) &&
		    has_word(head, n, known[i].words[1]) &&
		    (!known[i].look || known[i].look(head, n)))
			return &known[i].unknown;
	return NULL;
}
