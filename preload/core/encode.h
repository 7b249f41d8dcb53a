/* SPDX-License-Identifier: MIT */
/*
 * Encoding of numbers: varints and times of the trace format, whole words,
 * and decimal text. No state, so everything here is safe in a signal handler.
 */
#ifndef PRELOAD_CORE_ENCODE_H
#define PRELOAD_CORE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "preload/core/compiler.h"

HOT uint64_t shim_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

HOT uint64_t shim_load(const char *p)
{
	uint64_t word;

	__builtin_memcpy(&word, p, sizeof(word));
	return word;
}

/*
 * The number of equal bytes at the start of two strings of @n bytes. Compares
 * words, the last one overlapping the one before: after a system call each exit
 * of a loop is a mispredicted branch.
 */
HOT size_t shim_same_bytes(const char *a, const char *b, size_t n)
{
	uint64_t odd;
	size_t i = 0;

	if (n >= 8) {
		for (; i < n - 8; i += 8) {
			odd = shim_load(a + i) ^ shim_load(b + i);
			if (odd)
				return i + (size_t)__builtin_ctzll(odd) / 8;
		}
		odd = shim_load(a + n - 8) ^ shim_load(b + n - 8);
		return odd ? n - 8 + (size_t)__builtin_ctzll(odd) / 8 : n;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

HOT void shim_store(uint8_t *p, uint64_t word)
{
	__builtin_memcpy(p, &word, sizeof(word));
}

HOT void shim_store32(uint8_t *p, uint32_t word)
{
	__builtin_memcpy(p, &word, sizeof(word));
}

HOT uint8_t *shim_put(uint8_t *p, uint64_t v)
{
	while (unlikely(v >= 0x80)) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/*
 * Two times below 2^14, in two bytes each: nearly all times are. A varint may
 * be longer than its number needs.
 */
#define SHIM_SHORT_TIME 0x4000
HOT uint64_t shim_times(uint64_t delta, uint64_t dur)
{
	uint32_t both = (uint32_t)delta | (uint32_t)dur << 16;

	return (both & 0x7f007f) | (both & 0x3f803f80) << 1 | 0x800080;
}

HOT uint8_t *shim_put_times(uint8_t *p, uint64_t delta, uint64_t dur)
{
	if (likely((delta | dur) < SHIM_SHORT_TIME)) {
		shim_store32(p, (uint32_t)shim_times(delta, dur));
		return p + 4;
	}
	return shim_put(shim_put(p, delta), dur);
}

#define SHIM_DECIMAL_BYTES 20 /* digits of UINT64_MAX */

/* Write @n in decimal to @out, without a NUL. Returns the number of digits. */
static inline size_t shim_put_decimal(char *out, uint64_t n)
{
	char digits[SHIM_DECIMAL_BYTES];
	size_t k = sizeof(digits), len;

	do
		digits[--k] = (char)('0' + n % 10);
	while (n /= 10);
	len = sizeof(digits) - k;
	for (size_t i = 0; i < len; i++)
		out[i] = digits[k + i];
	return len;
}

#endif
