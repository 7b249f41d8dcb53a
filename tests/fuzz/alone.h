/* SPDX-License-Identifier: MIT */
/*
 * Run a libFuzzer target without libFuzzer, on the files in the arguments: for
 * inputs that were found earlier.
 */
#ifndef TESTS_FUZZ_ALONE_H
#define TESTS_FUZZ_ALONE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define INPUT_MAX (1 << 20) /* of a file; the rest is cut off */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef REEL_LIBFUZZER
int main(int argc, char **argv)
{
	static uint8_t data[INPUT_MAX];

	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), f));
		fclose(f);
	}
	return 0;
}
#endif

#endif
