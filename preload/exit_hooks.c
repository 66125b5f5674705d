/* SPDX-License-Identifier: Apache-2.0
 *
 * _exit and _Exit, by which Python's workers and many daemons end: no exit handler runs then, and
 * what was recorded since the last flush would be lost. They close the trace first
 * (preload/process.h), then go on to the definition behind ours. Any thread, also in a signal
 * handler or a child of vfork.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/process.h"

#define EXPORTED __attribute__((visibility("default")))

typedef void (*exit_fn)(int status);

static _Atomic(exit_fn) next__exit, next__Exit;

/* Now: in a signal handler the loader cannot be asked. */
__attribute__((constructor)) static void find_next(void)
{
	atomic_store(&next__exit, (exit_fn)dlsym(RTLD_NEXT, "_exit"));
	atomic_store(&next__Exit, (exit_fn)dlsym(RTLD_NEXT, "_Exit"));
}

static _Noreturn void leave(exit_fn next, int status)
{
	gt_process_end_abruptly(status);
	if (next)
		next(status);
	for (;;) /* before our constructor ran */
		syscall(SYS_exit_group, status);
}

EXPORTED _Noreturn void gt_hook__exit(int status) __asm__("_exit");
_Noreturn void gt_hook__exit(int status)
{
	leave(atomic_load(&next__exit), status);
}

EXPORTED _Noreturn void gt_hook__Exit(int status) __asm__("_Exit");
_Noreturn void gt_hook__Exit(int status)
{
	leave(atomic_load(&next__Exit), status);
}
