/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a JSON text that passes by is whole: every bracket of it closed. One thread per text.
 */
#ifndef GT_TRANSFORM_JOB_JSON_END_H
#define GT_TRANSFORM_JOB_JSON_END_H

#include <stdbool.h>
#include <stddef.h>

/* What was seen. Begins zeroed. */
struct gt_json_end {
	size_t open; /* brackets */
	bool is_text, is_escaped;
	bool is_begun;
};

/* The next part. */
void gt_json_end_see(struct gt_json_end *end, const char *data, size_t size);

/* Whether there is nothing that has to follow. */
bool gt_json_end_is_here(const struct gt_json_end *end);

#endif
