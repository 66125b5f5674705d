/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory limits of control groups, in made-up trees: versions 1 and 2, nested groups, containers,
 * and whatever else may be in those files.
 */
#include "core/guest/cgroup.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/tree.h"

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
#define OTHERS                                                                                     \
	"23 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"                                          \
	"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                               \
	"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"

struct file {
	const char *path, *text;
};

/* The limit in a tree of those files, the first two being those of /proc. */
static struct gt_cgroup_limit find(const char *groups, const char *mounts, const struct file *files)
{
	struct gt_cgroup_limit limit;
	char root[PATH_MAX];

	tree_make(root, sizeof(root));
	tree_put(root, "/proc/self/cgroup", groups);
	tree_put(root, "/proc/self/mountinfo", mounts);
	for (; files && files->path; files++)
		tree_put(root, files->path, files->text);
	gt_cgroup_find(root, &limit);
	tree_remove(root);
	return limit;
}

static void expect(const char *groups, const char *mounts, const struct file *files, uint64_t bytes,
		   const char *file)
{
	struct gt_cgroup_limit limit = find(groups, mounts, files);

	cr_assert_eq(limit.bytes, bytes, "%lu of %s", (unsigned long)limit.bytes, limit.file);
	cr_assert_str_eq(limit.file, file);
}

Test(cgroup, version_2)
{
	const struct file files[] = {{"/sys/fs/cgroup/app/memory.max", "104857600\n"},
				     {"/sys/fs/cgroup/app/memory.high", "max\n"},
				     {0}};

	expect("0::/app\n", OTHERS V2_MOUNT, files, 104857600, "/sys/fs/cgroup/app/memory.max");
}

