/* SPDX-License-Identifier: MIT */
/*
 * The modules of Darshan logs and the names of their counters, in the order of
 * the records. Source: darshan-*-log-format.h of Darshan 3.5.
 */
#ifndef ANALYZER_IMPORT_DARSHAN_NAMES_H
#define ANALYZER_IMPORT_DARSHAN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Module numbers of log format 3.41. Older logs lack some: darshan_log.c. */
enum darshan_module {
	DARSHAN_POSIX = 1,
	DARSHAN_MPIIO,
	DARSHAN_H5F,
	DARSHAN_H5D,
	DARSHAN_PNETCDF_FILE,
	DARSHAN_PNETCDF_VAR,
	DARSHAN_BGQ,
	DARSHAN_LUSTRE,
	DARSHAN_STDIO,
	DARSHAN_DXT_POSIX,
	DARSHAN_DXT_MPIIO,
	DARSHAN_MDHIM,
	DARSHAN_APXC,
	DARSHAN_APMPI,
	DARSHAN_HEATMAP,
	DARSHAN_DFS,
	DARSHAN_DAOS,
	DARSHAN_MODULES
};

#define DARSHAN_MODULES_MOST 64 /* that a log has room for */
#define DARSHAN_COUNTERS_MOST 192
#define DARSHAN_VERSIONS 4

/*
 * A module whose records are {id, rank, [id of the file,] integers, doubles,
 * tail}. Names are words without the prefix. The words of @lacks say how an older
 * version differs: "NAME" is absent and reads as -1, "NAME=0" is absent and reads
 * as 0, "+N@NAME" has N integers in front of it that are skipped, "&NAME" is the
 * sum of two integers.
 */
struct darshan_layout {
	const char *prefix;
	const char *integers, *doubles;
	const char
		*lacks[DARSHAN_VERSIONS]; /* by version, from 1; NULL: none */
	unsigned int versions;		  /* the newest */
	unsigned int file_id_since;	  /* version; 0: never */
	unsigned int tail;		  /* bytes */
	bool object; /* the tail ends with two numbers that name the record */
};

/* The name that darshan-parser prints: "MPI-IO"; "?" for an unknown number. */
const char *darshan_module_name(unsigned int module);

/* NULL: the module has records of another form, or an unknown one. */
const struct darshan_layout *darshan_layout(unsigned int module);

#endif
