/* SPDX-License-Identifier: MIT */
/*
 * The Python frames of the calling thread, read without the GIL: a thread
 * inside a system call does not change its own frames. The layout is private to
 * each minor version of CPython: a version that is not in the table has no
 * Python frames. No code here allocates memory or counts references.
 */
#include "preload/core/shim.h"
#include "preload/stacks/callsite.h"

/* The interpreter's, if the process has one. */
extern void *PyGILState_GetThisThreadState(void)
	__attribute__((weak, visibility("default")));
extern int PyCode_Addr2Line(void *code, int at)
	__attribute__((weak, visibility("default")));
extern const unsigned long Py_Version
	__attribute__((weak, visibility("default")));
extern char PyCode_Type[] __attribute__((weak, visibility("default")));

/* Byte offsets of fields; -1: there is no such field. */
struct layout {
	unsigned long minor;
	int cframe;  /* in the thread state: its cframe, or frame */
	int current; /* in the cframe: the frame */
	int code, previous, instruction; /* in a frame */
	int text; /* in a compact ASCII string: its bytes */
};

static const struct layout layouts[] = {
	{0x030b, 56, 8, 32, 48, 56, 48},
	{0x030c, 56, 0, 0, 8, 56, 40},
	{0x030d, 72, -1, 0, 8, 56, 40},
};
/* The same in all versions. */
#define OBJECT_TYPE 8
#define TYPE_BASIC_SIZE 32
#define CODE_FILENAME 112
#define CODE_NAME 120
#define STRING_LENGTH 16
#define STRING_STATE 32
#define STRING_COMPACT_ASCII (1u << 5 | 1u << 6)

static const struct layout *find_layout(void)
{
	if (!&Py_Version || !PyGILState_GetThisThreadState ||
	    !PyCode_Addr2Line || !&PyCode_Type)
		return NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].minor == Py_Version >> 16)
			return &layouts[i];
	return NULL;
}

static uintptr_t word_at(uintptr_t at, int offset)
{
	uintptr_t w;

	memcpy(&w, (const void *)(at + (uintptr_t)offset), sizeof(w));
	return w;
}

int shim_python_frames(uintptr_t *key, int room)
{
	const struct layout *l = find_layout();
	uintptr_t frame = l ? (uintptr_t)PyGILState_GetThisThreadState() : 0;
	int n = 0;

	if (!frame)
		return 0;
	frame = word_at(frame, l->cframe);
	if (frame && l->current >= 0)
		frame = word_at(frame, l->current);
	for (int deep = 0; frame && n + 2 <= room && deep < 256; deep++) {
		uintptr_t code = word_at(frame, l->code);

		/* Entry frames from C have no code object. */
		if (code &&
		    word_at(code, OBJECT_TYPE) == (uintptr_t)PyCode_Type) {
			key[n++] = code;
			key[n++] = word_at(frame, l->instruction);
		}
		frame = word_at(frame, l->previous);
	}
	return n;
}

/* The text of @string; "?" if it is not ASCII. */
static const char *string_text(uintptr_t string, size_t *len)
{
	const struct layout *l = find_layout();
	uint32_t state = 0;

	if (string)
		memcpy(&state, (const void *)(string + STRING_STATE),
		       sizeof(state));
	if ((state & STRING_COMPACT_ASCII) != STRING_COMPACT_ASCII) {
		*len = 1;
		return "?";
	}
	*len = word_at(string, STRING_LENGTH);
	return (const char *)(string + (uintptr_t)l->text);
}

int shim_python_frame(const uintptr_t *pair, char *out, int room)
{
	uintptr_t base =
		pair[0] + word_at((uintptr_t)PyCode_Type, TYPE_BASIC_SIZE);
	int line = PyCode_Addr2Line((void *)pair[0], (int)(pair[1] - base));
	char digits[12];
	size_t len;
	int k = sizeof(digits), n;
	const char *s = string_text(word_at(pair[0], CODE_FILENAME), &len);

	if (line < 0)
		return 0; /* a trampoline */
	n = shim_site_put(out, room, 0, "py ", 3);
	n = shim_site_put(out, room, n, s, len);
	do
		digits[--k] = (char)('0' + line % 10);
	while ((line /= 10) > 0 && k > 2);
	digits[--k] = ':';
	n = shim_site_put(out, room, n, digits + k, sizeof(digits) - (size_t)k);
	s = string_text(word_at(pair[0], CODE_NAME), &len);
	n = shim_site_put(out, room, n, " ", 1);
	return shim_site_put(out, room, n, s, len);
}
