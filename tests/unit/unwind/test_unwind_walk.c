/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks equal those that libunwind finds step by step: for every shape of frame, at every
 * instruction, on all kinds of stacks, in signal handlers, threads and constructors.
 */
#include "collectors/unwind/unwind.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "compare.h"
#include "shapes.h"

#define STACKS 400

static void visit(void *context)
{
	compare_here(context);
}

/* From the second time on the stack is the same, until the next visit. */
static void visit_thrice(void *context)
{
	for (volatile int i = 0; i < 3; i++)
		compare_here(context);
}

static void compare_visits(shapes_fn *shapes, uint64_t seed, void (*visitor)(void *), uint64_t each)
{
	struct comparison comparison = {0};
	struct shapes run = {
		.random = seed, .visit = visitor, .context = &comparison, .visits = STACKS};

	comparison.thread = new_unwind_thread();
	shapes(&run, 24);
	compare_check(&comparison);
	cr_assert_eq(comparison.stacks, STACKS * each);
	cr_assert_eq(comparison.unruly, 0);
}

static void compare_shapes(shapes_fn *shapes, uint64_t seed)
{
	compare_visits(shapes, seed, visit, 1);
}

Test(unwind, stacks_that_come_again_and_change)
{
	compare_visits(shapes_o0, 21, visit_thrice, 3);
	compare_visits(shapes_o2, 22, visit_thrice, 3);
	compare_visits(shapes_frame_pointer, 23, visit_thrice, 3);
}

Test(unwind, every_shape_without_optimisation)
{
	compare_shapes(shapes_o0, 11);
}

Test(unwind, every_shape_without_frame_pointers)
{
	compare_shapes(shapes_o2, 12);
}

Test(unwind, every_shape_with_wide_vectors)
{
	if (!__builtin_cpu_supports("avx2"))
		cr_skip_test("this processor has no AVX2");
	compare_shapes(shapes_o3_wide, 13);
}

Test(unwind, every_shape_with_frame_pointers)
{
	compare_shapes(shapes_frame_pointer, 14);
}

static void *compare_in_thread(void *seed)
{
	compare_shapes(shapes_o2, (uint64_t)seed);
	return NULL;
}

Test(unwind, threads_share_what_they_learn)
{
	pthread_t threads[4];

	compare_shapes(shapes_o0, 99); /* libunwind's own start is not free of races */
	for (uint64_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, compare_in_thread, (void *)(100 + i));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* Deeper than the walk goes. */
static int recurse(int depth, struct comparison *comparison)
{
	int result;

	if (depth == 0) {
		compare_here(comparison);
		return 0;
	}
	result = recurse(depth - 1, comparison);
	__asm__ volatile("" : "+r"(result));
	return result + 1;
}

Test(unwind, deep_recursion_is_cut_at_the_depth)
{
	struct comparison comparison = {0};

	comparison.thread = new_unwind_thread();
	for (int depth = 200; depth < 600; depth += 7)
		recurse(depth, &comparison);
	for (int depth = 600; depth > 200; depth -= 11)
		recurse(depth, &comparison);
	compare_check(&comparison);
}

/* ThreadSanitizer runs handlers of signals later, from code of its own. */
#ifdef __SANITIZE_THREAD__
#define NEEDS_SIGNALS() cr_skip_test("signals are not delivered in place")
#else
#define NEEDS_SIGNALS()
#endif

static struct {
	struct comparison comparison;
	uint64_t steps, max_steps;
} handled;

static void on_signal(int number)
{
	(void)number;
	compare_here(&handled.comparison);
}

static void raise_it(void *context)
{
	(void)context;
	raise(SIGUSR1);
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(number, &action, NULL);
}

static void compare_in_handler(int flags)
{
	struct shapes run = {.random = 15, .visit = raise_it, .visits = 50};

	handled.comparison.thread = new_unwind_thread();
	handle(SIGUSR1, on_signal, flags);
	shapes_o2(&run, 12);
	compare_check(&handled.comparison);
	cr_assert_eq(handled.comparison.stacks, 50);
}

Test(unwind, through_a_signal_handler)
{
	NEEDS_SIGNALS();
	compare_in_handler(0);
}

Test(unwind, through_a_signal_handler_on_its_own_stack)
{
	static char memory[65536];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};

	NEEDS_SIGNALS();
	sigaltstack(&stack, NULL);
	compare_in_handler(SA_ONSTACK);
	cr_assert_gt(gt_unwind_get_counts().probed, 0);
}

