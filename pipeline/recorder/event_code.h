/* SPDX-License-Identifier: Apache-2.0
 *
 * Events as few bytes: of each one what differs from the last one of its kind. Pointers stay
 * pointers: their targets live as long as the session. One thread.
 */
#ifndef GT_PIPELINE_RECORDER_EVENT_CODE_H
#define GT_PIPELINE_RECORDER_EVENT_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "core/intern.h"
#include "core/schema/event.h"

#define GT_EVENT_CODE_FIELDS 64
/* Upper bound of the bytes of one event. */
#define GT_EVENT_CODE_MAX    (1 + 10 * (1 + GT_EVENT_CODE_FIELDS))

/* State of a sequence of events. Zeroed: its beginning. */
struct gt_event_code {
	uint64_t last[GT_EVENT_COUNT_][GT_EVENT_CODE_FIELDS];
};

/* What a pointer leads to in this process, for who reads a sequence of another one. */
struct gt_event_addresses {
	void *context;
	const struct gt_string *(*string)(void *context, const struct gt_string *pointer);
	const struct gt_stack *(*stack)(void *context, const struct gt_stack *pointer);
	const struct gt_stack_frame *(*frame)(void *context, const struct gt_stack_frame *pointer);
};

/* Appends @event at @out, which has room for GT_EVENT_CODE_MAX bytes. @strings take the texts of
 * notes. Returns how many bytes it takes. */
size_t gt_event_code_put(struct gt_event_code *code, const struct gt_event *event,
			 struct gt_intern *strings, uint8_t *out);

/* Reads the next event of a sequence, of which @size bytes are left. @addresses NULL: it is of this
 * process; else its bytes may be anything. Returns how many bytes it took; 0: there is none. An
 * event whose values cannot be used has the kind GT_EVENT_COUNT_. */
size_t gt_event_code_get(struct gt_event_code *code, const uint8_t *in, size_t size,
			 const struct gt_event_addresses *addresses, struct gt_event *ret_event);

#endif
