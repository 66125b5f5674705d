/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes the reading of a .pftrace in the same way as that of a JSON trace, so that users of
 * header, ledger and losses do not depend on the format. Any thread, one reading at a time.
 */
#ifndef GT_READERS_CHROME_READING_EVENTS_H
#define GT_READERS_CHROME_READING_EVENTS_H

#include "readers/chrome/reader.h"
#include "readers/events.h"

/* The note for a file that was cut. */
#define GT_READING_CUT_NOTE "the file ends inside a packet or before its last one"

/* Fills the zeroed @ret_reading from @events after they read @in to its end or failed with @rc.
 * Line and byte numbers of events stay 0. Returns @rc or -ENOMEM; free @ret_reading with
 * gt_reading_fini in either case. */
int gt_reading_of_events(const struct gt_events *events, const struct gt_input *in, int rc,
			 struct gt_reading *ret_reading);

#endif
