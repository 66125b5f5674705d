/* SPDX-License-Identifier: Apache-2.0
 *
 * The text with which a running process answers a request. Drain thread.
 */
#ifndef GT_PIPELINE_REPLY_H
#define GT_PIPELINE_REPLY_H

#include <stddef.h>

/* The answer that is being made. */
struct gt_reply {
	char *text; /* zero-terminated */
	size_t size, length;
};

/* Appends to it; what does not fit is left out. Formats as gt_text_format. */
void gt_reply_say(struct gt_reply *reply, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
