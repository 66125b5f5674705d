/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading activity buffers without CUPTI, which alone knows how long a record is: those of a
 * process that is gone, without the memory that names pointed to, and of one whose CUPTI does not
 * answer any more. Lengths and names were noted while it ran. The bytes may be anything.
 */
#ifndef GT_COLLECTORS_CUPTI_REPLAY_H
#define GT_COLLECTORS_CUPTI_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/cupti/translate.h"

struct gt_spool_view;

/* A buffer that is walked without CUPTI. */
struct gt_cupti_replay {
	const struct gt_spool_view *view; /* NULL: this process; names are where the records say */
	struct gt_translate_notes
		*notes; /* lengths that are missing there are found out and added */
	struct gt_translate *translate;
	bool unfinished; /* CUPTI had it: what lies behind its records is zero, and work without an
			  * end was under way */
};

/* Translates the records of @valid bytes at @data. Returns the bytes at the end that could not be
 * read. */
size_t gt_cupti_replay(const struct gt_cupti_replay *how, const uint8_t *data, size_t valid);

/* All buffers of this process that CUPTI has given back and nobody has read. Who holds the
 * session's parts. */
void gt_cupti_replay_delivered(struct gt_translate *translate);

#endif
