/* SPDX-License-Identifier: Apache-2.0
 *
 * State of threads as reported by the kernel: its texts, and real threads that sleep, run and end.
 */
#include "collectors/sampler/proc.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t pc, sp;

static enum gt_sample_where parse(const char *text)
{
	pc = sp = 0;
	return gt_sample_proc_parse(text, &pc, &sp);
}

Test(sampler_proc, texts)
{
	cr_assert_eq(parse("running\n"), GT_SAMPLE_RUNNING);
	cr_assert_eq(parse("230 0x0 0x0 0x7ffe 0x7fff 0x0 0x0 0x7ffeecb93438 0x7f93beca3503\n"),
		     GT_SAMPLE_WAITING);
	cr_assert_eq(sp, 0x7ffeecb93438);
	cr_assert_eq(pc, 0x7f93beca3503);
	cr_assert_eq(parse("-1 0x7ffe1 0x7f931\n"), GT_SAMPLE_WAITING);
	cr_assert_eq(sp, 0x7ffe1);
	cr_assert_eq(pc, 0x7f931);
}

Test(sampler_proc, texts_that_are_none)
{
	cr_assert_eq(parse(""), GT_SAMPLE_UNKNOWN);
	cr_assert_eq(parse("\n"), GT_SAMPLE_UNKNOWN);
	cr_assert_eq(parse("230 0x0 0x0\n"), GT_SAMPLE_UNKNOWN);
	cr_assert_eq(parse("230 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f93"), GT_SAMPLE_UNKNOWN);
	cr_assert_eq(parse("230 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffe zebra\n"), GT_SAMPLE_UNKNOWN);
	cr_assert_eq(parse("230 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"), GT_SAMPLE_UNKNOWN);
	cr_assert_eq(parse("230 0x0 0x0 0x0 0x0 0x0 0x0 0x11111111111111111 0x1\n"),
		     GT_SAMPLE_UNKNOWN);
	cr_assert_eq(parse("a file of the program's\n"), GT_SAMPLE_UNKNOWN);
}

Test(sampler_proc, masks)
{
	uint64_t mask = 0;

	cr_assert(gt_sample_proc_parse_mask("Name:\tx\nSigPnd:\t00\nSigBlk:\t0000000000400001\nS",
					    &mask));
	cr_assert_eq(mask, 0x400001);
	cr_assert_not(gt_sample_proc_parse_mask("Name:\tx\n", &mask));
}

static _Atomic uint32_t tid;
static _Atomic int stage; /* 0: run, 1: sleep, 2: end */
static int gate[2];

static void *live(void *unused)
{
	char byte;

	atomic_store(&tid, (uint32_t)syscall(SYS_gettid));
	while (atomic_load(&stage) == 0)
		;
	cr_expect_eq(read(gate[0], &byte, 1), 1);
	return NULL;
}

static enum gt_sample_where await(enum gt_sample_where wanted)
{
	char text[GT_SAMPLE_TEXT];
	enum gt_sample_where where = GT_SAMPLE_UNKNOWN;

	for (int i = 0; i < 60000 && where != wanted; i++) {
		where = gt_sample_proc_read(tid, text, &pc, &sp);
		usleep(1000);
	}
	return where;
}

static void watch(void)
{
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, live, NULL);
	while (!atomic_load(&tid))
		;
	cr_expect(gt_sample_proc_blocks(tid, SIGURG));
	cr_expect_not(gt_sample_proc_blocks(tid, SIGUSR1));
	cr_expect_eq(await(GT_SAMPLE_RUNNING), GT_SAMPLE_RUNNING);
	atomic_store(&stage, 1);
	cr_expect_eq(await(GT_SAMPLE_WAITING), GT_SAMPLE_WAITING);
	cr_expect_neq(sp, 0);
	cr_expect_eq(write(gate[1], "x", 1), 1);
	pthread_join(thread, NULL);
	cr_expect_eq(await(GT_SAMPLE_GONE), GT_SAMPLE_GONE);
}

Test(sampler_proc, a_thread_that_runs_sleeps_and_ends)
{
	cr_assert_eq(pipe(gate), 0);
	watch();
}

static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

/* In the system call that reads. */
static enum gt_sample_where read_myself(void)
{
	char text[GT_SAMPLE_TEXT];

	return gt_sample_proc_read((uint32_t)syscall(SYS_gettid), text, &pc, &sp);
}

static void use_all_descriptors(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 64;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
}

/* A sanitizer's report needs the descriptors of the process. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void run(void *(*on_thread)(void *))
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, on_thread, NULL), 0);
	pthread_join(thread, NULL);
}

static void *start_and_read(void *unused)
{
	gt_sample_proc_start();
	cr_expect_eq(read_myself(), GT_SAMPLE_WAITING);
	cr_expect_not(gt_sample_proc_blocks((uint32_t)syscall(SYS_gettid), SIGURG));
	return NULL;
}

static void *see_table(void *unused)
{
	gt_sample_proc_start();
	cr_expect_eq(lowest_free(), 0);
	return NULL;
}

Test(sampler_proc, the_table_is_its_own)
{
	int lowest = lowest_free();

	run(see_table);
	cr_assert_gt(lowest, 2);
	cr_assert_eq(lowest_free(), lowest, "that of the process is as it was");
}

Test(sampler_proc, it_reads_while_the_program_has_all_descriptors)
{
	use_all_descriptors();
	run(start_and_read);
}
#endif

Test(sampler_proc, in_a_shared_table_it_leaves_the_last_descriptors_to_the_program)
{
	int lowest = lowest_free(), last;

	cr_assert_eq(read_myself(), GT_SAMPLE_WAITING);
	cr_assert_not(gt_sample_proc_blocks((uint32_t)syscall(SYS_gettid), SIGURG));
	cr_assert_eq(lowest_free(), lowest);
	use_all_descriptors();
	cr_assert_eq(read_myself(), GT_SAMPLE_NO_DESCRIPTOR);
	for (last = 63; last > 56; last--) {
		close(last);
		cr_assert_eq(read_myself(), GT_SAMPLE_NO_DESCRIPTOR);
	}
	close(last);
	cr_assert_eq(read_myself(), GT_SAMPLE_WAITING);
	cr_assert_eq(lowest_free(), last);
}

Test(sampler_proc, no_such_thread)
{
	char text[GT_SAMPLE_TEXT];

	cr_assert_eq(gt_sample_proc_read(0x7ffffff0, text, &pc, &sp), GT_SAMPLE_GONE);
	cr_assert(gt_sample_proc_blocks(0x7ffffff0, SIGURG));
}
