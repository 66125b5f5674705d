/* SPDX-License-Identifier: Apache-2.0
 *
 * The sink in a hostile or careless environment: planted links, names in use, closed
 * and reused descriptors, full devices, pipes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "core/guest/log.h"
#include "core/guest/sys.h"
#include "writers/sink.h"

static char folder[64];
static char path[256];

static void make_folder(void)
{
	gt_log_set_level(GT_LOG_QUIET);
	strcpy(folder, "/tmp/gputrace-sink-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	cr_assert_eq(system(command), 0);
}

static const char *in_folder(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static struct gt_sink *open_at(const char *directory, const char *fallback, uint64_t max_size)
{
	struct gt_sink_options options = {.directory = directory,
					  .fallback = fallback,
					  .name = "trace.5",
					  .suffix = ".pt.trace.json",
					  .max_size = max_size};
	int error = 0;
	struct gt_sink *sink = gt_sink_open(&options, &error);

	cr_assert((sink != NULL) == (error == 0));
	return sink;
}

static void expect_content(const char *file, const char *content)
{
	char text[256] = "";
	int fd = open(file, O_RDONLY);

	cr_assert_geq(fd, 0, "%s", file);
	cr_assert_geq(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	cr_assert_str_eq(text, content);
}

/* Our own descriptor, found by its file. */
static int descriptor_of(const struct gt_sink *sink)
{
	struct stat want, have;

	cr_assert_eq(gt_sys_lstat(gt_sink_path(sink), &want), 0);
	for (int fd = 0; fd < 8192; fd++)
		if (gt_sys_fstat(fd, &have) == 0 && have.st_ino == want.st_ino &&
		    have.st_dev == want.st_dev)
			return fd;
	return -1;
}

