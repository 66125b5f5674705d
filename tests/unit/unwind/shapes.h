/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions with every shape of stack frame that compilers make, called in a random order. The same
 * source is compiled with different options; see meson.build.
 */
#ifndef GT_TESTS_UNIT_UNWIND_SHAPES_H
#define GT_TESTS_UNIT_UNWIND_SHAPES_H

#include <stdint.h>

struct shapes {
	uint64_t random; /* state, not 0 */
	void (*visit)(void *context);
	void *context;
	volatile uint64_t visits; /* calls of visit that remain */
};

typedef void shapes_fn(struct shapes *shapes, int depth);

/* Calls shapes of random kind inside each other, to @depth, until all visits are done. */
shapes_fn shapes_o0, shapes_o2, shapes_o3_wide, shapes_frame_pointer;

/* In a library of its own, bound lazily. */
void shapes_bounce(void (*function)(void *, int), void *argument, int depth);

#endif
