/* SPDX-License-Identifier: MIT */
/* Calls the hooks of the other rooms, in the order of their table. */
#include "preload/core/features.h"

static const struct shim_feature *table;
static size_t rows;

void shim_features_set(const struct shim_feature *feature, size_t n)
{
	table = feature;
	rows = n;
}

#define CALL_EACH(hook, ...)                                                   \
	do {                                                                   \
		for (size_t i = 0; i < rows; i++)                              \
			if (table[i].hook)                                     \
				table[i].hook(__VA_ARGS__);                    \
	} while (0)

void shim_features_start(char **env)
{
	CALL_EACH(start, env);
}

void shim_features_fork_prepare(void)
{
	CALL_EACH(fork_prepare);
}

void shim_features_fork_parent(void)
{
	CALL_EACH(fork_parent);
}

void shim_features_fork_child(void)
{
	CALL_EACH(fork_child);
}

void shim_features_finish(enum shim_ending how)
{
	CALL_EACH(finish, how);
}

bool shim_features_marker(const char *path, size_t len)
{
	for (size_t i = 0; i < rows; i++)
		if (table[i].marker && table[i].marker(path, len))
			return true;
	return false;
}

bool shim_features_site(uint32_t call, uint64_t end)
{
	for (size_t i = 0; i < rows; i++)
		if (table[i].site && !table[i].site(call, end))
			return false;
	return true;
}
