/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary lines of /proc/self/cgroup and /proc/self/mountinfo, and files of a group. What is
 * looked for is below the mount point, and a limit is a number of the file. A zero byte is between
 * the group, the mount and the file.
 */
#include "core/guest/cgroup.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(bool truth)
{
	if (!truth)
		abort();
}

/* No component of @path is "..". */
static bool stays_below(const char *path)
{
	char *copy = strdup(path), *rest = copy, *part;
	bool stays = true;

	while ((part = strsep(&rest, "/")))
		stays &= strcmp(part, "..") != 0;
	free(copy);
	return stays;
}

static void check_below(const struct gt_cgroup_mount *mount, const char *group)
{
	const char *below = gt_cgroup_below(mount, group);
	size_t length = strlen(group);

	if (!below)
		return;
	need(!*below || (*below == '/' && below[1]));
	need(stays_below(below));
	need(!*below || !strcmp(below, group + length - strlen(below)));
	need(strlen(below) <= length);
}

static void check_limit(const char *text, const char *key)
{
	char digits[32];
	uint64_t bytes = gt_cgroup_parse_limit(text, key);

	if (!bytes)
		return;
	need(bytes < (uint64_t)1 << 60);
	snprintf(digits, sizeof(digits), "%lu", (unsigned long)bytes);
	need(strstr(text, digits) != NULL && strstr(text, key) != NULL);
}

static void check(char *group_line, char *mount_line, const char *text)
{
	enum gt_cgroup_version version;
	struct gt_cgroup_mount mount;
	char *group = NULL;
	bool has_group = gt_cgroup_parse_group(group_line, &version, &group);
	bool has_mount = gt_cgroup_parse_mount(mount_line, &mount);

	need(!has_group || (*group == '/' && (unsigned int)version < GT_CGROUP_VERSIONS_));
	need(!has_mount || (unsigned int)mount.version < GT_CGROUP_VERSIONS_);
	if (has_group && has_mount)
		check_below(&mount, group);
	check_limit(text, "");
	check_limit(text, "hierarchical_memory_limit ");
}

/* The text up to the next zero byte, or the rest. */
static char *next(const uint8_t **data, size_t *size)
{
	size_t length = strnlen((const char *)*data, *size);
	char *text = strndup((const char *)*data, length);
	size_t used = length < *size ? length + 1 : length;

	need(text != NULL);
	*data += used;
	*size -= used;
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *group = next(&data, &size), *mount = next(&data, &size), *text = next(&data, &size);

	check(group, mount, text);
	free(group);
	free(mount);
	free(text);
	return 0;
}
