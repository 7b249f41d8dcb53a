/* SPDX-License-Identifier: MIT */
/* Signals that end a replay. */
#include "replay/engine/interrupt.h"

#include "lib/error.h"

volatile sig_atomic_t interrupt_signal;

static void note_signal(int sig)
{
	interrupt_signal = sig;
}

void interrupt_catch(void)
{
	struct sigaction act = {.sa_handler = note_signal};

	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}

int interrupt_check(struct reel_error *err)
{
	return interrupt_signal ? reel_fail(err, REEL_E_IO, "interrupted") : 0;
}