#ifdef __x86_64__
static void set_trap(bool on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void on_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *machine = context;

	(void)number;
	(void)info;
	if (handled.steps++ < handled.max_steps)
		compare_here(&handled.comparison);
	else
		machine->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

static void nothing(void *context)
{
	(void)context;
}

/*
 * At each instruction of prologues, epilogues, PLT entries and the lazy binding after them. The
 * loader's resolver finds its frame through rbx, which is not followed: those stacks are counted.
 */
static void compare_each_instruction(shapes_fn *shapes, uint64_t seed)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	struct shapes run = {.random = seed, .visit = nothing, .visits = 60};

	handled.comparison.thread = new_unwind_thread();
	handled.max_steps = 6000;
	sigaction(SIGTRAP, &action, NULL);
	set_trap(true);
	shapes(&run, 10);
	set_trap(false);
	compare_check(&handled.comparison);
	cr_assert_gt(handled.comparison.stacks, 2000);
	cr_assert_lt(handled.comparison.unruly * 2, handled.comparison.stacks);
}

Test(unwind, at_every_instruction_without_frame_pointers)
{
	NEEDS_SIGNALS();
	compare_each_instruction(shapes_o2, 16);
}

Test(unwind, at_every_instruction_with_frame_pointers)
{
	NEEDS_SIGNALS();
	compare_each_instruction(shapes_frame_pointer, 17);
}

Test(unwind, at_every_instruction_without_optimisation)
{
	NEEDS_SIGNALS();
	compare_each_instruction(shapes_o0, 18);
}
#endif

static struct comparison constructed;
static bool asks_plugin;

void (*plugin_visitor(void))(void *);
void *plugin_context(void);

void (*plugin_visitor(void))(void *)
{
	return asks_plugin ? visit : NULL;
}

void *plugin_context(void)
{
	return &constructed;
}

Test(unwind, inside_a_library_constructor)
{
	constructed.thread = new_unwind_thread();
	asks_plugin = true;
	cr_assert_not_null(dlopen(getenv("GT_TEST_UNWIND_PLUGIN_1"), RTLD_NOW | RTLD_LOCAL));
	compare_check(&constructed);
	cr_assert_eq(constructed.stacks, 1);
}

static int compare_in_plugin(int n)
{
	compare_here(&constructed);
	return n;
}

/* Another library at the place of one that went: what was learned of the old one must be gone. */
Test(unwind, after_a_library_was_replaced)
{
	int (*call)(int (*)(int), int);

	constructed.thread = new_unwind_thread();
	for (int i = 0; i < 20; i++) {
		void *plugin = dlopen(
			getenv(i % 2 ? "GT_TEST_UNWIND_PLUGIN_1" : "GT_TEST_UNWIND_PLUGIN_2"),
			RTLD_NOW | RTLD_LOCAL);
		Dl_info info;

		cr_assert_not_null(plugin, "%s", dlerror());
		call = (int (*)(int (*)(int), int))dlsym(plugin, "plugin_call");
		cr_assert_not_null(call);
		cr_assert_eq(call(compare_in_plugin, i), i);
		cr_assert_neq(dladdr((void *)call, &info), 0);
		dlclose(plugin);
		gt_unwind_forget((uint64_t)info.dli_fbase, (uint64_t)info.dli_fbase + 65536);
	}
	compare_check(&constructed);
}

static ucontext_t coroutine, outside;
static struct comparison *inside;

static void run_coroutine(void)
{
	struct shapes run = {.random = 19, .visit = visit, .context = inside, .visits = 60};

	shapes_o2(&run, 24);
}

static void make_coroutine(void *stack, size_t size)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = size;
	coroutine.uc_link = &outside;
	makecontext(&coroutine, run_coroutine, 0);
}

static void compare_in_coroutine(void *stack, size_t size)
{
	make_coroutine(stack, size);
	swapcontext(&outside, &coroutine);
}

