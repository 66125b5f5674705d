/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of core/elf/glibc_compat.def under names of our own. Each refers weakly to its
 * oldest version, which the libc of glibc 2.34 and later still has. On an older glibc that
 * reference is bound only if the program itself loaded libpthread or libdl; otherwise it is NULL,
 * and the function is looked up in the libraries mapped by now (a process that uses CUDA has both).
 * Any thread; not for hot paths.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "core/elf/elf_lookup.h"

#if defined(__x86_64__)
#define OLDEST(version) version
#else
#define OLDEST(version) "GLIBC_2.17"
#endif

/* The test of the look-up refers to functions that no libc has. */
#ifdef GT_COMPAT_TEST_OLD_GLIBC
#define REFER(line) _Static_assert(1, line)
#else
#define REFER(line) __asm__(".symver " line)
#endif

static uintptr_t look_up(const char *library, const char *name, const char *version)
{
	uintptr_t found = gt_elf_find_loaded(library, name, version);

	return found ? found : gt_elf_find_loaded("libc.so.6", name, version);
}

/* # and ## only: as macro arguments the names would become gt_compat_<name>, see the header. */
#define GT_MOVED(type, name, parameters, arguments, version, library, failure)                     \
	REFER("old_" #name ", " #name "@" OLDEST(version));                                        \
	extern type old_##name parameters __attribute__((weak, visibility("default")));            \
	type gt_compat_##name parameters;                                                          \
	type gt_compat_##name parameters                                                           \
	{                                                                                          \
		type(*function) parameters = old_##name;                                           \
                                                                                                   \
		if (!function)                                                                     \
			function = (void *)look_up(library, #name, OLDEST(version));               \
		return function ? function arguments : failure;                                    \
	}
#include "core/elf/glibc_compat.def"
