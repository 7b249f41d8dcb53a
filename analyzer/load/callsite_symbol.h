/* SPDX-License-Identifier: MIT */
/* Which frame of a call site a reader looks for. */
#ifndef ANALYZER_LOAD_CALLSITE_SYMBOL_H
#define ANALYZER_LOAD_CALLSITE_SYMBOL_H

#include <stddef.h>

/*
 * The place of @frames (lines of a site mark: "py FILE:LINE FUNCTION" or
 * "c MODULE+0xOFFSET FUNCTION", innermost first) into @out: the innermost one
 * of the program itself, not of a library. Where it is C, addr2line is asked
 * for its line, when there is one and the module still lies where it did.
 */
void reel_site_place(const char *frames, char *out, size_t room);

#endif
