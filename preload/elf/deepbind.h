/* SPDX-License-Identifier: MIT */
/* Wrappers for calls that the loader bound to libc instead of the shim. */
#ifndef PRELOAD_ELF_DEEPBIND_H
#define PRELOAD_ELF_DEEPBIND_H

/*
 * The wrapper of the libc function at @function; NULL: it has none. For import
 * slots of objects that were opened with RTLD_DEEPBIND.
 */
void *shim_wrapper_of(void *function);

#endif
