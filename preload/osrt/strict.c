/* SPDX-License-Identifier: Apache-2.0
 *
 * prctl, when it takes the processor's counter, and with it the clock, from the thread that calls:
 * in the strict mode of seccomp, too, a reading ends the process by SIGSEGV, and every call but
 * read, write and the thread's end by SIGKILL.
 */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "preload/osrt/interpose.h"

__thread bool os_is_mute;

static bool takes_clock(int option, unsigned long how)
{
	return (option == PR_SET_SECCOMP && how == SECCOMP_MODE_STRICT) ||
	       (option == PR_SET_TSC && how == PR_TSC_SIGSEGV);
}

EXPORTED int os_prctl(int option, ...) __asm__("prctl");
int os_prctl(int option, ...)
{
	int (*real)(int, ...) = (int (*)(int, ...))os_real(OS_REAL_prctl);
	bool was_mute = os_is_mute;
	unsigned long more[4];
	va_list rest;
	int result;

	if (__builtin_expect(!real, 0))
		return os_absent();
	va_start(rest, option);
	for (size_t i = 0; i < 4; i++)
		more[i] = va_arg(rest, unsigned long);
	va_end(rest);
	if (takes_clock(option, more[0]))
		os_is_mute = true; /* before: a signal may come behind it */
	result = real(option, more[0], more[1], more[2], more[3]);
	if (result)
		os_is_mute = was_mute;
	return result;
}
