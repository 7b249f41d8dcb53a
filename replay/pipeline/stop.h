/* SPDX-License-Identifier: MIT */
/* Ctrl-C and SIGTERM end a run in order: what was measured is printed. */
#ifndef REPLAY_PIPELINE_STOP_H
#define REPLAY_PIPELINE_STOP_H

/* Catch both from now on. The second one ends the program at once. */
void stop_begin(void);
/* The first signal, 0: none so far. */
int stop_signal(void);

#endif
