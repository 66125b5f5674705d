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

#include "collectors/sampler/sampler.h"

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

static enum gt_sample_where await(const struct gt_sample_proc *proc, enum gt_sample_where wanted)
{
	char text[GT_SAMPLE_TEXT];
	enum gt_sample_where where = GT_SAMPLE_UNKNOWN;

	for (int i = 0; i < 60000 && where != wanted; i++) {
		where = gt_sample_proc_read(proc, text, &pc, &sp);
		usleep(1000);
	}
	return where;
}

Test(sampler_proc, a_thread_that_runs_sleeps_and_ends)
{
	struct gt_sample_proc proc;
	pthread_t thread;
	sigset_t set;

	cr_assert_eq(pipe(gate), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, live, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (!atomic_load(&tid))
		;
	cr_assert(gt_sample_proc_open(&proc, tid));
	cr_assert_geq(proc.syscall.fd, 700);
	cr_assert(gt_sample_proc_blocks(&proc, SIGURG));
	cr_assert_not(gt_sample_proc_blocks(&proc, SIGUSR1));
	cr_assert_eq(await(&proc, GT_SAMPLE_RUNNING), GT_SAMPLE_RUNNING);
	atomic_store(&stage, 1);
	cr_assert_eq(await(&proc, GT_SAMPLE_WAITING), GT_SAMPLE_WAITING);
	cr_assert_neq(sp, 0);
	cr_assert_eq(write(gate[1], "x", 1), 1);
	pthread_join(thread, NULL);
	cr_assert_eq(await(&proc, GT_SAMPLE_GONE), GT_SAMPLE_GONE);
	gt_sample_proc_close(&proc);
	cr_assert_eq(proc.syscall.fd, -1);
}

/* The program closes everything, and its own file gets the number. */
Test(sampler_proc, a_descriptor_of_the_program_is_left_alone)
{
	struct gt_sample_proc proc;
	char text[GT_SAMPLE_TEXT];
	int fd, own, ends[2];

	cr_assert(gt_sample_proc_open(&proc, (uint32_t)syscall(SYS_gettid)));
	fd = proc.syscall.fd;
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(write(ends[1], "running\n", 8), 8);
	own = dup2(ends[0], fd);
	cr_assert_eq(own, fd);
	cr_assert_eq(gt_sample_proc_read(&proc, text, &pc, &sp), GT_SAMPLE_UNKNOWN);
	gt_sample_proc_close(&proc);
	cr_assert_eq(read(own, text, 8), 8, "nothing was taken out of it, and it is open");
}

static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

/* Also where a process may have no more than 1024. */
Test(sampler_proc, descriptors_of_many_threads_are_all_high)
{
	struct rlimit limit;
	struct gt_descriptor further;
	int lowest = lowest_free();

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < 1024)
		cr_skip_test("the limit of descriptors is too low");
	limit.rlim_cur = 1024;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (uint32_t i = 0; i < GT_SAMPLER_THREADS; i++) {
		struct gt_sample_proc proc;

		cr_assert(gt_sample_proc_open(&proc, (uint32_t)syscall(SYS_gettid)));
		cr_assert_geq(proc.syscall.fd, 700);
		cr_assert_geq(proc.status.fd, 700);
	}
	cr_assert_eq(gt_descriptor_open(&further, AT_FDCWD, "/dev/null", O_RDONLY, 0), 0);
	cr_assert_geq(further.fd, 700);
	cr_assert_eq(lowest_free(), lowest);
}

Test(sampler_proc, no_such_thread)
{
	struct gt_sample_proc proc;

	cr_assert_not(gt_sample_proc_open(&proc, 0x7ffffff0));
	cr_assert_eq(proc.syscall.fd, -1);
	cr_assert_eq(proc.status.fd, -1);
}
