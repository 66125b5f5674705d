/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/osrt/interpose.h"

#include <dlfcn.h>

EXPORTED _Atomic(const struct gt_os_sink *) gputrace_os_sink;
_Atomic uint32_t os_turns[OS_TURNS];

static const char *const names[] = {
#define OS_FUNCTION(name) #name,
#include "preload/osrt/functions.def"
};

static void *_Atomic found[OS_REAL_COUNT_];

/* The newest version, as a program has it that is linked today. */
static void *look_for(enum os_real function)
{
	int saved = errno;
	void *address = dlsym(RTLD_NEXT, names[function]);

	if (!address)
		dlerror(); /* the program did not ask */
	atomic_store_explicit(&found[function], address, memory_order_relaxed);
	errno = saved;
	return address;
}

void *os_real(enum os_real function)
{
	void *address = atomic_load_explicit(&found[function], memory_order_relaxed);

	return __builtin_expect(address != NULL, 1) ? address : look_for(function);
}

__attribute__((constructor)) static void begin(void)
{
	for (enum os_real function = 0; function < OS_REAL_COUNT_; function++)
		os_real(function);
}
