/* SPDX-License-Identifier: Apache-2.0
 *
 * What /proc shows of a traced process: whether a mailbox is its own, and why none can be found.
 * Any thread.
 */
#ifndef GT_CLI_CONTROL_TRACED_H
#define GT_CLI_CONTROL_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Whether a process has a file mapped. */
enum gt_traced_maps {
	GT_TRACED_MAPS_UNKNOWN, /* nobody may look, or it has one of that name only */
	GT_TRACED_MAPS_IT,
	GT_TRACED_MAPS_NONE,
};

/* The file @st, which is called @name. */
enum gt_traced_maps gt_traced_maps(uint32_t pid, const struct stat *st, const char *name);

/* It has the library of the tracer, which need not record. */
bool gt_traced_carries_tracer(uint32_t pid);

/* Where a process has its mailbox, if it has one. */
enum gt_traced_place {
	GT_TRACED_HERE, /* or nobody may look */
	GT_TRACED_CONTAINER,
	GT_TRACED_OTHER_SHM,
	GT_TRACED_NO_SHM,
};

/* By its root folder and its namespaces. */
enum gt_traced_place gt_traced_place(uint32_t pid);

/* For `ps`, and with the remedy. "" for a process that is here. */
const char *gt_traced_place_name(enum gt_traced_place place);
void gt_traced_explain(uint32_t pid, enum gt_traced_place place, char *ret_text, size_t size);

/* The processes of this user that carry the tracer and are not here. */
void gt_traced_apart(void (*found)(void *context, uint32_t pid, enum gt_traced_place place),
		     void *context);

#endif
