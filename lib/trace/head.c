/* SPDX-License-Identifier: MIT */
/*
 * Files of a trace and the heads in them.
 *
 * A name that ends in .log may be a pipe, a directory or a sparse file of eight
 * exabytes: only regular files are opened, and holes are skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"
#include "lib/trace/internal.h"

#define TIMENS_SECONDS_MAX 1000000000 /* 31 years */

int trace_input_open(struct trace_input *in, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		goto fail;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		goto fail;
	}
	in->fd = fd;
	in->path = path;
	in->bytes = st.st_size;
	return 0;
fail:
	close(fd);
	return -1;
}

void trace_input_close(struct trace_input *in)
{
	close(in->fd);
	in->fd = -1;
}

bool trace_input_read(const struct trace_input *in, void *buf, size_t len,
		      int64_t at)
{
	uint8_t *p = buf;

	if (at < 0 || at > in->bytes || len > (uint64_t)(in->bytes - at))
		return false;
	while (len > 0) {
		ssize_t n = pread(in->fd, p, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

int64_t trace_input_data(const struct trace_input *in, int64_t at)
{
	off_t data;

	if (at >= in->bytes)
		return in->bytes;
	data = lseek(in->fd, at, SEEK_DATA);
	if (data >= at)
		return data < in->bytes ? data : in->bytes;
	return errno == ENXIO ? in->bytes : at;
}

/* The number of "key=value" strings that @len bytes at @s hold. */
static int count_texts(const char *s, size_t len)
{
	const char *end = s + len, *nul;
	int n = 0;

	for (; s < end; s = nul + 1) {
		nul = memchr(s, '\0', (size_t)(end - s));
		if (!nul)
			break;
		n += memchr(s, '=', (size_t)(nul - s)) != NULL;
	}
	return n;
}

/* Read the text after the head, at @at; skip strings without "=". */
static int read_text(struct trace_image *im, const struct trace_input *in,
		     int64_t at, uint32_t len, struct reel_error *err)
{
	char *s, *end, *value, *nul;

	if (len > TRACE_TEXT_MAX)
		len = TRACE_TEXT_MAX;
	im->text_room = len;
	im->text_bytes = reel_alloc((size_t)len + 1, 1, err);
	if (!im->text_bytes)
		return -1;
	if (!trace_input_read(in, im->text_bytes, len, at))
		return 0;
	im->text = reel_alloc((size_t)count_texts(im->text_bytes, len) + 1,
			      sizeof(*im->text), err);
	if (!im->text)
		return -1;
	end = im->text_bytes + len;
	for (s = im->text_bytes; s < end; s = nul + 1) {
		nul = memchr(s, '\0', (size_t)(end - s));
		if (!nul)
			break;
		value = memchr(s, '=', (size_t)(nul - s));
		if (!value)
			continue;
		*value = '\0';
		im->text[im->pub.texts].key = s;
		im->text[im->pub.texts++].value = value + 1;
	}
	im->pub.text = im->text;
	return 0;
}

/* Copy the text of the previous image if @im refers to it. */
static int copy_text(struct trace_image *im, const struct trace_image *before,
		     struct reel_error *err)
{
	const struct reel_head *h = &before->pub.head;
	ptrdiff_t move;
	size_t bytes;
	int i;

	if (before->pub.log_path != im->pub.log_path || !before->pub.texts ||
	    (h->uid != im->pub.head.text_uid &&
	     h->text_uid != im->pub.head.text_uid))
		return 0;
	bytes = (size_t)before->text_room + 1;
	im->text_bytes = reel_alloc(bytes, 1, err);
	im->text = reel_alloc((size_t)before->pub.texts + 1, sizeof(*im->text),
			      err);
	if (!im->text_bytes || !im->text)
		return -1;
	memcpy(im->text_bytes, before->text_bytes, bytes);
	move = im->text_bytes - before->text_bytes;
	for (i = 0; i < before->pub.texts; i++)
		im->text[i] = (struct reel_text){before->text[i].key + move,
						 before->text[i].value + move};
	im->text_room = before->text_room;
	im->pub.texts = before->pub.texts;
	im->pub.text = im->text;
	return 0;
}

/*
 * Convert the CLOCK_MONOTONIC times of a head to the host's clock, for a
 * process in a time namespace.
 */
static void leave_timens(struct trace_image *im)
{
	struct reel_head *h = &im->pub.head;
	const char *text = reel_trace_text(&im->pub, "timens");
	long long s;
	long ns;

	if (!text || sscanf(text, "%lld %ld", &s, &ns) != 2 ||
	    s > TIMENS_SECONDS_MAX || s < -TIMENS_SECONDS_MAX || ns < 0 ||
	    ns > 999999999)
		return;
	im->timens_ns = s * 1000000000 + ns;
	h->start_mono_ns -= (uint64_t)im->timens_ns;
	if (h->end_mono_ns)
		h->end_mono_ns -= (uint64_t)im->timens_ns;
	for (int i = 0; i < 2; i++)
		if (h->peer_mono_ns[i]) {
			h->peer_mono_ns[i] -= (uint64_t)im->timens_ns;
			h->peer_ns[i] = (int64_t)((uint64_t)h->peer_ns[i] +
						  (uint64_t)im->timens_ns);
		}
}

/* Add an image for @head, with the text that follows the head. */
static int add_image(struct reel_trace *tr, const struct trace_input *in,
		     int64_t at, bool window, const struct reel_head *head,
		     struct reel_error *err)
{
	struct trace_image *im;

	if (reel_array_reach(&tr->image, &tr->image_room, tr->images,
			     sizeof(*im), err))
		return -1;
	im = &tr->image[tr->images++];
	im->pub.head = *head;
	im->pub.head.boot_id[sizeof(head->boot_id) - 1] = '\0';
	im->pub.log_path = in->path;
	im->pub.parent = -1;
	im->pub.window = window;
	if (head->text_uid && tr->images > 1
		    ? copy_text(im, im - 1, err)
		    : read_text(im, in, at + (int64_t)sizeof(*head),
				head->head_bytes - (uint32_t)sizeof(*head),
				err))
		return -1;
	leave_timens(im);
	return 0;
}

/* Note a head of another major version. It is no error if another head is
 * readable. */
static int note_other_major(struct reel_trace *tr, const char *path,
			    const struct reel_head *head,
			    struct reel_error *err)
{
	struct reel_buf b = REEL_BUF_INIT;

	if (tr->other_major)
		return 0;
	if (reel_buf_printf(&b, err, "'%s' is of trace format %u.%u", path,
			    head->major, head->minor) < 0)
		return -1;
	tr->other_major = b.data;
	return 0;
}

static bool major_known(unsigned int major)
{
	return major >= REEL_TRACE_MAJOR_OLDEST && major <= REEL_TRACE_MAJOR;
}

bool trace_head_good(const struct reel_head *head, int64_t room)
{
	return head->magic == REEL_HEAD_MAGIC && major_known(head->major) &&
	       head->head_bytes >= sizeof(*head) && head->head_bytes % 8 == 0 &&
	       head->head_bytes <= room &&
	       (head->clock == REEL_CLOCK_TSC ||
		head->clock == REEL_CLOCK_MONOTONIC);
}

enum trace_verdict trace_head_read(struct reel_trace *tr,
				   const struct trace_input *in, int64_t at,
				   bool window, struct reel_head *head,
				   struct reel_error *err)
{
	int64_t room = in->bytes - at;

	if (window && room > REEL_WINDOW_HEAD_BYTES)
		room = REEL_WINDOW_HEAD_BYTES;
	if (!trace_input_read(in, head, sizeof(*head), at))
		return TRACE_BAD;
	if (head->magic == REEL_HEAD_MAGIC && !major_known(head->major) &&
	    note_other_major(tr, in->path, head, err) < 0)
		return TRACE_FAILED;
	if (!trace_head_good(head, room))
		return TRACE_BAD;
	if (add_image(tr, in, at, window, head, err) < 0)
		return TRACE_FAILED;
	return TRACE_GOOD;
}
