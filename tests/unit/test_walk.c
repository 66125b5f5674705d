/* SPDX-License-Identifier: Apache-2.0
 *
 * The way to a folder: which links are followed, what is created, what is refused.
 */
#include "core/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#define SOMEBODY 12345

static char *scratch;

static void make_scratch(void)
{
	char name[] = "/tmp/gputrace-walk-XXXXXX";

	cr_assert_not_null(mkdtemp(name));
	scratch = realpath(name, NULL);
	cr_assert_eq(chdir(scratch), 0);
	cr_assert_eq(mkdir("a", 0700) | mkdir("a/b", 0700) | mkdir("c", 0700), 0);
}

static void remove_scratch(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", scratch);
	cr_assert_eq(system(command), 0);
	free(scratch);
}

static void make_link(const char *target, const char *path, bool is_ours)
{
	cr_assert_eq(symlink(target, path), 0);
	if (!is_ours)
		cr_assert_eq(lchown(path, SOMEBODY, SOMEBODY), 0);
}

static int walk(const char *path, mode_t make)
{
	struct gt_descriptor folder;
	int error = gt_walk_open(&folder, path, O_RDONLY, make);

	gt_descriptor_close(&folder);
	return error;
}

/* @path leads to @expected, relative and absolute. */
static void expect(const char *path, const char *expected)
{
	char absolute[512];
	struct gt_descriptor folder;
	struct stat st;

	snprintf(absolute, sizeof(absolute), "%s/%s", scratch, path);
	cr_assert_eq(stat(expected, &st), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(gt_walk_open(&folder, i ? absolute : path, O_RDONLY, 0), 0, "%s",
			     path);
		cr_assert_eq(folder.inode, st.st_ino, "%s", path);
		cr_assert(gt_descriptor_is_ours(&folder));
		gt_descriptor_close(&folder);
	}
}

Test(walk, paths_without_links, .init = make_scratch, .fini = remove_scratch)
{
	expect("a/b", "a/b");
	expect("./a//b/", "a/b");
	expect("a/b/../../c/.", "c");
	expect(".", ".");
	cr_assert_eq(walk("/", 0), 0);
	cr_assert_eq(walk("/../..", 0), 0);
	cr_assert_eq(walk("", 0), -ENOENT);
	cr_assert_eq(walk("a/x/b", 0), -ENOENT);
	cr_assert_eq(close(creat("file", 0600)), 0);
	cr_assert_eq(walk("file", 0), -ENOTDIR);
	cr_assert_eq(walk("file/x", 0700), -ENOTDIR);
}

Test(walk, own_links_are_followed, .init = make_scratch, .fini = remove_scratch)
{
	char target[512];

	make_link("a", "to_a", true);
	make_link("../c", "a/to_c", true);
	make_link("to_a/to_c", "both", true);
	snprintf(target, sizeof(target), "%s/both/", scratch);
	make_link(target, "absolute", true);
	expect("to_a/b", "a/b");
	expect("a/to_c", "c");
	expect("both", "c");
	expect("absolute/../a", "a");
	expect("to_a/../c", "c");
	cr_assert_eq(walk("/proc/self/cwd/both", 0), 0);
}

Test(walk, links_in_proc_lead_where_they_do, .init = make_scratch, .fini = remove_scratch)
{
	struct gt_descriptor folder;
	char path[64];
	struct stat st;
	int fd = open("c", O_RDONLY | O_DIRECTORY);

	cr_assert_eq(fstat(fd, &st) | rmdir("c"), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cr_assert_eq(gt_walk_open(&folder, path, O_RDONLY, 0), 0);
	cr_assert_eq(folder.inode, st.st_ino);
	gt_descriptor_close(&folder);
}

Test(walk, loops_end, .init = make_scratch, .fini = remove_scratch)
{
	make_link("two", "one", true);
	make_link("one", "two", true);
	make_link(".", "here", true);
	cr_assert_eq(walk("one", 0700), -ELOOP);
	expect("here/here/here/a", "a");
}

Test(walk, folders_are_made, .init = make_scratch, .fini = remove_scratch)
{
	struct stat st;

	umask(022);
	cr_assert_eq(walk("new", 0), -ENOENT);
	make_link("a", "to_a", true);
	cr_assert_eq(walk("to_a/new/er/", 0775), 0);
	cr_assert_eq(stat("a/new/er", &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0755);
	cr_assert_eq(walk("a/new/er", 0775), 0);
	/* not what a link names */
	make_link("nowhere", "dangling", true);
	cr_assert_eq(walk("dangling", 0775), -ENOENT);
	cr_assert_eq(walk("dangling/x", 0775), -ENOENT);
	cr_assert_eq(access("nowhere", F_OK), -1);
}

Test(walk, links_of_others_are_refused, .init = make_scratch, .fini = remove_scratch)
{
	static const char *const paths[] = {"theirs",   "theirs/b", "theirs/new", "theirs/../a",
					    "theirs/.", "mine",     "mine/b",     "a/up/a"};

	if (geteuid() != 0)
		cr_skip_test("only root can make a link of somebody else's");
	make_link("a", "theirs", false);
	make_link("theirs", "mine", true);
	make_link("..", "a/up", false);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		cr_assert_eq(walk(paths[i], 0700), -ELOOP, "%s", paths[i]);
	cr_assert_eq(access("a/new", F_OK), -1);
}

Test(walk, names_are_split)
{
	static const struct {
		const char *path, *folder, *name;
	} cases[] = {{"a", ".", "a"}, {"/a", "/", "a"}, {"a/b", "a", "b"}, {"/a/b/c", "/a/b", "c"}};
	char folder[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_str_eq(gt_walk_split(cases[i].path, folder, sizeof(folder)),
				 cases[i].name);
		cr_assert_str_eq(folder, cases[i].folder);
	}
	cr_assert_null(gt_walk_split("a/", folder, sizeof(folder)));
	cr_assert_null(gt_walk_split("", folder, sizeof(folder)));
	cr_assert_null(gt_walk_split("longer/x", folder, 6));
}
