/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the enumerators of core/schema/event.h in a trace; readers match copies by them. Pure
 * functions, any thread.
 */
#ifndef GT_CORE_SCHEMA_EVENT_NAMES_H
#define GT_CORE_SCHEMA_EVENT_NAMES_H

#include <stddef.h>

#include "core/schema/event.h"

/* The step of a JSON trace that has none (docs/FORMAT.md). The category is user_annotation's in a
 * spelling that TensorBoard alone takes for it. */
#define GT_WHOLE_STEP_CATEGORY "User_Annotation"
#define GT_WHOLE_STEP_NAME     "ProfilerStep#0"
#define GT_WHOLE_STEP_ROW      "whole trace"

/* "HtoD", "Pinned", "Stream Wait Event". An unknown value has the name of UNKNOWN. */
const char *gt_event_name_copy(enum gt_copy_kind kind);
const char *gt_event_name_memory(enum gt_memory_kind kind);
const char *gt_event_name_sync(enum gt_sync_kind kind);

/* "allocate"; "device". An unknown value has the name of NOTHING, of DEVICE. */
const char *gt_event_name_block_op(unsigned int op);
const char *gt_event_name_block_kind(unsigned int kind);

/* The inverse; NOTHING, DEVICE for any other name. @length bytes at @name. */
enum gt_block_op gt_event_find_block_op(const char *name, size_t length);
enum gt_block_kind gt_event_find_block_kind(const char *name, size_t length);

/* The inverse; UNKNOWN for any other name. @length bytes at @name. */
enum gt_copy_kind gt_event_find_copy(const char *name, size_t length);
enum gt_memory_kind gt_event_find_memory(const char *name, size_t length);
enum gt_sync_kind gt_event_find_sync(const char *name, size_t length);

/* "Memcpy HtoD (Pinned -> Device)", "Memset (Device)", "Graph 7", cut to @size. Returns the length.
 */
size_t gt_event_name_memcpy(const struct gt_memory_event *memory, char *out, size_t size);
size_t gt_event_name_memset(const struct gt_memory_event *memory, char *out, size_t size);
size_t gt_event_name_graph(const struct gt_graph_event *graph, char *out, size_t size);

#endif
