/* SPDX-License-Identifier: MIT */
/*
 * dlfcn.h with the symbol versions that every glibc has. With the newer
 * versions of the build machine, a program on an older system would not start.
 */
#ifndef PRELOAD_CORE_DLFCN_COMPAT_H
#define PRELOAD_CORE_DLFCN_COMPAT_H

#include <dlfcn.h>

#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver dladdr1, dladdr1@GLIBC_2.3.3");
#elif defined(__GLIBC__) && defined(__aarch64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
__asm__(".symver dlopen, dlopen@GLIBC_2.17");
__asm__(".symver dladdr, dladdr@GLIBC_2.17");
__asm__(".symver dladdr1, dladdr1@GLIBC_2.17");
#endif

#endif
