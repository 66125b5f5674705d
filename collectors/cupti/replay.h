/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads activity buffers without CUPTI, which alone knows how long a record is: buffers of a
 * process that is gone, without the memory that names pointed to, or of a CUPTI that no longer
 * answers. Lengths and names were noted while it ran. The bytes are untrusted.
 */
#ifndef GT_COLLECTORS_CUPTI_REPLAY_H
#define GT_COLLECTORS_CUPTI_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/cupti/records/translate.h"

struct gt_correlate;
struct gt_kernel_names;
struct gt_spool_view;

/* How to read buffers without CUPTI. */
struct gt_cupti_replay {
	const struct gt_spool_view *view; /* NULL: this process, whose pointers are valid */
	struct gt_translate_notes *notes; /* missing lengths are found and added */
	struct gt_translate *translate;
	const struct gt_kernel_names *kernels; /* those that were launched; NULL: not known */
	const struct gt_correlate *calls;      /* their launches; NULL: not known */
	bool unfinished; /* CUPTI had it: what lies behind its records is zero, and work without an
			  * end was under way */
};

/* Bytes at @data until the last record, about: without the zeros behind it. */
size_t gt_cupti_replay_used(const uint8_t *data, size_t valid, bool unfinished);

/* Offset of the end, ns, in a record of GPU work. 0: no such kind. Any thread. */
uint16_t gt_cupti_replay_end_at(uint32_t kind);

/* Finds the lengths that are missing in the notes. To be called before gt_cupti_replay with the
 * buffer that has the most in it, as a short one fits several lengths. */
void gt_cupti_replay_learn(const struct gt_cupti_replay *how, const uint8_t *data, size_t valid);

/* Translates the records in @valid bytes at @data. Returns how many bytes at the end are
 * unreadable. */
size_t gt_cupti_replay(const struct gt_cupti_replay *how, const uint8_t *data, size_t valid);

/* Translates all completed, unread buffers of this process. The owner of the session's parts. */
void gt_cupti_replay_delivered(struct gt_translate *translate);

#endif
