/* SPDX-License-Identifier: Apache-2.0
 *
 * Processor specifics of x86-64. Included by core/arch/arch.h only.
 */
#ifndef GT_CORE_ARCH_ARCH_X86_64_H
#define GT_CORE_ARCH_ARCH_X86_64_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

/* Ticks of the time stamp counter. */
static inline uint64_t gt_arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* Whether they come at one rate, whatever the processor does: CPUID 80000007H, EDX bit 8 (Intel
 * SDM 3, "Invariant TSC"; AMD APM 3, "TscInvariant"). */
static inline bool gt_arch_ticks_are_steady(void)
{
	unsigned int a, b, c, d = 0;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && d & 1u << 8;
}

/* What Linux calls the counter as a clock source. */
#define GT_ARCH_CLOCK_SOURCE "tsc"

#endif
