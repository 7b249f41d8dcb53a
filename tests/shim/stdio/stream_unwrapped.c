/* SPDX-License-Identifier: MIT */
/*
 * Writes LINES lines to standard output by unwrapped calls only, as bytes or as
 * wide characters, then ends or starts a child as argv[2] says. It does not
 * flush, and no call returns the number of bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#define LINES 20000

static void line(int wide, const char *text)
{
	for (; *text; text++)
		if (wide)
			putwchar((wchar_t)*text);
		else
			putchar(*text);
}

int main(int argc, char **argv)
{
	int wide = argc > 2 && !strcmp(argv[1], "wide");
	const char *how = argc > 2 ? argv[2] : "";

	for (int i = 0; i < LINES; i++)
		line(wide, "hello\n");
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "quick_exit"))
		quick_exit(0);
	if (!strcmp(how, "fflush"))
		return fflush(stdout);
	if (!strcmp(how, "fclose"))
		return fclose(stdout);
	if (!strcmp(how, "system"))
		return system("echo child");
	if (!strcmp(how, "popen"))
		return pclose(popen("echo child", "w"));
	if (!strcmp(how, "fork")) {
		if (!fork()) {
			line(wide, "child\n");
			exit(0);
		}
		wait(NULL);
	}
	if (!strcmp(how, "vfork") && !vfork())
		_exit(0);
	return 0;
}
