/* SPDX-License-Identifier: Apache-2.0
 *
 * Lets libgputrace.so load everywhere: a preload with one missing symbol version ends the program
 * before main. Force-included into everything that enters the traced process (but not under
 * sanitizers, whose interceptors must see the plain names).
 *
 * glibc 2.32 to 2.34 moved these functions from libpthread and libdl into libc under new versions.
 * Calls of them become calls of gt_compat_<name>, which tries both (glibc_compat.def, .c).
 * Functions that are newer than 2.17 but never moved are system calls in core/guest/sys.c. A symbol
 * reported by the test "symbol versions" needs a line here and a row in the table.
 */
#ifndef GT_CORE_ELF_GLIBC_COMPAT_H
#define GT_CORE_ELF_GLIBC_COMPAT_H

#define dladdr                    gt_compat_dladdr
#define dlclose                   gt_compat_dlclose
#define dlerror                   gt_compat_dlerror
#define dlinfo                    gt_compat_dlinfo
#define dlopen                    gt_compat_dlopen
#define dlsym                     gt_compat_dlsym
#define pthread_attr_getstack     gt_compat_pthread_attr_getstack
#define pthread_attr_setstacksize gt_compat_pthread_attr_setstacksize
#define pthread_create            gt_compat_pthread_create
#define pthread_detach            gt_compat_pthread_detach
#define pthread_getattr_np        gt_compat_pthread_getattr_np
#define pthread_join              gt_compat_pthread_join
#define pthread_key_create        gt_compat_pthread_key_create
#define pthread_key_delete        gt_compat_pthread_key_delete
#define pthread_setname_np        gt_compat_pthread_setname_np
#define pthread_setspecific       gt_compat_pthread_setspecific
#define pthread_sigmask           gt_compat_pthread_sigmask

#endif
