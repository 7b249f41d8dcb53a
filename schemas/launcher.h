/* SPDX-License-Identifier: MIT */
/*
 * How "ioreel record" tells the shim which launcher of ranks started it: in a
 * variable of the job's environment, as lines NAME=value of its own.
 */
#ifndef SCHEMAS_LAUNCHER_H
#define SCHEMAS_LAUNCHER_H

#define REEL_LAUNCHER "IOREEL_LAUNCHER"

/* Each launcher gives its processes one of them, of a value of its own. */
#define REEL_LAUNCHER_NAMES                                                    \
	"PMIX_NAMESPACE", "PMI_JOBID", "PMI_FD", "PMI_PORT", "SLURM_STEP_ID"

#endif
