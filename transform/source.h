/* SPDX-License-Identifier: Apache-2.0
 *
 * Source positions of addresses in modules, out of their DWARF by elfutils: file and line, and the
 * functions that were inlined there. A module is found by its path, if it still has the build-id
 * that it had, or by its build-id among the debug files of the system. One thread per instance.
 */
#ifndef GT_TRANSFORM_SOURCE_H
#define GT_TRANSFORM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_SOURCE_DEPTH 32

/* One function at an address. */
struct gt_source_line {
	const char *function; /* of an inlined one; NULL: the function of the frame itself */
	const char *file;
	int line;
	const char *calls; /* of the innermost: what is called there; NULL: not known */
};

struct gt_sources;

/* @debuginfod: what is not here may be asked for over the network (DEBUGINFOD_URLS). NULL: no
 * memory. */
struct gt_sources *gt_sources_new(bool debuginfod);
void gt_sources_free(struct gt_sources *sources);

/*
 * The positions of @offset in the module of @path with the build-id @build_id (hexadecimal), those
 * of inlined functions first, at most GT_SOURCE_DEPTH. Returns how many; 0: nothing is known. The
 * texts live as long as @sources.
 */
size_t gt_sources_find(struct gt_sources *sources, const char *path, const char *build_id,
		       uint64_t offset, struct gt_source_line *ret_lines);

/* Modules that were asked for and not found with their build-id. */
size_t gt_sources_missing(const struct gt_sources *sources);

#endif
