/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory limit of the control groups that the process is in, version 1 and 2. The page cache of
 * the files that the tracer writes and its spool on tmpfs count against it, and who exceeds it is
 * killed. Nothing that is read there is trusted to make sense.
 */
#ifndef GT_CORE_GUEST_CGROUP_H
#define GT_CORE_GUEST_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Versions of control groups; a machine may have both, each with its own mounts. */
enum gt_cgroup_version { GT_CGROUP_V1, GT_CGROUP_V2, GT_CGROUP_VERSIONS_ };

/* The smallest memory limit of a process's group and of those above it. */
struct gt_cgroup_limit {
	uint64_t bytes; /* 0: none */
	char file[256]; /* the file that sets it, cut if longer; "" without a limit */
};

/* Finds the limit of the calling process. @root: "" or, for tests, a folder with what is read from
 * /proc and /sys. Opens and closes some files, allocates nothing but memory of the tracer. Session
 * start. */
void gt_cgroup_find(const char *root, struct gt_cgroup_limit *ret_limit);

/* ---- the parsers; they cut and decode @line in place ---- */

/* A line of /proc/self/cgroup. False: its hierarchy does not limit memory. */
bool gt_cgroup_parse_group(char *line, enum gt_cgroup_version *ret_version, char **ret_group);

/* A mounted hierarchy that may limit memory. */
struct gt_cgroup_mount {
	enum gt_cgroup_version version;
	char *root;  /* the group that is mounted */
	char *point; /* where */
};

/* A line of /proc/self/mountinfo. False: none of those. */
bool gt_cgroup_parse_mount(char *line, struct gt_cgroup_mount *ret_mount);

/* The part of @group below @mount, "" or "/...". NULL: the group is not below it, or has no name
 * there. */
const char *gt_cgroup_below(const struct gt_cgroup_mount *mount, const char *group);

/* The number in @text, or after @key at the start of one of its lines. 0: no limit, or nonsense. */
uint64_t gt_cgroup_parse_limit(const char *text, const char *key);

#endif