/* A stack that is not the thread's own, with memory after it that must not be touched. */
Test(unwind, in_a_coroutine)
{
	const size_t size = 4 << 20;
	struct comparison comparison = {0};
	char *memory =
		mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	comparison.thread = new_unwind_thread();
	inside = &comparison;
	mprotect(memory + size, 4096, PROT_NONE);
	compare_here(&comparison);
	for (size_t used = size; used > size - 4096; used -= 1024) {
		compare_in_coroutine(memory, used);
		compare_here(&comparison);
	}
	compare_check(&comparison);
	cr_assert_gt(gt_unwind_get_counts().probed, 0);
}

#ifdef __x86_64__
/* The kernel leaves 128 MiB between the start of the main stack and what it maps without an
 * address. Arguments and environment, 6 MiB at most, are above what counts as the stack here. */
#define NEAREST_MAPPING ((size_t)122 << 20)

/* Memory as near below the main stack as the kernel puts it, with the limit of that stack raised as
 * far as may be. NULL: the limit is too low for this, or something else is there. */
static char *map_near_main_stack(size_t size)
{
	struct rlimit limit;
	char *place, *memory;

	getrlimit(RLIMIT_STACK, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_STACK, &limit);
	if (limit.rlim_max < 2 * NEAREST_MAPPING)
		return NULL;
	place = (char *)(((uintptr_t)&limit & ~(uintptr_t)4095) - NEAREST_MAPPING - size);
	memory = mmap(place, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return memory == place ? memory : NULL;
}

/* As other libraries for coroutines do, whose stacks lead nowhere. */
static void compare_in_rootless_coroutine(void *stack, size_t size)
{
	make_coroutine(stack, size);
	coroutine.uc_mcontext.gregs[REG_RBP] = 0;
	swapcontext(&outside, &coroutine);
}

/* Its stack could be more of the thread's own, but for that it may be unmapped. */
Test(unwind, in_a_coroutine_near_the_main_stack)
{
	const size_t size = 256 << 10;
	struct comparison comparison = {0};
	char *memory = map_near_main_stack(2 * size);

	if (!memory)
		cr_skip_test("no room below the main stack");
	comparison.thread = new_unwind_thread();
	inside = &comparison;
	compare_in_rootless_coroutine(memory + size, size);
	munmap(memory + size, size);
	compare_in_rootless_coroutine(memory, size);
	compare_here(&comparison);
	compare_check(&comparison);
}
#endif

struct capture {
	uint64_t key;
	uint32_t count;
	uint64_t pcs[8];
};

static __attribute__((noinline)) void capture(struct gt_unwind_thread *thread,
					      struct capture *ret_capture)
{
	const uint64_t *pcs;

	ret_capture->count = gt_unwind_capture(thread, 8, &pcs, &ret_capture->key);
	memcpy(ret_capture->pcs, pcs, ret_capture->count * sizeof(*pcs));
}

static void *capture_in_thread(void *result)
{
	capture(new_unwind_thread(), result);
	return NULL;
}

Test(unwind, the_key_is_of_the_addresses)
{
	struct capture captures[3];
	pthread_t thread;

	for (int i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, capture_in_thread, &captures[i]);
		pthread_join(thread, NULL);
	}
	cr_assert_gt(captures[0].count, 2);
	cr_assert_neq(captures[0].key, 0);
	for (int i = 1; i < 3; i++) {
		cr_assert_eq(captures[i].count, captures[0].count);
		cr_assert_arr_eq(captures[i].pcs, captures[0].pcs, captures[0].count * 8);
		cr_assert_eq(captures[i].key, captures[0].key);
	}
}

Test(unwind, max_cuts_the_outer_frames)
{
	struct gt_unwind_thread *thread;
	const uint64_t *pcs;
	uint64_t key[4], whole[GT_UNWIND_DEPTH];
	uint32_t count = 0, n;

	thread = new_unwind_thread();
	for (volatile int i = 0; i < 4; i++) { /* one call, not four */
		static const uint32_t max[4] = {GT_UNWIND_DEPTH, 2, 2, GT_UNWIND_DEPTH};

		n = gt_unwind_capture(thread, max[i], &pcs, &key[i]);
		if (i == 0) {
			count = n;
			memcpy(whole, pcs, n * sizeof(*pcs));
		}
		cr_assert_eq(n, max[i] < count ? max[i] : count);
		cr_assert_arr_eq(pcs, whole, n * sizeof(*pcs));
	}
	cr_assert_gt(count, 2);
	cr_assert_eq(key[1], key[2]);
	cr_assert_eq(key[0], key[3]);
	cr_assert_neq(key[0], key[1]);
}