Test(cgroup, version_1)
{
	const struct file files[] = {
		{"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "67108864\n"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
		{0}};

	expect("9:name=systemd:/x\n4:cpu,memory:/a\n3:cpuset:/\n0::/\n", OTHERS V1_MOUNT, files,
	       67108864, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
}

/* The limit of a group above those that are mounted. */
Test(cgroup, version_1_hierarchical)
{
	const struct file files[] = {
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n"},
		{"/sys/fs/cgroup/memory/memory.stat",
		 "cache 8\nhierarchical_memory_limit 33554432\nhierarchical_memsw_limit 7\n"},
		{0}};

	expect("4:memory:/\n", V1_MOUNT, files, 33554432, "/sys/fs/cgroup/memory/memory.stat");
}

Test(cgroup, the_smallest_of_the_groups_above_counts)
{
	const struct file files[] = {{"/sys/fs/cgroup/a/b/c/memory.max", "max\n"},
				     {"/sys/fs/cgroup/a/b/memory.max", "400000000\n"},
				     {"/sys/fs/cgroup/a/memory.high", "200000000\n"},
				     {"/sys/fs/cgroup/a/memory.max", "300000000\n"},
				     {"/sys/fs/cgroup/other/memory.max", "1000000\n"},
				     {0}};

	expect("0::/a/b/c\n", V2_MOUNT, files, 200000000, "/sys/fs/cgroup/a/memory.high");
	expect("0::/a/b/c/\n", V2_MOUNT, files, 200000000, "/sys/fs/cgroup/a/memory.high");
	expect("0::/a/b\n", V2_MOUNT, files + 1, 200000000, "/sys/fs/cgroup/a/memory.high");
	expect("0::/ab\n", V2_MOUNT, files, 0, "");
}

Test(cgroup, in_a_container)
{
	static const char mount[] =
		"30 23 0:26 /pods/app\\040one /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
	const struct file files[] = {{"/sys/fs/cgroup/memory.max", "50000000\n"},
				     {"/sys/fs/cgroup/sub/memory.max", "40000000\n"},
				     {0}};

	/* with a namespace of its own: the container's group is the root */
	expect("0::/\n", V2_MOUNT, files, 50000000, "/sys/fs/cgroup/memory.max");
	/* without: only the container's group is mounted, under the kernel's name */
	expect("0::/pods/app one\n", mount, files, 50000000, "/sys/fs/cgroup/memory.max");
	expect("0::/pods/app one/sub\n", mount, files, 40000000, "/sys/fs/cgroup/sub/memory.max");
	/* not below what is mounted, or not nameable: what is mounted is the container's */
	expect("0::/pods/app\n", mount, files, 50000000, "/sys/fs/cgroup/memory.max");
	expect("0::/../sub\n", V2_MOUNT, files, 50000000, "/sys/fs/cgroup/memory.max");
	expect("0::/sub/..\n", V2_MOUNT, files, 50000000, "/sys/fs/cgroup/memory.max");
}

/* The process's own group counts, not others that are mounted, too. */
Test(cgroup, several_mounts)
{
	static const char mounts[] = "40 23 0:26 /other /mnt/other rw - cgroup2 none rw\n" V2_MOUNT
				     "41 23 0:26 /more /mnt/more rw - cgroup2 none rw\n";
	const struct file files[] = {{"/sys/fs/cgroup/app/memory.max", "50000000\n"},
				     {"/mnt/other/memory.max", "1000000\n"},
				     {"/mnt/more/memory.max", "1000000\n"},
				     {0}};

	expect("0::/app\n", mounts, files, 50000000, "/sys/fs/cgroup/app/memory.max");
}

Test(cgroup, both_versions)
{
	const struct file files[] = {
		{"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "67108864\n"},
		{"/sys/fs/cgroup/unified/b/memory.max", "50000000\n"},
		{0}};

	expect("4:memory:/a\n0::/b\n",
	       V1_MOUNT "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", files,
	       50000000, "/sys/fs/cgroup/unified/b/memory.max");
}

Test(cgroup, names_with_blanks_and_colons)
{
	const struct file files[] = {{"/mnt/a b\\c/x: y/memory.max", "50000000\n"}, {0}};

	expect("0::/x: y\n", "30 23 0:26 / /mnt/a\\040b\\134c rw - cgroup2 c rw\n", files, 50000000,
	       "/mnt/a b\\c/x: y/memory.max");
}

Test(cgroup, nonsense_is_no_limit)
{
	static const char *const numbers[] = {
		"",
		"\n",
		"max",
		"max\n",
		"0\n",
		"-1\n",
		"12 MB\n",
		"1e9\n",
		"0x100000\n",
		" 12\n",
		"9223372036854771712\n",
		"99999999999999999999999\n",
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct file files[] = {{"/sys/fs/cgroup/app/memory.max", numbers[i]}, {0}};

		expect("0::/app\n", V2_MOUNT, files, 0, "");
	}
}

Test(cgroup, broken_lists)
{
	static const char *const groups[] = {
		"",         "\n", "0",        "0:",          "0::",
		"0::app\n", "::", "a:memory", "4:memory:\n", "4:memoryx,xmemory:/app\n"};
	static const char *const mounts[] = {
		"",
		"\n",
		" ",
		"30",
		"30 23 0:26 / /sys/fs/cgroup rw\n",
		"30 23 0:26 / /sys/fs/cgroup rw - cgroup2\n",
		"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2\n",
		"30 23 0:26 x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"30 23 0:26 / sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"30 23 0:26  / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"30 23 0:26 / /sys/fs/cgroup rw - cgroup3 cgroup2 rw\n",
		"30 23 0:26 / /nowhere rw - cgroup2 cgroup2 rw\n",
		"\\0 \\777 \\1\\9 - - -\n"};
	const struct file files[] = {{"/sys/fs/cgroup/app/memory.max", "50000000\n"},
				     {"/sys/fs/cgroup/app/memory.limit_in_bytes", "50000000\n"},
				     {0}};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		expect(groups[i], OTHERS V1_MOUNT V2_MOUNT, files, 0, "");
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
		expect("0::/app\n4:memory:/app\n", mounts[i], files, 0, "");
}

/* A list of many mounts, some with lines longer than any buffer, the one that counts the last. */
Test(cgroup, long_lists)
{
	const struct file files[] = {{"/sys/fs/cgroup/app/memory.max", "50000000\n"}, {0}};
	size_t size = 400000, n = 0;
	char *mounts = calloc(1, size);

	for (int i = 0; n < 200000; i++) {
		n += (size_t)sprintf(mounts + n, "%d 1 0:9 / /layer rw - overlay o rw,lower=", i);
		for (int k = 0; k < i * 7; k++)
			mounts[n++] = 'x';
		mounts[n++] = '\n';
	}
	for (int k = 0; k < 100000; k++)
		mounts[n++] = 'y';
	mounts[n++] = '\n';
	strcpy(mounts + n, V2_MOUNT);
	expect("0::/app\n", mounts, files, 50000000, "/sys/fs/cgroup/app/memory.max");
	free(mounts);
}

/* Paths that are too long are left out; very deep ones cost a bounded number of files. */
Test(cgroup, long_paths)
{
	const struct file files[] = {{"/sys/fs/cgroup/memory.max", "50000000\n"}, {0}};
	char group[2 * PATH_MAX] = "0::";

	for (size_t n = 3; n < 3 + 64; n += 2)
		memcpy(group + n, "/a", 3);
	strcat(group, "\n");
	expect(group, V2_MOUNT, files, 50000000, "/sys/fs/cgroup/memory.max");
	for (size_t n = 3; n < 3 + PATH_MAX - 40; n += 2)
		memcpy(group + n, "/a", 3);
	strcat(group, "\n");
	expect(group, V2_MOUNT, files, 0, "");
	for (size_t n = 3; n < 3 + PATH_MAX + 40; n += 2)
		memcpy(group + n, "/a", 3);
	strcat(group, "\n");
	expect(group, V2_MOUNT, files, 0, "");
}

/* A pipe without a writer must not be waited for. */
Test(cgroup, a_pipe_in_place_of_a_file, .timeout = 60)
{
	struct gt_cgroup_limit limit;
	char root[PATH_MAX], path[PATH_MAX + 64];

	tree_make(root, sizeof(root));
	tree_put(root, "/proc/self/cgroup", "0::/app\n");
	tree_put(root, "/proc/self/mountinfo", V2_MOUNT);
	tree_put(root, "/sys/fs/cgroup/app/memory.high", "50000000\n");
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/app/memory.max", root);
	cr_assert_eq(mkfifo(path, 0600), 0);
	gt_cgroup_find(root, &limit);
	tree_remove(root);
	cr_assert_eq(limit.bytes, 50000000);
}

Test(cgroup, no_files_at_all)
{
	struct gt_cgroup_limit limit = {.bytes = 7};

	gt_cgroup_find("/nonexistent", &limit);
	cr_assert_eq(limit.bytes, 0);
	cr_assert_str_eq(limit.file, "");
}

/* Of this machine, whatever that is: no descriptor stays open. */
Test(cgroup, the_real_one)
{
	struct gt_cgroup_limit limit;
	int before = tree_descriptors();

	gt_cgroup_find("", &limit);
	cr_assert_eq(tree_descriptors(), before);
	cr_assert_eq(limit.bytes != 0, *limit.file != 0);
}
