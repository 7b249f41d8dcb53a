/* SPDX-License-Identifier: MIT */
/*
 * NumPy's npz: a zip archive of x.npy, the samples, and y.npy, their numbers:
 * stored, as savez() makes it, or deflated, as savez_compressed(). The local headers
 * have zip64 fields, as NumPy writes them.
 *
 * The reader is np.load(path) with both arrays taken from it (npz_read.c).
 *
 * Source: PKWARE's APPNOTE.TXT (zip); strace of NumPy 2.4 and CPython 3.11.
 */
#include <endian.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/dataset/npz.h"

#define DOS_DATE 0x21 /* 1980-01-01, as files are the same at any time */
#define ZIP_DEFLATED 8

static void local_header(struct file_out *out, const struct npz_member *m)
{
	file_out_u32(out, 0x04034b50);
	file_out_u16(out, 45); /* version: zip64 */
	file_out_u16(out, 0);
	file_out_u16(out, m->deflated ? ZIP_DEFLATED : 0);
	file_out_u16(out, 0);
	file_out_u16(out, DOS_DATE);
	file_out_u32(out, 0); /* the CRC comes when it is known */
	file_out_u32(out, UINT32_MAX);
	file_out_u32(out, UINT32_MAX);
	file_out_u16(out, NPZ_NAME);
	file_out_u16(out, NPZ_EXTRA);
	file_out_put(out, m->name, NPZ_NAME);
	file_out_u16(out, 1);
	file_out_u16(out, NPZ_EXTRA - 4);
	file_out_u64(out, m->bytes);
	file_out_u64(out, m->packed);
}

static void begin_member(struct file_out *out, struct npz_member *m,
			 const struct dataset *d)
{
	local_header(out, m);
	if (m->deflated)
		file_out_deflate(out, d->is->compression_level, m->bytes,
				 m->packed);
	out->crc = CRC32;
	out->crc32 = 0;
}

static void end_member(struct file_out *out, struct npz_member *m)
{
	uint8_t crc[4];

	out->crc = NO_CRC;
	if (m->deflated)
		file_out_deflate_end(out);
	m->crc = out->crc32;
	for (int i = 0; i < 4; i++)
		crc[i] = (uint8_t)(m->crc >> (8 * i));
	file_out_again(out, m->offset + 14, crc, sizeof(crc));
}

/* Zip64 where a value does not fit, as zipfile does. */
bool npz_needs_zip64(const struct npz_member *m)
{
	return m->bytes > INT32_MAX || m->packed > INT32_MAX ||
	       m->offset > INT32_MAX;
}

static void central_header(struct file_out *out, const struct npz_member *m)
{
	bool large = npz_needs_zip64(m);

	file_out_u32(out, 0x02014b50);
	file_out_u16(out, 0x032d);
	file_out_u16(out, 45);
	file_out_u16(out, 0);
	file_out_u16(out, m->deflated ? ZIP_DEFLATED : 0);
	file_out_u16(out, 0);
	file_out_u16(out, DOS_DATE);
	file_out_u32(out, m->crc);
	file_out_u32(out, large ? UINT32_MAX : (uint32_t)m->packed);
	file_out_u32(out, large ? UINT32_MAX : (uint32_t)m->bytes);
	file_out_u16(out, NPZ_NAME);
	file_out_u16(out, large ? 28 : 0);
	file_out_u16(out, 0);
	file_out_u16(out, 0);
	file_out_u16(out, 0);
	file_out_u32(out, 0600u << 16);
	file_out_u32(out, large ? UINT32_MAX : (uint32_t)m->offset);
	file_out_put(out, m->name, NPZ_NAME);
	if (!large)
		return;
	file_out_u16(out, 1);
	file_out_u16(out, 24);
	file_out_u64(out, m->bytes);
	file_out_u64(out, m->packed);
	file_out_u64(out, m->offset);
}

