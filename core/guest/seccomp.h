/* SPDX-License-Identifier: Apache-2.0
 *
 * Which system calls the tracer may make under a seccomp filter. A filter may kill for a call that
 * the program would not have made, and cannot be asked: so the calls that a filter can be expected
 * to permit are a table (syscalls.def), and with a filter the others are left out.
 *
 * A filter that was there when the program started belongs to its surroundings, e.g. a container,
 * and permits what programs of all kinds need. One that came later was made for this program.
 *
 * Read from /proc/self/status, not by prctl, which is one of the calls that a filter may kill for.
 */
#ifndef GT_CORE_GUEST_SECCOMP_H
#define GT_CORE_GUEST_SECCOMP_H

#include <stdbool.h>
#include <stdint.h>

/* The filters of the process. */
enum gt_seccomp {
	GT_SECCOMP_NONE,
	GT_SECCOMP_INHERITED, /* there since the program's start */
	GT_SECCOMP_OWN,       /* installed by the program, or not known */
};

/* The rows of syscalls.def. */
enum gt_syscall {
#define GT_SYSCALL(name, when, purpose) GT_SYS_##name,
#include "core/guest/syscalls.def"
#undef GT_SYSCALL
	GT_SYS_COUNT_
};

/* Filters in the text of a status file; -1: it is not known. Linux before 5.9 has no number of
 * filters: then 1 stands for any. */
int gt_seccomp_parse(const char *status);

/* For the constructor, with /proc/self/status as it is now. @late: the library was loaded by the
 * running program, which may have installed a filter of its own: the parent's are inherited. */
void gt_seccomp_note_start(const char *status, bool late);

/* Reads the calling thread's filters. Never goes back to less. Any thread; ten common calls. */
enum gt_seccomp gt_seccomp_check(void);

/* Whether the thread with the status file @status has a filter that was not there at the start. */
bool gt_seccomp_shows_own(const char *status);

/* What was seen so far. Any thread, no system call. */
enum gt_seccomp gt_seccomp_seen(void);

/* Whether @call may be made now. A thread that watches checks first, by two common calls.
 * Between the answer and the call a filter may still come. Any thread. */
bool gt_seccomp_permits(enum gt_syscall call);

/* The same on a thread of the program, which may have a filter of its own: checks now. For calls on
 * such threads that are not common; once per thread, or per megabyte. */
bool gt_seccomp_permits_now(enum gt_syscall call);

/* The calling thread watches from now on: one of the tracer's, which gets a filter from other
 * threads (SECCOMP_FILTER_FLAG_TSYNC) at any time. */
void gt_seccomp_watch(void);

/* No longer: the thread makes none but common calls, and needs no open file. */
void gt_seccomp_unwatch(void);

/* True on a thread that watches. */
bool gt_seccomp_is_watching(void);

#endif
