/* SPDX-License-Identifier: MIT */
/*
 * Streams of all modes and buffers, used by random calls from SEED. Prints
 * "path call offset bytes" of calls with a record of their own, with the offset
 * of ftell(), and for each stream the bytes that all calls read and wrote.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/random.h"

#define OPEN 5
#define ROOM (4 << 20)

enum use { NOTHING, READ, WRITE };

struct stream {
	FILE *f;
	char path[20];
	bool reads, writes, appends;
	enum use last;
	long read, written;
};

static struct stream all[OPEN];
static int n_open, n_made;
static char buf[20000], *text, *end;
static size_t last_size;
static const char *volatile words = "some text\n"; /* hidden from gcc */

/* Not the last size: calls of one size share a record. */
static size_t draw_size(void)
{
	size_t n = 1 + chance_below(chance_below(6) ? 200 : 15000);

	last_size = n == last_size ? n + 1 : n;
	return last_size;
}

static void say(const struct stream *s, const char *call, long at, long bytes)
{
	if (bytes > 0 && end - text < ROOM - 100)
		end += s->appends ? sprintf(end, "%s %s - %ld\n", s->path, call,
					    bytes)
				  : sprintf(end, "%s %s %ld %ld\n", s->path,
					    call, at, bytes);
}

/* Some lines and words, then zeros. */
static void fill(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	for (uint64_t n = chance_below(15); n; n--)
		if (write(fd, buf, 1000) != 1000)
			abort();
	if (chance_below(2) && ftruncate(fd, 20000))
		abort();
	close(fd);
}

static void opens(void)
{
	static const char *const modes[] = {"r", "w", "a", "r+", "w+", "a+"};
	static const int flags[] = {O_RDONLY,
				    O_WRONLY | O_CREAT | O_TRUNC,
				    O_WRONLY | O_CREAT | O_APPEND,
				    O_RDWR,
				    O_RDWR | O_CREAT | O_TRUNC,
				    O_RDWR | O_CREAT | O_APPEND};
	static const int buffers[] = {_IONBF, _IOLBF, _IOFBF, _IOFBF};
	struct stream *s = &all[n_open];
	uint64_t m = chance_below(6), how = chance_below(3);
	int fd;

	*s = (struct stream){.reads = m != 1 && m != 2,
			     .writes = m != 0,
			     .appends = m == 2 || m == 5};
	sprintf(s->path, "s%d%s", n_made++, s->appends ? ".a" : "");
	fill(s->path);
	if (how == 0) {
		fd = open(s->path, flags[m], 0600);
		s->f = fdopen(fd, modes[m]);
	} else if (how == 1) {
		s->f = fopen("/dev/null", "r");
		s->f = freopen(s->path, modes[m], s->f);
	} else {
		s->f = fopen(s->path, modes[m]);
	}
	how = chance_below(4);
	if (chance_below(2))
		setvbuf(s->f, NULL, buffers[how], 100 + chance_below(9000));
	n_open++;
}

static void closes(struct stream *s)
{
	fclose(s->f);
	end += sprintf(end, "%s all %ld %ld\n", s->path, s->read, s->written);
	*s = all[--n_open];
}

static void reads(struct stream *s)
{
	size_t size = draw_size(), room = 0;
	char *line = NULL, word[100];
	long at, got = -1;
	const char *call = NULL;

	if (s->last == WRITE)
		fseek(s->f, 0, SEEK_CUR);
	s->last = READ;
	at = ftell(s->f);
	switch (chance_below(7)) {
	case 0:
	case 1:
		call = "fread";
		if (fread(buf, 1, size, s->f) < size)
			clearerr(s->f);
		break;
	case 2: /* may be partial */
		call = "fread";
		if (!fread(buf, size, 1, s->f))
			clearerr(s->f);
		break;
	case 3:
		call = "fgets";
		(void)!fgets(buf, (int)(size % 300 + 2), s->f);
		break;
	case 4:
		call = "getline";
		got = getline(&line, &room, s->f);
		free(line);
		break;
	case 5:
		(void)!fscanf(s->f, "%99s", word);
		break;
	default:
		for (size %= 50; size && getc(s->f) != EOF; size--)
			;
	}
	got = ftell(s->f) - at;
	s->read += got;
	if (call)
		say(s, call, at, got);
}

static void writes(struct stream *s)
{
	size_t size = draw_size(), done = size;
	const char *call = NULL;
	long at;

	if (s->last == READ)
		fseek(s->f, 0, SEEK_CUR);
	s->last = WRITE;
	at = s->appends ? 0 : ftell(s->f);
	switch (chance_below(6)) {
	case 0:
	case 1:
		call = "fwrite";
		fwrite(buf, 1, size, s->f);
		break;
	case 2:
		done = (size_t)fprintf(s->f, "%*d\n", (int)size % 300, 5);
		break;
	case 3:
		done = strlen(words);
		fputs(words, s->f);
		break;
	default:
		for (done = 0; done < size % 50; done++)
			putc('x', s->f);
	}
	s->written += (long)done;
	if (call)
		say(s, call, at, (long)done);
}

static void moves(struct stream *s)
{
	fpos_t pos;
	pid_t child;

	s->last = NOTHING;
	switch (chance_below(6)) {
	case 0:
		fseek(s->f, (long)chance_below(20000), SEEK_SET);
		break;
	case 1:
		fseeko(s->f, -(off_t)chance_below(500), SEEK_END);
		break;
	case 2:
		rewind(s->f);
		break;
	case 3:
		fgetpos(s->f, &pos);
		fsetpos(s->f, &pos);
		break;
	case 4:
		fflush(s->f);
		break;
	default: /* with empty buffers */
		fflush(NULL);
		child = fork();
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	end = text = malloc(ROOM);
	if (!text || argc < 2)
		return 1;
	chance_state += strtoul(argv[1], NULL, 0) * 2654435761u;
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = "abc def\n123 "[i % 12];
	for (int n = 3000; n; n--) {
		uint64_t what = chance_below(24);
		struct stream *s = &all[chance_below((uint64_t)n_open + 1)];

		if (s == &all[n_open]) {
			if (n_open < OPEN)
				opens();
		} else if (what < 10 && s->reads) {
			reads(s);
		} else if (what >= 10 && what < 19 && s->writes) {
			writes(s);
		} else if (what >= 19 && what < 23) {
			moves(s);
		} else if (what == 23) {
			closes(s);
		}
	}
	while (n_open)
		closes(all);
	fputs(text, stdout);
	return 0;
}
