/* SPDX-License-Identifier: MIT */
/* The frame of a call site that interests a reader: a line of the program. */
#ifndef ANALYZER_LOAD_CALLSITE_SYMBOL_H
#define ANALYZER_LOAD_CALLSITE_SYMBOL_H

#include <stddef.h>

/*
 * The innermost frame of @frames that is of the program itself, not of a
 * library, into @out. @frames: lines of a site mark, "py FILE:LINE FUNCTION" or
 * "c MODULE+0xOFFSET FUNCTION", innermost first. For C, addr2line gives the
 * source line, if it is installed and the module file still exists.
 */
void reel_site_place(const char *frames, char *out, size_t room);

#endif
