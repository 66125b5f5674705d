/* SPDX-License-Identifier: Apache-2.0
 *
 * See json_end.h.
 */
#include "transform/job/json_end.h"

/* Behind what is in quotes; its end when there is more of it. */
static const char *pass_text(struct gt_json_end *end, const char *p, const char *stop)
{
	for (; p < stop; p++) {
		if (end->is_escaped)
			end->is_escaped = false;
		else if (*p == '\\')
			end->is_escaped = true;
		else if (*p == '"') {
			end->is_text = false;
			return p + 1;
		}
	}
	return p;
}

void gt_json_end_see(struct gt_json_end *end, const char *data, size_t size)
{
	const char *p = data, *stop = data + size;

	while (p < stop) {
		if (end->is_text) {
			p = pass_text(end, p, stop);
			continue;
		}
		switch (*p++) {
		case '"':
			end->is_text = true;
			break;
		case '{':
		case '[':
			end->is_begun = true;
			end->open++;
			break;
		case '}':
		case ']':
			end->open -= end->open > 0;
			break;
		default:
			break;
		}
	}
}

bool gt_json_end_is_here(const struct gt_json_end *end)
{
	return end->is_begun && !end->open && !end->is_text;
}
