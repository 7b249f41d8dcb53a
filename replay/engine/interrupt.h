/* SPDX-License-Identifier: MIT */
/* Signals that end a replay: noted, so that it can remove its files. */
#ifndef REPLAY_ENGINE_INTERRUPT_H
#define REPLAY_ENGINE_INTERRUPT_H

#include <signal.h>

struct reel_error;

/* The signal that asked this process to end the replay; 0: none. */
extern volatile sig_atomic_t interrupt_signal;

/* From now on SIGINT, SIGTERM and SIGHUP set it, and do nothing else. */
void interrupt_catch(void);

/* 0, or -1 with @err (REEL_E_IO, "interrupted") after such a signal. */
int interrupt_check(struct reel_error *err);

#endif
