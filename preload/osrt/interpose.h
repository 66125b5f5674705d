/* SPDX-License-Identifier: Apache-2.0
 *
 * What the interposed functions share. They may be called in signal handlers, in vfork's children,
 * before any constructor and by a thread that is cancelled inside: below the threshold they do
 * nothing but read the clock twice, and what they keep is on their stack.
 */
#ifndef GT_PRELOAD_OSRT_INTERPOSE_H
#define GT_PRELOAD_OSRT_INTERPOSE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/guest/clock.h"
#include "core/schema/os_call.h"
#include "preload/osrt/turns.h"

#define EXPORTED __attribute__((visibility("default")))

/* Who listens. */
extern _Atomic(const struct gt_os_sink *) gputrace_os_sink;

/* Slots for the C library's own functions. */
enum os_real {
#define OS_FUNCTION(name) OS_REAL_##name,
#include "preload/osrt/functions.def"
	OS_REAL_COUNT_
};

/* The C library's own function; NULL: it has none. All are looked for by our constructor; before
 * it, in those of other libraries, each at its first call. errno is kept. */
void *os_real(enum os_real function);

/* The thread may no longer read the clock (strict.c). */
extern __thread bool os_is_mute __attribute__((visibility("hidden")));

/* NULL: nobody listens. */
static inline const struct gt_os_sink *os_sink(void)
{
	if (__builtin_expect(os_is_mute, 0))
		return NULL;
	return atomic_load_explicit(&gputrace_os_sink, memory_order_acquire);
}

/* The file of the call is what @fd is from now on. */
static inline void os_about(struct gt_os_call *call, int fd)
{
	call->descriptor = fd;
	call->turn = os_turn_of(fd);
	call->turn_then = os_turn_now(call->turn);
}

/* Behind the call. errno is the call's. */
static inline void os_tell(const struct gt_os_sink *sink, struct gt_os_call *call)
{
	call->end = gt_clock_now_by(sink->clock);
	if (__builtin_expect(call->end - call->start < sink->threshold, 1))
		return;
	call->error = errno;
	sink->put(call);
}

/*
 * Defines a function: its type and name, its row in os_calls.def, parameters, arguments, the
 * descriptor that it is about, and what it returns where the C library has no such function. Under
 * a name of ours, as the headers declare the other one in their way.
 */
#define OS_CALL(type, name, id, params, args, about, absent)                                       \
	EXPORTED type os_##name params __asm__(#name);                                             \
	type os_##name params                                                                      \
	{                                                                                          \
		type(*real) params = (type(*) params)os_real(OS_REAL_##name);                      \
		const struct gt_os_sink *sink = os_sink();                                         \
		struct gt_os_call call;                                                            \
		type result;                                                                       \
                                                                                                   \
		if (__builtin_expect(!real, 0))                                                    \
			return absent;                                                             \
		if (!sink)                                                                         \
			return real args;                                                          \
		os_about(&call, (about));                                                          \
		call.start = gt_clock_now_by(sink->clock);                                         \
		result = real args;                                                                \
		call.function = GT_OS_##id;                                                        \
		call.path = NULL;                                                                  \
		call.result = (int64_t)result;                                                     \
		call.frame = __builtin_frame_address(0);                                           \
		os_tell(sink, &call);                                                              \
		return result;                                                                     \
	}

/* -1 and errno, as a kernel without the call would have it. */
static inline int os_absent(void)
{
	errno = ENOSYS;
	return -1;
}

#define NONE GT_OS_NO_DESCRIPTOR

#endif
