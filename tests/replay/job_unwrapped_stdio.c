/* SPDX-License-Identifier: MIT */
/* Prints on the standard streams, by functions that the shim does not wrap. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "exit";

	fprintf(stderr, "err %d\n", 6);
	printf("out %d\n", 7);
	if (!strcmp(how, "mixed")) {
		fwrite("xx", 1, 2, stderr);
		fwrite("xx", 1, 2, stdout);
		fprintf(stderr, "more %d\n", 6);
		printf("more %d\n", 7);
	}
	if (!strcmp(how, "flush")) {
		fflush(stderr);
		fflush(stdout);
	}
	return 0;
}
