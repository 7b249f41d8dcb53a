/* SPDX-License-Identifier: MIT */
/* Numbers for people: three significant digits and a unit. */
#ifndef LIB_NUM_H
#define LIB_NUM_H

#include <stdint.h>

/*
 * Each function writes into @out and returns it. A value that is not finite
 * gives "-".
 */
#define REEL_NUM 32
char *reel_num_count(char out[static REEL_NUM], int64_t n);    /* 61,204 */
char *reel_num_size(char out[static REEL_NUM], double bytes);  /* 39.2 KiB */
char *reel_num_bytes(char out[static REEL_NUM], double bytes); /* 413 MB */
char *reel_num_time(char out[static REEL_NUM], double ns);     /* 57.8 ms */
char *reel_num_rate(char out[static REEL_NUM],
		    double bytes_per_s); /* 1.21 GB/s */
char *reel_num_factor(char out[static REEL_NUM],
		      double factor); /* 0.33, 1.8, 130 */
char *reel_num_percent(char out[static REEL_NUM], double share); /* 38 % */

#endif
