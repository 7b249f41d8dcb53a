/* SPDX-License-Identifier: MIT */
/* Text where no stdio may be used: what snprintf() would have been for. */
#ifndef PRELOAD_CORE_DECIMAL_H
#define PRELOAD_CORE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

#define SHIM_DECIMAL_BYTES 20 /* UINT64_MAX's digits */

/* Writes @n in decimal to @out, without an end; returns how many digits. */
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