static void end_records(struct file_out *out, uint64_t start, int members)
{
	uint64_t end = out->offset, size = end - start;
	bool large = start > INT32_MAX;

	if (large) {
		file_out_u32(out, 0x06064b50);
		file_out_u64(out, NPZ_ZIP64_END - NPZ_LOCATOR - 12);
		file_out_u16(out, 45);
		file_out_u16(out, 45);
		file_out_u32(out, 0);
		file_out_u32(out, 0);
		file_out_u64(out, (uint64_t)members);
		file_out_u64(out, (uint64_t)members);
		file_out_u64(out, size);
		file_out_u64(out, start);
		file_out_u32(out, 0x07064b50);
		file_out_u32(out, 0);
		file_out_u64(out, end);
		file_out_u32(out, 1);
	}
	file_out_u32(out, 0x06054b50);
	file_out_u16(out, 0);
	file_out_u16(out, 0);
	file_out_u16(out, (uint16_t)members);
	file_out_u16(out, (uint16_t)members);
	file_out_u32(out, (uint32_t)size);
	file_out_u32(out, large ? UINT32_MAX : (uint32_t)start);
	file_out_u16(out, 0);
}

static void pack(struct npz_member *m, const struct dataset *d, uint64_t parts,
		 double left)
{
	m->deflated = d->is->compression;
	m->packed =
		m->deflated ? deflated_bytes(m->bytes, parts, left) : m->bytes;
}

static uint64_t unread_bytes(const struct dataset *d, uint64_t file)
{
	return (uint64_t)(d->is->unread * (double)dataset_file_bytes(d, file));
}

int npz_members(const struct dataset *d, uint64_t file,
		struct npz_member m[static NPZ_MEMBERS + 1])
{
	double left = 1 - d->is->compressibility;
	int n = 1;

	m[0] = (struct npz_member){.name = "x.npy",
				   .bytes = NUMPY_HEADER +
					    dataset_file_bytes(d, file)};
	pack(&m[0], d, d->samples_per_file, left);
	if (d->is->labels) {
		m[n] = (struct npz_member){.name = "y.npy",
					   .bytes = NUMPY_HEADER +
						    8 * d->samples_per_file};
		pack(&m[n++], d, 0, 1);
	}
	if (d->is->unread > 0) {
		m[n] = (struct npz_member){.name = "z.npy",
					   .bytes = NUMPY_HEADER +
						    unread_bytes(d, file)};
		pack(&m[n++], d, 1, left);
	}
	for (int i = 0; i < n; i++)
		m[i + 1].offset = m[i].offset + NPZ_MEMBER_HEADER + m[i].packed;
	return n;
}

static void put_numbers(struct file_out *out, const struct dataset *d,
			uint64_t first)
{
	char head[NUMPY_HEADER];

	numpy_header_of_numbers(d->samples_per_file, head);
	file_out_put(out, head, sizeof(head));
	for (uint64_t i = 0; i < d->samples_per_file; i++)
		file_out_u64(out, first + i);
}

static void put_samples(struct file_out *out, const struct dataset *d,
			uint64_t file)
{
	uint64_t first = file * d->samples_per_file;
	char head[NUMPY_HEADER];

	numpy_header_of_file(d, file, head);
	file_out_put(out, head, sizeof(head));
	for (uint64_t i = 0; i < d->samples_per_file; i++)
		file_out_payload(out, d, first + i, 0,
				 dataset_sample_bytes(d, first + i));
}

static void put_unread(struct file_out *out, const struct dataset *d,
		       uint64_t file)
{
	char head[NUMPY_HEADER];

	numpy_header_of_rows(1, unread_bytes(d, file), head);
	file_out_put(out, head, sizeof(head));
	file_out_payload(out, d, file * d->samples_per_file, 0,
			 unread_bytes(d, file));
}

static int npz_write(const struct dataset *d, uint64_t file, const char *path,
		     struct reel_error *err)
{
	struct npz_member m[NPZ_MEMBERS + 1];
	struct file_out out;
	uint64_t central;
	int n = npz_members(d, file, m);

