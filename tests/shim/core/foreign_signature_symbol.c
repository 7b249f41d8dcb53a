/* SPDX-License-Identifier: MIT */
/*
 * A library whose own access() is another function, with three doubles and a
 * double as result. Its caller must get that function. Built twice: with
 * LIBRARY as the library, and as the program that is linked to it.
 */
#include <stdio.h>

#ifdef LIBRARY
double access(double a, double b, double c);
double foreign(void);

double access(double a, double b, double c)
{
	return a + 2 * b + 3 * c;
}

double foreign(void)
{
	return access(1, 2, 3) + access(-5, 0, 0.5);
}
#else
extern double foreign(void) __attribute__((weak));

int main(void)
{
	for (int i = 0; foreign && i < 3; i++)
		printf("%g\n", foreign());
	return 0;
}
#endif
