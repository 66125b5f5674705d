/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of the record that is being turned into an event: what is not there, or of another
 * type, is 0 or NULL. One thread per reading.
 */
#ifndef GT_READERS_CHROME_EVENTS_JSON_ARGS_H
#define GT_READERS_CHROME_EVENTS_JSON_ARGS_H

#include "readers/chrome/events_json.h"

/* Splits the arguments of a record once: thirty of a kernel's are looked up. */
void gt_events_json_split_args(struct gt_events_json *json, const struct gt_trace_event *record);

/* Finds an argument of the current record. False: none of that name. */
bool gt_arg_find(const struct gt_events_json *json, const char *key, struct gt_span *ret_value);

/* Whether the record has an argument of this name. */
bool gt_arg_is_there(const struct gt_events_json *json, const char *key);

/* An integer. */
uint64_t gt_arg_number(const struct gt_events_json *json, const char *key);

/* A number that is not negative, in millionths. */
uint64_t gt_arg_micro(const struct gt_events_json *json, const char *key);

/* The string value, interned. */
const struct gt_string *gt_arg_string(struct gt_events_json *json, const char *key);

/* The JSON text of a value, interned. */
const struct gt_string *gt_arg_text(struct gt_events_json *json, const char *key);

/* An array of three integers; the ones that are missing stay as they are in @ret_v. */
void gt_arg_triple(const struct gt_events_json *json, const char *key, uint32_t *ret_v);

/* Whether @span is the string @text. */
bool gt_span_reads(const struct gt_span *span, const char *text);

#endif
