/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process has mapped, by /proc/PID/maps. Single thread.
 */
#ifndef GT_CLI_ATTACH_MAPS_H
#define GT_CLI_ATTACH_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A line of the file. */
struct gt_mapping {
	uint64_t start, end, offset;
	bool reads, writes, runs;
	char path[256]; /* or [stack] and the like; empty: none */
};

/* All of them, in order. */
struct gt_maps {
	struct gt_mapping *at;
	size_t count;
};

/* Reads it. A negative errno. _free it. */
int gt_maps_read(pid_t pid, struct gt_maps *ret_maps);
void gt_maps_free(struct gt_maps *maps);

/* The mapping of an address; NULL: none. */
const struct gt_mapping *gt_maps_at(const struct gt_maps *maps, uint64_t address);

/* The beginning of the first file whose name begins with @name; NULL: none. */
const struct gt_mapping *gt_maps_file(const struct gt_maps *maps, const char *name);

/* @bytes that nothing is mapped in, far from all else. 0: there are none. */
uint64_t gt_maps_gap(const struct gt_maps *maps, uint64_t bytes);

#endif
