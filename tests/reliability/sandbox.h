/* SPDX-License-Identifier: Apache-2.0
 *
 * Seccomp filters for the tests, made of the tracer's table of system calls
 * (core/guest/syscalls.def).
 */
#ifndef GT_TESTS_RELIABILITY_SANDBOX_H
#define GT_TESTS_RELIABILITY_SANDBOX_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SANDBOX_CALLS 512

enum sandbox_when { COMMON, ORDINARY, RARE };

static const struct {
	int number;
	enum sandbox_when when;
} sandbox_calls[] = {
#define GT_SYSCALL(name, when, purpose) {SYS_##name, when},
#include "core/guest/syscalls.def"
#undef GT_SYSCALL
};

#define SANDBOX_ROWS (sizeof(sandbox_calls) / sizeof(sandbox_calls[0]))

/* A filter that has @action for all calls but the common ones and @more. @flags: of seccomp(2). */
static inline int sandbox_permit(uint32_t action, const int *more, size_t count, unsigned int flags)
{
	struct sock_filter code[2 * SANDBOX_CALLS + 2];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < SANDBOX_ROWS + count; i++) {
		if (i < SANDBOX_ROWS && sandbox_calls[i].when != COMMON)
			continue;
		code[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K,
			(uint32_t)(i < SANDBOX_ROWS ? sandbox_calls[i].number
						    : more[i - SANDBOX_ROWS]),
			0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	program.len = n;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* A filter that has @action for the calls of the table from @when on, but for @except. */
static inline int sandbox_refuse(uint32_t action, enum sandbox_when when, const int *except,
				 size_t count, unsigned int flags)
{
	struct sock_filter code[2 * SANDBOX_CALLS + 2];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < SANDBOX_ROWS; i++) {
		size_t j = 0;

		while (j < count && except[j] != sandbox_calls[i].number)
			j++;
		if (sandbox_calls[i].when < when || j < count)
			continue;
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (uint32_t)sandbox_calls[i].number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

#endif
