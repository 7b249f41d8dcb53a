/* SPDX-License-Identifier: MIT */
/* The name of a job, of the words of its command. */
#include "lib/job_name.h"

#include <stdbool.h>
#include <string.h>

const char *reel_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool is_script(const char *word)
{
	size_t n = strlen(word);

	return n > 3 && !strcmp(word + n - 3, ".py");
}

/* "python3.11" too. */
static bool is_interpreter(const char *program)
{
	static const char *const names[] = {
		"python", "sh",	     "bash",  "dash", "zsh",  "perl",
		"ruby",	  "Rscript", "julia", "lua",  "node",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(program, names[i], n) &&
		    !program[n + strspn(program + n, "0123456789.")])
			return true;
	}
	return false;
}

const char *reel_job_name(const char *const *word, size_t n)
{
	const char *program = reel_path_base(word[0]);
	size_t i;

	for (i = 0; i < n; i++)
		if (is_script(word[i]))
			return reel_path_base(word[i]);
	if (!is_interpreter(program))
		return program;
	for (i = 1; i < n && word[i][0] == '-'; i++)
		if (!strcmp(word[i], "-m") && i + 1 < n)
			return word[i + 1];
	/* An option may have a value, which is no script. */
	return n > 1 && word[1][0] != '-' ? reel_path_base(word[1]) : program;
}
