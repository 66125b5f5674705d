/* SPDX-License-Identifier: Apache-2.0
 *
 * Times as users write them. Any thread; no locale, no time zone of the system.
 */
#ifndef GT_CORE_WINDOW_WHEN_H
#define GT_CORE_WINDOW_WHEN_H

#include <stdint.h>

/* A span: a decimal number and ms, s, m, h or d; without a unit seconds. *ret_end is the first byte
 * after it. -EINVAL: none; -ERANGE: over 2^63 ns. */
int gt_when_span(const char *text, const char **ret_end, uint64_t *ret_ns);

/*
 * A moment, as ns of CLOCK_REALTIME:
 *
 *   @+SPAN                                   that long after @now
 *   @SECONDS[.FRACTION]                      since 1970
 *   @YYYY-MM-DD(T| )HH:MM[:SS[.FRACTION]]ZONE   ZONE: Z, +HH:MM, -HHMM
 *
 * -EINVAL: something else, or no zone; -ERANGE: no such day or time.
 */
int gt_when_moment(const char *text, uint64_t now, uint64_t *ret_ns);

#endif