	if (file_out_open(&out, path, err))
		return -1;
	for (int i = 0; i < n; i++) {
		begin_member(&out, &m[i], d);
		if (m[i].name[0] == 'x')
			put_samples(&out, d, file);
		else if (m[i].name[0] == 'y')
			put_numbers(&out, d, file * d->samples_per_file);
		else
			put_unread(&out, d, file);
		end_member(&out, &m[i]);
	}
	central = out.offset;
	for (int i = 0; i < n; i++)
		central_header(&out, &m[i]);
	end_records(&out, central, n);
	return file_out_close(&out, err);
}

static uint64_t npz_disk_bytes(const struct dataset *d, uint64_t file)
{
	struct npz_member m[NPZ_MEMBERS + 1];
	int n = npz_members(d, file, m);

	return m[n].offset +
	       (uint64_t)n * (NPZ_CENTRAL_HEADER + NPZ_NAME + 28) + NPZ_END +
	       NPZ_ZIP64_END;
}

static uint64_t npz_file_bytes(const struct dataset *d, uint64_t file)
{
	struct npz_member m[NPZ_MEMBERS + 1];
	int n = npz_members(d, file, m);
	uint64_t bytes = m[n].offset + NPZ_END;

	for (int i = 0; i < n; i++)
		bytes += NPZ_CENTRAL_HEADER + NPZ_NAME +
			 (npz_needs_zip64(&m[i]) ? 28 : 0);
	return bytes + (m[n].offset > INT32_MAX ? NPZ_ZIP64_END : 0);
}

static int npz_open(void **state, const struct dataset *d, uint64_t file,
		    struct io *io, struct reel_error *err)
{
	return numpy_open(state, d, file, io, npz_load, err);
}

static uint64_t npz_payload(uint64_t size, uint64_t samples)
{
	uint64_t own = 2 * (NUMPY_HEADER + NPZ_MEMBER_HEADER +
			    NPZ_CENTRAL_HEADER + NPZ_NAME) +
		       NPZ_END + 8 * samples;

	return size > own ? size - own : 0;
}

/* The first member, which is the samples as a rule, by its local header; its size is
 * where NumPy writes it, in the zip64 field. */
static int npz_storage(const char *path, struct format_storage *out)
{
	uint8_t head[NPZ_LOCAL_HEADER], extra[NPZ_EXTRA], end[NPZ_END];
	FILE *f = fopen(path, "re");
	uint64_t bytes;
	int found;

	memset(out, 0, sizeof(*out));
	if (!f)
		return 0;
	found = fread(head, sizeof(head), 1, f) == 1 &&
		!memcmp(head, "PK\3\4", 4);
	out->gzip = found && head[8] == ZIP_DEFLATED;
	if (found && !fseek(f, head[26] | head[27] << 8, SEEK_CUR) &&
	    (head[28] | head[29] << 8) >= NPZ_EXTRA &&
	    fread(extra, sizeof(extra), 1, f) == 1 && extra[0] == 1 &&
	    !extra[1]) {
		memcpy(&bytes, extra + 4, sizeof(bytes));
		bytes = le64toh(bytes);
		if (bytes > NUMPY_HEADER && bytes < INT64_MAX)
			out->payload_bytes = (int64_t)bytes - NUMPY_HEADER;
	}
	if (found && !fseek(f, -NPZ_END, SEEK_END) &&
	    fread(end, sizeof(end), 1, f) == 1 && !memcmp(end, "PK\5\6", 4))
		out->labels = end[10] > 1 || end[11];
	fclose(f);
	return found;
}

const struct format format_npz = {
	.name = "npz",
	.suffix = "npz",
	.write = npz_write,
	.disk_bytes = npz_disk_bytes,
	.file_bytes = npz_file_bytes,
	.payload = npz_payload,
	.storage = npz_storage,
	.open = npz_open,
	.read = numpy_read,
	.close = numpy_close,
};
