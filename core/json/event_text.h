/* SPDX-License-Identifier: Apache-2.0
 *
 * Event data as text, for writers and readers: frames of call stacks, "function (module+0x1a2b)",
 * "function (file.py:42)", and the arguments of notes. No state; any thread.
 */
#ifndef GT_CORE_JSON_EVENT_TEXT_H
#define GT_CORE_JSON_EVENT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/json/code_owner.h"
#include "core/json/json.h"
#include "core/schema/event.h"
#include "core/stack.h"

/* Appends one frame as text, not escaped, with its line or lines up to @last_line (0: one line).
 * @whole: with the full path, and the offset if there is no line. */
void gt_frame_text(struct gt_json *out, const struct gt_stack_frame *frame, uint32_t last_line,
		   bool whole);

/* Appends a call stack in one line, not escaped, innermost frame first: "launched by". */
void gt_stack_line(struct gt_json *out, const struct gt_line_limits *limits,
		   const struct gt_stack *stack);

/* Whether a module, which has a build-id, is to be listed. */
typedef bool (*gt_module_chosen)(const struct gt_stack_frame *frame, void *data);

/* Lists the chosen modules of a stack, each with its build-id, in the member @key of a JSON object;
 * nothing when there are none. */
void gt_modules_json_put(struct gt_json *json, const char *key, const struct gt_stack *stack,
			 gt_module_chosen chosen, void *data);

/* Appends the arguments of a note as members of a JSON object, without those of its stack. */
void gt_note_json_put(struct gt_json *json, const struct gt_event *event);

#endif
