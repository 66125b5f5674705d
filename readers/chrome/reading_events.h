/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reading of a .pftrace came to, described as that of a JSON trace is: so that who asks a
 * trace for its header, ledger and losses need not know its form. Any thread, one reading at a
 * time.
 */
#ifndef GT_READERS_CHROME_READING_EVENTS_H
#define GT_READERS_CHROME_READING_EVENTS_H

#include "readers/chrome/reader.h"
#include "readers/events.h"

/* The note on a file that was cut. */
#define GT_READING_CUT_NOTE "the file ends inside a packet or before its last one"

/* Fills @ret_reading, zeroed, from @events, which have read @in to its end or to the failure @rc.
 * Lines and bytes of events stay 0. Returns @rc or -ENOMEM; free it with gt_reading_fini in either
 * case. */
int gt_reading_of_events(const struct gt_events *events, const struct gt_input *in, int rc,
			 struct gt_reading *ret_reading);

#endif
