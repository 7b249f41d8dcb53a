/* SPDX-License-Identifier: MIT */
/* Ctrl-C and SIGTERM end a run in order. */
#include "replay/pipeline/stop.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t caught;

static void catch (int sig)
{
	caught = sig;
}

void stop_begin(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = catch;
	action.sa_flags = SA_RESETHAND;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

int stop_signal(void)
{
	return (int)caught;
}
