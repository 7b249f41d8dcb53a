/* SPDX-License-Identifier: MIT */
/*
 * Fuzz one importer, whose name is in $IOREEL_FUZZ_FORMAT: a libFuzzer target, or a
 * program that imports the files in its arguments. The input is a file, or, after
 * the line "FOLDER", a folder: for each file its name and a newline, its size in 4
 * bytes (little-endian), and its bytes. After the line "MAP COLUMNS" it is a CSV file
 * with these columns.
 *
 * An import must end with a store or with a message of one line. The tables of a
 * store take most of the time of a short import, so that one empty store serves many
 * inputs: what an import wrote is rolled back.
 */
#include <endian.h>
#include <err.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/import/import.h"
#include "analyzer/write/writer.h"
#include "lib/error.h"
#include "lib/store/store.h"

#include "tests/fuzz/alone.h"

#define FOLDER "FOLDER\n"
#define MAP "MAP "
#define MAP_MOST 1024
#define FILES_MOST 16
#define RUNS_OF_STORE 4096

static const struct reel_importer *importer;
static char place[] = "/tmp/fuzz_importer.XXXXXX";
static char made[FILES_MOST][64];
static int files;
static struct reel_store *store;
static int runs; /* of the store */

static void clean(void)
{
	reel_store_close(store);
	while (files)
		unlink(made[--files]);
	rmdir(place);
}

static void begin(void)
{
	const char *name = getenv("IOREEL_FUZZ_FORMAT");
	struct reel_error failure = {0};

	importer = reel_importer_find(name ? name : "", &failure);
	if (!importer)
		errx(2, "IOREEL_FUZZ_FORMAT: %s", failure.text);
	if (!mkdtemp(place))
		err(2, "%s", place);
	atexit(clean);
}

static void write_file(const char *name, size_t name_len, const uint8_t *data,
		       size_t size)
{
	FILE *f;

	if (files == FILES_MOST || !name_len || name_len > 30 ||
	    memchr(name, '/', name_len) || memchr(name, '\0', name_len) ||
	    *name == '.')
		return;
	snprintf(made[files], sizeof(made[0]), "%s/%.*s", place, (int)name_len,
		 name);
	f = fopen(made[files++], "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		err(2, "cannot write in '%s'", place);
}

static void write_folder(const uint8_t *data, size_t size)
{
	while (size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t name, room;
		uint32_t bytes;

		if (!end)
			return;
		name = (size_t)(end - data);
		room = size - name - 1;
		if (room < 4)
			return;
		memcpy(&bytes, end + 1, 4);
		bytes = le32toh(bytes);
		room -= 4;
		if (bytes > room)
			bytes = (uint32_t)room;
		write_file((const char *)data, name, end + 5, bytes);
		data = end + 5 + bytes;
		size = room - bytes;
	}
}

/* Write the rows of a CSV file; the columns go into @map. */
static void write_mapped(const uint8_t *data, size_t size,
			 char map[static MAP_MOST])
{
	const uint8_t *from = data + strlen(MAP);
	const uint8_t *end = memchr(from, '\n', size - strlen(MAP));

	if (!end || end - from >= MAP_MOST)
		return;
	memcpy(map, from, (size_t)(end - from));
	map[end - from] = '\0';
	end++;
	write_file("input", strlen("input"), end, size - (size_t)(end - data));
}

/* The file that the importer knows, else the first one. */
static char *input_path(void)
{
	static const char *const heads[] = {"recorder.mt"};

	for (int i = 0; i < files; i++)
		for (size_t k = 0; k < sizeof(heads) / sizeof(heads[0]); k++)
			if (strstr(made[i], heads[k]))
				return made[i];
	return made[0];
}

static void execute(const char *sql)
{
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL))
		errx(2, "%s", sqlite3_errmsg(store->db));
}

/*
 * The store with all its tables, empty. They are committed, and remain: SQLite parses
 * all of the schema again after a rollback of a part of it.
 */
static void make_store(void)
{
	struct reel_writer_source source = {
		.source_id = 1, .file = "", .format = "", .ranks = -1};
	struct reel_writer_options options = {.small = true};
	struct reel_error failure = {0};
	struct reel_writer *w = NULL;

	if (reel_store_temporary(&store, place, &failure) ||
	    reel_writer_new(&w, store, &options, &failure) ||
	    reel_writer_source(w, &source, &failure))
		errx(2, "%s", failure.text);
	reel_writer_free(w);
	execute("DELETE FROM source; COMMIT; PRAGMA journal_mode = MEMORY");
	runs = 0;
}

/* An empty store; what is written from now on, roll_back() takes back. */
static void empty_store(void)
{
	if (store && ++runs > RUNS_OF_STORE) {
		reel_store_close(store);
		store = NULL;
	}
	if (!store)
		make_store();
	execute("BEGIN EXCLUSIVE");
}

static void roll_back(void)
{
	execute("ROLLBACK");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t head = strlen(FOLDER);
	struct reel_error why = {0};
	char map[MAP_MOST] = "";
	char *path[1];

	if (!importer)
		begin();
	while (files)
		unlink(made[--files]);
	if (size >= head && !memcmp(data, FOLDER, head))
		write_folder(data + head, size - head);
	else if (size >= strlen(MAP) && !memcmp(data, MAP, strlen(MAP)))
		write_mapped(data, size, map);
	else
		write_file("input", strlen("input"), data, size);
	if (!files)
		return 0;
	const struct reel_import_options options = {.as = importer,
						    .map = *map ? map : NULL};

	path[0] = input_path();
	empty_store();
	if (reel_import(store, path, 1, &options, &why) < 0 &&
	    (!*why.text || strchr(why.text, '\n')))
		abort(); /* a failure without its line */
	roll_back();
	return 0;
}
