/* SPDX-License-Identifier: Apache-2.0
 *
 * A number for each descriptor that changes whenever it is opened or closed: by it the drain
 * thread knows later that a descriptor is still the file of a call. Odd: we saw the open, so we
 * are to see the close. Any thread, signal handlers.
 */
#ifndef GT_PRELOAD_OSRT_TURNS_H
#define GT_PRELOAD_OSRT_TURNS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define OS_TURNS 16384u /* descriptors of higher numbers have none */

/* 0: neither was seen. */
extern _Atomic uint32_t os_turns[OS_TURNS] __attribute__((visibility("hidden")));

/* NULL: it has none. */
static inline const _Atomic uint32_t *os_turn_of(int fd)
{
	return (unsigned int)fd < OS_TURNS ? &os_turns[fd] : NULL;
}

/* 0: it has none. */
static inline uint32_t os_turn_now(const _Atomic uint32_t *turn)
{
	return turn ? atomic_load_explicit(turn, memory_order_acquire) : 0;
}

/* The next number. */
static inline void os_turn(int fd, uint32_t is_open)
{
	uint32_t turn;

	if ((unsigned int)fd >= OS_TURNS)
		return;
	turn = atomic_load_explicit(&os_turns[fd], memory_order_relaxed);
	atomic_store_explicit(&os_turns[fd], ((turn + 2) & ~1u) | is_open, memory_order_release);
}

/* Behind the open: before it the number may be another file's. */
static inline void os_turn_opened(int fd)
{
	os_turn(fd, 1);
}

/* Before the close: behind it the number may be another file's. Also for what others are to close
 * or replace without us. */
static inline void os_turn_closes(int fd)
{
	os_turn(fd, 0);
}

#endif
