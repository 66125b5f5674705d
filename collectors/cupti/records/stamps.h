/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's time stamps as times of the trace: which clock a stamp is of, and what is wrong with it.
 * Drain thread only.
 */
#ifndef GT_COLLECTORS_CUPTI_RECORDS_STAMPS_H
#define GT_COLLECTORS_CUPTI_RECORDS_STAMPS_H

#include "collectors/cupti/records/translate.h"

/* A stamp as trace time; 0 without a stamp or a clock that is known. */
uint64_t gt_stamp_or_none(struct gt_translate *translate, uint64_t stamp);

/*
 * Sets start and end. The duration is kept as it is: the clocks may drift between the two, the
 * GPU's counter does not. An end before its start becomes a duration of 0, counted; so does an end
 * in the future. False: stamps of no known clock.
 */
bool gt_stamps_set(struct gt_translate *translate, struct gt_event *event, uint64_t start,
		   uint64_t end);

/* Why GPU work has no times. @ran: it was in progress; @clock_changed: as in the translator. */
const char *gt_stamps_why_none(bool ran, bool clock_changed);

#endif
