/* SPDX-License-Identifier: Apache-2.0
 *
 * Processor specifics of x86-64. Included by core/guest/arch.h only.
 */
#ifndef GT_CORE_GUEST_ARCH_X86_64_H
#define GT_CORE_GUEST_ARCH_X86_64_H

#include <stdint.h>

/* Ticks of the time stamp counter. */
static inline uint64_t gt_arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

#endif
