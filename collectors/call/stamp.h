/* SPDX-License-Identifier: Apache-2.0
 *
 * Which calls are measured to know what tracing costs their thread: one of 33 to 96, by chance, so
 * that no rhythm of the program's meets ours. Application threads; each owns its struct.
 */
#ifndef GT_COLLECTORS_CALL_STAMP_H
#define GT_COLLECTORS_CALL_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#define GT_STAMP_LEAST   32u
#define GT_STAMP_SHIFT   26u /* leaves 6 bits */

/* What takes longer is done once, as learning frames, or the thread was preempted: it stands for
 * itself only. */
#define GT_STAMP_RARE_NS 100000u

/* Zeroed: the first one is measured, for itself. */
struct gt_stamp {
	uint32_t until;  /* calls until the next one */
	uint32_t period; /* what that will stand for */
	uint32_t weight; /* what the last one stands for */
	uint32_t random;
};

/* Whether this call is to be measured. Hot: a load, a store and a branch. */
static inline bool gt_stamp_is_due(struct gt_stamp *stamp)
{
	if (__builtin_expect(stamp->until-- != 0, 1))
		return false;
	stamp->weight = stamp->period ? stamp->period : 1;
	stamp->random = stamp->random * 1664525u + 1013904223u;
	stamp->until = GT_STAMP_LEAST + (stamp->random >> GT_STAMP_SHIFT);
	stamp->period = stamp->until + 1;
	return true;
}

/* The cost of all calls that the measured one stands for. */
static inline uint64_t gt_stamp_scale(const struct gt_stamp *stamp, uint64_t ns)
{
	return ns > GT_STAMP_RARE_NS ? ns : ns * stamp->weight;
}

#endif
