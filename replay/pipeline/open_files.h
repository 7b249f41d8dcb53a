/* SPDX-License-Identifier: MIT */
/*
 * The files of the data set that a reader has open. Readers of arrays keep several
 * open, as programs do that open each file once and read samples of it in any order.
 */
#ifndef REPLAY_PIPELINE_OPEN_FILES_H
#define REPLAY_PIPELINE_OPEN_FILES_H

#include <stdint.h>

struct dataset;
struct format;
struct format_sample;
struct io;
struct reel_error;

struct open_files;

/*
 * At most @most files at a time, through @io; all arguments are borrowed. Gives *@out
 * for open_files_free(). 0, or -1 with @err (REEL_E_MEMORY).
 */
int open_files_new(struct open_files **out, const struct format *format,
		   const struct dataset *d, struct io *io, uint32_t most,
		   struct reel_error *err);
/* Read @sample (counted over all files) from its file, which is opened where it is not
 * open; the file that was used least recently makes room. 0, or -1 with @err, which
 * names the file. */
int open_files_read(struct open_files *f, uint64_t sample,
		    struct format_sample *out, struct reel_error *err);
/* Close all, with the last reads of a stream. 0, or -1 with the first @err. */
int open_files_close(struct open_files *f, struct reel_error *err);
/* Close all and free the memory. NULL: no effect. */
void open_files_free(struct open_files *f);

#endif
