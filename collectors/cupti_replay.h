/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the activity buffers of a process that is gone: without CUPTI, which alone knows how long
 * a record is, and without the memory that names pointed to. Both were noted while it ran. Recovery
 * only; the bytes may be anything.
 */
#ifndef GT_COLLECTORS_CUPTI_REPLAY_H
#define GT_COLLECTORS_CUPTI_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "collectors/cupti_translate.h"

struct gt_spool_view;

/*
 * Translates the records of @valid bytes at @data. @notes: what the process noted; lengths that are
 * missing there are found out and added. Returns the bytes at the end that could not be read.
 */
size_t gt_cupti_replay(const struct gt_spool_view *view, const uint8_t *data, size_t valid,
		       struct gt_translate_notes *notes, struct gt_translate *translate);

#endif
