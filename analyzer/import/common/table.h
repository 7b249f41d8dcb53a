/* SPDX-License-Identifier: MIT */
/* Every importer, each defined in the file of its name. */
#ifndef ANALYZER_IMPORT_COMMON_TABLE_H
#define ANALYZER_IMPORT_COMMON_TABLE_H

#include "analyzer/import/common/importer.h"

extern const struct reel_importer reel_importer_chrome;
extern const struct reel_importer reel_importer_csv;
extern const struct reel_importer reel_importer_darshan;
extern const struct reel_importer reel_importer_darshan_text;
extern const struct reel_importer reel_importer_dftracer;
extern const struct reel_importer reel_importer_dlio;
extern const struct reel_importer reel_importer_fio;
extern const struct reel_importer reel_importer_kineto;
extern const struct reel_importer reel_importer_kv_trace;
extern const struct reel_importer reel_importer_nsys;
extern const struct reel_importer reel_importer_recorder;
extern const struct reel_importer reel_importer_strace;
extern const struct reel_importer reel_importer_timelogger;
extern const struct reel_importer reel_importer_xplane;

#endif