Test(sink, makes_folders_and_a_private_file, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink *sink = open_at(in_folder("a/b/c/"), folder, 0);
	char expected[128];
	struct stat st;

	snprintf(expected, sizeof(expected), "%s/a/b/c/trace.5.pt.trace.json", folder);
	cr_assert_str_eq(gt_sink_path(sink), expected);
	cr_assert_eq(gt_sys_lstat(expected, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	cr_assert(gt_sink_can_patch(sink));
	cr_assert_eq(gt_sink_write(sink, 0, "hello", 5), 0);
	cr_assert_eq(gt_sink_write(sink, 1, "a", 1), 0);
	cr_assert_eq(gt_sink_truncate(sink, 4), 0);
	expect_content(expected, "hall");
	gt_sink_close(sink);
}

static _Atomic bool is_open;

static void *remove_once(void *data)
{
	while (!is_open && rmdir(data))
		;
	return NULL;
}

/* Empty folders of a run go when the command of a rank without a trace ends. */
Test(sink, folder_that_another_rank_removes, .init = make_folder, .fini = remove_folder)
{
	char run[128];

	for (int i = 0; i < 200; i++) {
		pthread_t other;
		struct gt_sink *sink;

		snprintf(run, sizeof(run), "%s/%d", folder, i);
		is_open = false;
		cr_assert_eq(pthread_create(&other, NULL, remove_once, run), 0);
		sink = open_at(run, folder, 0);
		is_open = true;
		pthread_join(other, NULL);
		cr_assert(!strncmp(gt_sink_path(sink), run, strlen(run)), "%s", gt_sink_path(sink));
		gt_sink_close(sink);
	}
}

Test(sink, taken_names_get_a_number, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink *first = open_at(folder, folder, 0);
	struct gt_sink *second = open_at(folder, folder, 0);
	struct gt_sink *third = open_at(folder, folder, 0);

	cr_assert_not_null(strstr(gt_sink_path(first), "/trace.5.pt.trace.json"));
	cr_assert_not_null(strstr(gt_sink_path(second), "/trace.5.1.pt.trace.json"));
	cr_assert_not_null(strstr(gt_sink_path(third), "/trace.5.2.pt.trace.json"));
	gt_sink_close(first);
	gt_sink_close(second);
	gt_sink_close(third);
}

Test(sink, planted_links_are_not_followed, .init = make_folder, .fini = remove_folder)
{
	char victim[128];
	struct gt_sink *sink;
	int fd;

	snprintf(victim, sizeof(victim), "%s/victim", folder);
	fd = open(victim, O_WRONLY | O_CREAT, 0600);
	cr_assert_eq(write(fd, "precious", 8), 8);
	close(fd);
	cr_assert_eq(symlink(victim, in_folder("trace.5.pt.trace.json")), 0);
	cr_assert_eq(link(victim, in_folder("trace.5.1.pt.trace.json")), 0);
	cr_assert_eq(mkfifo(in_folder("trace.5.2.pt.trace.json"), 0600), 0);
	cr_assert_eq(symlink("/nowhere/at/all", in_folder("trace.5.3.pt.trace.json")), 0);
	sink = open_at(folder, folder, 0);
	cr_assert_not_null(strstr(gt_sink_path(sink), "/trace.5.4.pt.trace.json"));
	cr_assert_eq(gt_sink_write(sink, 0, "trace", 5), 0);
	expect_content(victim, "precious");
	gt_sink_close(sink);
}

Test(sink, link_to_a_folder_counts_when_it_is_ours, .init = make_folder, .fini = remove_folder)
{
	char theirs[128], link[128];
	struct gt_sink *sink;

	snprintf(theirs, sizeof(theirs), "%s/theirs", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	cr_assert_eq(mkdir(in_folder("ours"), 0700), 0);
	cr_assert_eq(symlink("ours", link), 0);
	sink = open_at(in_folder("link/"), theirs, 0);
	cr_assert_not_null(strstr(gt_sink_path(sink), "/ours/"), "%s", gt_sink_path(sink));
	gt_sink_close(sink);
	if (geteuid() != 0)
		cr_skip_test("only root can make a link of somebody else's");
	cr_assert_eq(lchown(link, 12345, 12345), 0);
	sink = open_at(link, theirs, 0);
	cr_assert_not_null(strstr(gt_sink_path(sink), "/theirs/"), "%s", gt_sink_path(sink));
	gt_sink_close(sink);
}

Test(sink, link_of_somebody_else_in_the_path, .init = make_folder, .fini = remove_folder)
{
	static const char *const names[] = {"link/x", "link/x/y", "link/../x", "link//"};
	char link[128], theirs[128];
	struct gt_sink *sink;

	if (geteuid() != 0)
		cr_skip_test("only root can make a link of somebody else's");
	snprintf(link, sizeof(link), "%s/link", folder);
	snprintf(theirs, sizeof(theirs), "%s/theirs", folder);
	cr_assert_eq(mkdir(in_folder("ours"), 0700), 0);
	cr_assert_eq(symlink("ours", link) | lchown(link, 12345, 12345), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sink = open_at(in_folder(names[i]), theirs, 0);
		cr_assert_not_null(strstr(gt_sink_path(sink), "/theirs/"), "%s", names[i]);
		gt_sink_close(sink);
	}
	cr_assert_eq(rmdir(in_folder("ours")), 0, "nothing was created there");
}

Test(sink, folder_that_is_open_to_all_is_refused, .init = make_folder, .fini = remove_folder)
{
	char fallback[128];
	struct gt_sink *sink;

	snprintf(fallback, sizeof(fallback), "%s/fallback", folder);
	cr_assert_eq(mkdir(fallback, 0700), 0);
	cr_assert_eq(mkdir(in_folder("open"), 0777), 0);
	cr_assert_eq(chmod(path, 0777), 0);
	sink = open_at(in_folder("open"), fallback, 0);
	cr_assert_eq(strncmp(gt_sink_path(sink), fallback, strlen(fallback)), 0);
	gt_sink_close(sink);
	cr_assert_eq(chmod(in_folder("open"), 01777), 0);
	sink = open_at(in_folder("open"), fallback, 0);
	cr_assert_not_null(strstr(gt_sink_path(sink), "/open/"), "sticky is fine");
	gt_sink_close(sink);
}

Test(sink, folder_of_one_other_user_is_fine, .init = make_folder, .fini = remove_folder)
{
	char fallback[128];
	struct gt_sink *sink;

	if (geteuid() != 0)
		cr_skip_test("only root can make a folder of somebody else's");
	snprintf(fallback, sizeof(fallback), "%s/fallback", folder);
	cr_assert_eq(mkdir(in_folder("theirs"), 0755), 0);
	cr_assert_eq(chown(path, 12345, 12345), 0);
	sink = open_at(in_folder("theirs"), fallback, 0);
	cr_assert_not_null(strstr(gt_sink_path(sink), "/theirs/"), "as root in a container");
	gt_sink_close(sink);
}

Test(sink, nothing_can_be_written, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink_options options = {.directory = "/proc/no/such",
					  .fallback = "/proc",
					  .name = "x",
					  .suffix = ".pt.trace.json"};
	int error = 0;

	cr_assert_null(gt_sink_open(&options, &error));
	cr_assert_lt(error, 0);
	options.directory = options.fallback = "/dev/null/x";
	error = 0;
	cr_assert_null(gt_sink_open(&options, &error));
	cr_assert_eq(error, -ENOTDIR, "%d", error);
}

Test(sink, descriptor_is_high, .init = make_folder, .fini = remove_folder)
{
	struct rlimit limit = {.rlim_cur = 100, .rlim_max = 100};
	struct gt_sink *sink = open_at(folder, folder, 0);

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur > 700)
		cr_assert_geq(descriptor_of(sink), 700);
	gt_sink_close(sink);
	limit.rlim_cur = 100;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	sink = open_at(folder, folder, 0);
	cr_assert_geq(descriptor_of(sink), 60);
	gt_sink_close(sink);
}

Test(sink, closed_descriptor_is_opened_again, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink *sink = open_at(folder, folder, 0);

	cr_assert_eq(gt_sink_write(sink, 0, "one", 3), 0);
	close(descriptor_of(sink));
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(gt_sink_write(sink, 3, "two", 3), 0);
	expect_content(gt_sink_path(sink), "onetwo");
	gt_sink_close(sink);
}

Test(sink, stolen_descriptor_is_left_alone, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink *sink = open_at(folder, folder, 0);
	char theirs[128];
	int fd, number = descriptor_of(sink);

	snprintf(theirs, sizeof(theirs), "%s/theirs", folder);
	fd = open(theirs, O_RDWR | O_CREAT, 0600);
	cr_assert_eq(dup2(fd, number), number);
	cr_assert_eq(gt_sink_write(sink, 0, "ours", 4), 0);
	expect_content(theirs, "");
	expect_content(gt_sink_path(sink), "ours");
	gt_sink_close(sink);
	cr_assert_eq(write(number, "x", 1), 1, "the number is still theirs");
}

Test(sink, stolen_descriptor_and_replaced_file_stop_it, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink *sink = open_at(folder, folder, 0);
	int fd;

	close(descriptor_of(sink));
	/* a second name keeps the inode, which the new file would get otherwise */
	cr_assert_eq(link(gt_sink_path(sink), in_folder("kept")), 0);
	cr_assert_eq(unlink(gt_sink_path(sink)), 0);
	fd = open(gt_sink_path(sink), O_WRONLY | O_CREAT, 0600);
	cr_assert_eq(gt_sink_write(sink, 0, "ours", 4), -EBADF);
	cr_assert_eq(gt_sink_write(sink, 0, "ours", 4), -EBADF);
	cr_assert_eq(gt_sink_truncate(sink, 0), -EBADF);
	expect_content(gt_sink_path(sink), "");
	close(fd);
	gt_sink_close(sink);
}

Test(sink, size_limit_writes_nothing_beyond, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink *sink = open_at(folder, folder, 10);

	cr_assert_eq(gt_sink_room(sink, 4), 6);
	cr_assert_eq(gt_sink_room(sink, 11), 0);
	cr_assert_eq(gt_sink_write(sink, 0, "0123456789", 10), 0);
	cr_assert_eq(gt_sink_write(sink, 9, "ab", 2), -EFBIG);
	cr_assert_eq(gt_sink_write(sink, 9, "c", 1), 0);
	expect_content(gt_sink_path(sink), "012345678c");
	gt_sink_close(sink);
}

Test(sink, full_device)
{
	struct gt_sink *sink;

	gt_log_set_level(GT_LOG_QUIET);
	sink = open_at("/dev/full", "/tmp", 0);
	cr_assert_str_eq(gt_sink_path(sink), "/dev/full");
	cr_assert(!gt_sink_can_patch(sink));
	cr_assert_eq(gt_sink_write(sink, 0, "x", 1), -ENOSPC);
	cr_assert_eq(gt_sink_truncate(sink, 0), -ESPIPE);
	gt_sink_close(sink);
}

Test(sink, pipe_is_appended_to, .init = make_folder, .fini = remove_folder)
{
	char text[16] = "";
	struct gt_sink *sink;
	int reader;

	cr_assert_eq(mkfifo(in_folder("pipe"), 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	sink = open_at(path, folder, 0);
	cr_assert(!gt_sink_can_patch(sink));
	cr_assert_eq(gt_sink_write(sink, 0, "one", 3), 0);
	cr_assert_eq(gt_sink_write(sink, 0, "two", 3), 0);
	cr_assert_eq(read(reader, text, 10), 6);
	cr_assert_str_eq(text, "onetwo");
	close(reader);
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(gt_sink_write(sink, 0, "x", 1), -EPIPE);
	gt_sink_close(sink);
}

/* Its reader got half of something: what follows would be in the middle of it. */
Test(sink, pipe_whose_reader_stopped_gets_no_more, .init = make_folder, .fini = remove_folder)
{
	static char much[1 << 20];
	struct gt_sink *sink;
	int reader;

	gt_log_set_level(GT_LOG_QUIET);
	cr_assert_eq(mkfifo(in_folder("pipe"), 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	sink = open_at(path, folder, 0);
	cr_assert_eq(gt_sink_write(sink, 0, much, sizeof(much)), -EAGAIN);
	while (read(reader, much, sizeof(much)) > 0)
		;
	cr_assert_eq(gt_sink_write(sink, 0, "x", 1), -EAGAIN);
	cr_assert_lt(read(reader, much, 1), 0);
	close(reader);
	gt_sink_close(sink);
}

Test(sink, errno_of_the_program_is_kept, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink *sink = open_at(folder, folder, 0);

	close(descriptor_of(sink));
	errno = 77;
	cr_assert_eq(gt_sink_write(sink, 0, "x", 1), 0);
	cr_assert_eq(errno, 77);
	gt_sink_close(sink);
}

/* ---- what is in the page cache ---- */

#define UNSAVED ((uint64_t)2 << 20)
#define WRITTEN ((uint64_t)32 << 20)

/* Bytes of the file that are in the page cache. */
static uint64_t cached(const char *file)
{
	int fd = open(file, O_RDONLY);
	void *memory = mmap(NULL, WRITTEN, PROT_READ, MAP_SHARED, fd, 0);
	static unsigned char pages[WRITTEN / 4096];
	uint64_t bytes = 0;

	cr_assert(fd >= 0 && memory != MAP_FAILED);
	cr_assert_eq(mincore(memory, WRITTEN, pages), 0);
	for (size_t i = 0; i < WRITTEN / 4096; i++)
		bytes += (pages[i] & 1) * 4096u;
	munmap(memory, WRITTEN);
	close(fd);
	return bytes;
}

static void write_much(struct gt_sink *sink)
{
	static char piece[64 << 10];

	for (uint64_t at = 0; at < WRITTEN; at += sizeof(piece)) {
		memset(piece, (int)(at >> 16), sizeof(piece));
		cr_assert_eq(gt_sink_write(sink, at, piece, sizeof(piece)), 0);
		if (at % (1 << 20) == 0) /* as a header that is kept up to date */
			cr_assert_eq(gt_sink_write(sink, 0, "\0", 1), 0);
	}
}

static void expect_bytes(const char *file)
{
	int fd = open(file, O_RDONLY);

	for (uint64_t at = 0; at < WRITTEN; at += 12345) {
		unsigned char byte = 0;

		cr_assert_eq(pread(fd, &byte, 1, (off_t)at), 1);
		cr_assert_eq(byte, (at >> 16) & 255);
	}
	close(fd);
}

Test(sink, little_of_a_file_stays_in_the_page_cache, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink_options options = {
		.directory = folder, .name = "trace", .suffix = ".json", .unsaved = UNSAVED};
	int error = 0;
	struct gt_sink *sink = gt_sink_open(&options, &error);

	cr_assert_not_null(sink);
	write_much(sink);
	if (gt_sink_is_in_memory(sink)) /* it cannot leave the page cache */
		cr_assert_eq(cached(in_folder("trace.json")), WRITTEN);
	else
		cr_assert_leq(cached(in_folder("trace.json")), UNSAVED);
	gt_sink_close(sink);
	expect_bytes(in_folder("trace.json"));
}

/* The same after the first file is full. */
Test(sink, nor_of_the_next_one, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink_options options = {
		.directory = folder, .name = "trace", .suffix = ".json", .unsaved = UNSAVED};
	int error = 0;
	struct gt_sink *sink = gt_sink_open(&options, &error);
	struct gt_sink *next = gt_sink_open_next(sink, 2, &error);

	cr_assert_not_null(next);
	write_much(next);
	if (!gt_sink_is_in_memory(next))
		cr_assert_leq(cached(gt_sink_path(next)), UNSAVED);
	gt_sink_close(next);
	gt_sink_close(sink);
}
