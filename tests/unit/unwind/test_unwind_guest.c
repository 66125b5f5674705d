/* SPDX-License-Identifier: Apache-2.0
 *
 * What a capture must leave alone: descriptors, the heap, the kernel, errno.
 */
#include "collectors/unwind/unwind.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"
#include "shapes.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define WARM 500

static struct gt_unwind_thread *self;
static uint64_t frames;

static void take(void *context)
{
	const uint64_t *pcs;
	uint64_t key;

	(void)context;
	frames += gt_unwind_capture(self, GT_UNWIND_DEPTH, &pcs, &key);
}

static void take_shapes(uint64_t visits)
{
	struct shapes run = {.random = 21, .visit = take, .visits = visits};

	shapes_o2(&run, 20);
}

#if !SANITIZED
/* Every allocation of the process goes through here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static _Atomic uint64_t allocations;

void *malloc(size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_realloc(memory, size);
}

/* Not even for addresses that are new. */
Test(unwind_guest, a_capture_allocates_nothing)
{
	uint64_t before;
	void *volatile probe;

	self = new_unwind_thread();
	before = atomic_load(&allocations);
	probe = malloc(1);
	cr_assert_eq(atomic_load(&allocations), before + 1, "allocations are not counted");
	free(probe);
	take_shapes(WARM);
	cr_assert_eq(atomic_load(&allocations), before + 1);
	cr_assert_gt(frames, WARM);
	cr_assert_gt(gt_unwind_get_counts().rules, 20);
}
#endif

/* Any system call but write and exit ends the process with SIGSYS. */
static int forbid_system_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void take_again(void)
{
	take_shapes(WARM);
}

/* Runs @body in a child under the filter. Returns its wait status, -1 when there is no seccomp. */
static int run_without_system_calls(void (*body)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		self = new_unwind_thread();
		for (volatile int warm = 0; warm < 2; warm++) { /* both called from one place */
			if (warm && forbid_system_calls() != 0)
				_exit(77);
			(warm ? body : take_again)();
		}
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? -1 : status;
}

static void ask_the_kernel(void)
{
	syscall(SYS_getppid);
}

Test(unwind_guest, a_warm_capture_makes_no_system_call)
{
	int status;

	if (SANITIZED)
		cr_skip_test("sanitizers make system calls of their own");
	status = run_without_system_calls(ask_the_kernel);
	if (status == -1)
		cr_skip_test("no seccomp filters here");
	cr_assert(WIFSIGNALED(status), "the filter lets system calls through");
	status = run_without_system_calls(take_again);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %x", status);
}

/* Open descriptors and what they are, one line each. */
static void list_descriptors(char *out, size_t size)
{
	char path[64], target[200];
	size_t used = 0;

	for (int fd = 0; fd < 256; fd++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		length = readlink(path, target, sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = 0;
		used += (size_t)snprintf(out + used, size - used, "%d %s\n", fd, target);
		cr_assert_lt(used, size);
	}
}

Test(unwind_guest, descriptors_are_left_alone)
{
	static char before[32768], after[32768];

	list_descriptors(before, sizeof(before));
	self = new_unwind_thread();
	take_shapes(WARM);
	list_descriptors(after, sizeof(after));
	cr_assert_str_eq(after, before);
	cr_assert_gt(frames, WARM);
}

/* A daemon's way: close all, and let the numbers be taken by files of its own. Returns what went
 * wrong. */
static const char *take_after_closing_all(void)
{
	static char before[32768], after[32768];
	int pipe_ends[2];
	char word[8] = "";

	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 8; i++)
		if (open("/dev/null", O_RDWR) < 0)
			return "open";
	if (pipe(pipe_ends) != 0)
		return "pipe";
	list_descriptors(before, sizeof(before));
	self->trail.frames = 0;
	take_shapes(WARM);
	list_descriptors(after, sizeof(after));
	if (strcmp(before, after) != 0)
		return "descriptors differ";
	if (write(pipe_ends[1], "intact", 6) != 6 || read(pipe_ends[0], word, 7) != 6)
		return "the pipe does not work";
	return strcmp(word, "intact") == 0 ? NULL : "the pipe was read or written";
}

Test(unwind_guest, descriptors_that_the_program_reused_are_left_alone)
{
	const char *trouble;
	pid_t child;
	int status;

	self = new_unwind_thread();
	child = fork();
	if (child == 0) {
		take_shapes(3); /* more is learned after the closing */
		trouble = take_after_closing_all();
		if (trouble)
			dprintf(2, "%s\n", trouble);
		_exit(trouble != NULL);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
}

Test(unwind_guest, errno_is_kept)
{
	errno = 4711;
	self = new_unwind_thread();
	cr_assert_eq(errno, 4711);
	take(NULL); /* learns addresses */
	cr_assert_eq(errno, 4711);
	self->stack_low = self->stack_high = 0; /* a stack that it does not know */
	take(NULL);
	cr_assert_eq(errno, 4711);
}

Test(unwind_guest, what_was_delivered_is_remembered_until_modules_go)
{
	self = new_unwind_thread();
	take(NULL);
	cr_assert_not(gt_unwind_is_delivered(self, 4711));
	gt_unwind_set_delivered(self, 4711);
	cr_assert(gt_unwind_is_delivered(self, 4711));
	take(NULL);
	cr_assert(gt_unwind_is_delivered(self, 4711));
	gt_unwind_forget(4096, 8192);
	take(NULL);
	cr_assert_not(gt_unwind_is_delivered(self, 4711));
}
