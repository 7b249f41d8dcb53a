/* SPDX-License-Identifier: MIT */
/*
 * Files of checkpoints with the calls of their usual writers. The bytes of tensors
 * are those of one piece of memory, again and again: a tensor begins with the first
 * of them.
 */
#ifndef REPLAY_PIPELINE_CHECKPOINT_LAYOUT_H
#define REPLAY_PIPELINE_CHECKPOINT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct io;
struct reel_error;

#define CHECKPOINT_PIECE (16u << 20)
#define CHECKPOINT_PATH 160

struct checkpoint_source {
	struct io *io;
	uint8_t *piece; /* CHECKPOINT_PIECE bytes */
	uint32_t piece_crc;
	uint64_t saves; /* the number of the checkpoint, from 1 on */
	/* Checksums of the last tensor: most have the size of another one. */
	int64_t crc_bytes, crc32c_bytes;
	uint32_t crc, crc32c;
};

/* Each of these writes or reads the @n tensors of @bytes[] each. They return 0, or -1
 * with @err; a writer also 1: a signal came, the file is a part. */

/* The parts of a zip file that are no tensors. */
struct torch_form {
	const char *archive; /* the name in it; NULL or "": that of the file */
	/* At least so many; they are padded. */
	int64_t pickle_bytes, directory_bytes;
	int release; /* enum workload_torch */
	int stream;  /* enum workload_stream */
};

/* torch.save() to @path, and torch.load(). */
int torch_write(struct checkpoint_source *s, const char *path,
		const struct torch_form *form, const int64_t *bytes, int64_t n,
		bool fsync, struct reel_error *err);
int torch_read(struct checkpoint_source *s, const char *path,
	       const struct torch_form *form, const int64_t *bytes, int64_t n,
	       struct reel_error *err);
/* Is a part of a form seen, or one of several that make the same writes? */
struct torch_seen {
	bool release, stream;
};

/* The tensors and the rest of @form with which torch_write() makes the @n writes of
 * @write[] bytes each: a tensor for each large write. With @seen->release the release
 * of @form is known. Gives *@tensor. Their number; 0 where torch.save() cannot have
 * made these writes; -1 with @err. */
int64_t torch_tensors_of(struct torch_form *form, const int64_t *write,
			 uint32_t n, int64_t **tensor, struct torch_seen *seen,
			 struct reel_error *err);

/* tf.train.Checkpoint: @path + ".index", and + ".data-00000-of-00001". */
int tensorflow_write(struct checkpoint_source *s, const char *path,
		     const int64_t *bytes, int64_t n, bool fsync,
		     struct reel_error *err);
int tensorflow_read(struct checkpoint_source *s, const char *path,
		    const int64_t *bytes, int64_t n, struct reel_error *err);
/* The state @path of a CheckpointManager, which keeps @prefix with the numbers @first
 * to @last. */
int tensorflow_write_state(struct checkpoint_source *s, const char *path,
			   const char *prefix, uint64_t first, uint64_t last,
			   struct reel_error *err);

#endif
