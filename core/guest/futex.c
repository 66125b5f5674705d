/* SPDX-License-Identifier: Apache-2.0
 *
 * The futex system call; see the header. Any thread.
 */
#include "core/guest/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void gt_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
				   .tv_nsec = (long)(timeout_ns % 1000000000u)};
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &timeout, NULL, 0);
	errno = saved;
}

/* struct futex_waitv, which older headers lack. */
struct waiter {
	uint64_t value, address;
	uint32_t flags, reserved;
};

#define WAITV_CALL    449 /* on every machine */
#define WAITV_32_BITS 2u
#define SECOND_NS     1000000000u

/* The timeout is a moment. */
static struct timespec moment_in(uint64_t ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_sec += (time_t)(ns / SECOND_NS);
	now.tv_nsec += (long)(ns % SECOND_NS);
	if (now.tv_nsec >= (long)SECOND_NS) {
		now.tv_sec++;
		now.tv_nsec -= (long)SECOND_NS;
	}
	return now;
}

enum gt_futex_woken gt_futex_wait_both(_Atomic uint32_t *word, uint32_t value, const void *shared,
				       uint32_t shared_value, uint64_t timeout_ns)
{
	struct waiter waiters[] = {
		{.value = value,
		 .address = (uint64_t)(uintptr_t)word,
		 .flags = WAITV_32_BITS | FUTEX_PRIVATE_FLAG},
		{.value = shared_value,
		 .address = (uint64_t)(uintptr_t)shared,
		 .flags = WAITV_32_BITS},
	};
	struct timespec until = moment_in(timeout_ns);
	int saved = errno;
	long woken = syscall(WAITV_CALL, waiters, 2, 0, &until, CLOCK_MONOTONIC);
	enum gt_futex_woken answer = woken == 1 ? GT_FUTEX_SHARED : GT_FUTEX_ELSE;

	if (woken < 0 && errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR)
		answer = GT_FUTEX_UNKNOWN;
	errno = saved;
	return answer;
}

void gt_futex_wake(_Atomic uint32_t *word)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}
