/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of caller objects and their answers, read without a lock.
 *
 * An entry holds while no object is loaded or unloaded: it carries the loader's generation, made of
 * the counts that dl_iterate_phdr reports as dlpi_adds and dlpi_subs. Reading those the official
 * way takes a lock, so calibrate() finds out where ld.so keeps them and proves it against every
 * official reading; where that fails the tables still serve, behind the lock.
 *
 * Readers: generation, extent, target, generation again. Writers are alone, inside dl_iterate_phdr;
 * within one generation an entry is only ever added to, so a reader that sees the same generation
 * twice has seen one entry.
 */
#include "preload/forward.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <driver_types.h>

#include "core/guest/forkgate.h"
#include "core/schema/cuda_api.h"
#include "preload/scope.h"

#define MAX_CALLERS    256
#define SLOTS          1024
#define PAGE_SHIFT     12
#define MAX_CANDIDATES 32
#define WATCHED        4

/* Where ld.so of glibc keeps its state. A test names what does not exist: then the lock serves. */
#ifndef LOADER_STATE
#define LOADER_STATE "_rtld_global"
#endif
#define SPINS 1000000

/* One object that calls us, or one page of generated code. */
struct caller {
	_Atomic uint64_t generation; /* 0: the entry is free */
	_Atomic uintptr_t start;
	_Atomic uintptr_t size;
	_Atomic bool loose; /* answers may change when more objects are loaded */
	_Atomic uintptr_t target[GT_HOOK_COUNT_]; /* 0: not asked yet */
};

static struct caller callers[MAX_CALLERS]; /* the first stays free */
static _Atomic uint16_t slots[SLOTS];      /* page of code -> caller, a hint */
static _Atomic uint32_t several_runtimes;

/* Where ld.so counts. One of the words in adds is the counter of loads; others may hold the same
 * number by chance until it moves, so all are watched. adds[0] is NULL while they are too many. */
static struct {
	_Atomic(const _Atomic uint64_t *) adds[WATCHED];
	_Atomic(const _Atomic uint32_t *) loaded;
	const _Atomic uint64_t *candidates[MAX_CANDIDATES];
	size_t candidate_count;
	bool tried, failed;
} watch;

static uint64_t generation_written; /* that the valid entries carry */
static _Atomic int writer;          /* pid of the process that is in the tables, 0: nobody */

static _Atomic uint64_t walks, guesses, missing;

static const uint16_t cbids[GT_HOOK_COUNT_] = {
#define GT_CUDA_HOOKED(cbid, version, symbol, class, flags, signature) [GT_HOOK_##symbol] = cbid,
#include "core/schema/cuda_api.def"
};

/* What libcudart answers where there is no CUDA. Called with anything, as all hooked calls return
 * an error code and these look at nothing. */
static int no_runtime(void)
{
	return cudaErrorInsufficientDriver;
}

static int no_symbol(void)
{
	return cudaErrorSharedObjectSymbolNotFound;
}

bool gt_forward_is_real(const void *target)
{
	return target != (const void *)no_runtime && target != (const void *)no_symbol;
}

static uint64_t make_generation(uint64_t adds, uint64_t loaded)
{
	return adds << 24 | (loaded & 0xffffff);
}

/* 0: cannot be told without the lock. */
static inline uint64_t current_generation(void)
{
	const _Atomic uint64_t *word = atomic_load_explicit(&watch.adds[0], memory_order_acquire);
	const _Atomic uint32_t *loaded;
	uint64_t adds;

	if (__builtin_expect(!word, 0))
		return 0;
	adds = atomic_load_explicit(word, memory_order_acquire);
	for (int i = 1; i < WATCHED; i++) {
		word = atomic_load_explicit(&watch.adds[i], memory_order_relaxed);
		if (__builtin_expect(atomic_load_explicit(word, memory_order_acquire) != adds, 0))
			return 0;
	}
	loaded = atomic_load_explicit(&watch.loaded, memory_order_relaxed);
	return make_generation(adds, atomic_load_explicit(loaded, memory_order_relaxed));
}

static inline _Atomic uint16_t *slot_of(uintptr_t address)
{
	uintptr_t page = address >> PAGE_SHIFT;

	return &slots[(page ^ page >> 10) % SLOTS];
}

/* An answer and whether it is the own one of the object that was asked for. */
struct answer {
	uintptr_t target; /* 0: not known */
	bool loose;
};

/* What is remembered for @address: no lock, no system call. */
static inline struct answer remembered(enum gt_hook hook, uintptr_t address)
{
	uint16_t slot = atomic_load_explicit(slot_of(address), memory_order_relaxed);
	struct caller *caller = &callers[slot];
	uint64_t generation = current_generation();
	struct answer answer = {0};

	if (!generation ||
	    atomic_load_explicit(&caller->generation, memory_order_acquire) != generation)
		return answer;
	/* acquire, each: the generation is to be read again behind them */
	if (address - atomic_load_explicit(&caller->start, memory_order_acquire) >=
	    atomic_load_explicit(&caller->size, memory_order_acquire))
		return answer;
	answer.target = atomic_load_explicit(&caller->target[hook], memory_order_acquire);
	answer.loose = atomic_load_explicit(&caller->loose, memory_order_acquire);
	if (atomic_load_explicit(&caller->generation, memory_order_relaxed) != generation)
		answer.target = 0;
	return answer;
}

/* ---- from here on: inside dl_iterate_phdr, one thread at a time ---- */

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Collects the places in ld.so's data that hold @adds now. */
static void find_candidates(uint64_t adds)
{
	uintptr_t end = 0;
	uintptr_t data = gt_scope_symbol(LOADER_STATE, "GLIBC_PRIVATE", &end);
	const _Atomic uint32_t *loaded = (const void *)(data + sizeof(void *));

	watch.tried = true;
	/* it begins with the base namespace: { first object, number of objects, ... } */
	watch.failed = !data || end - data < 16 || *loaded != gt_scope_count();
	if (watch.failed)
		return;
	end = end - data > 8192 ? data + 8192 : end;
	for (data += 16; data + 8 <= end; data += 8) {
		if (*(const _Atomic uint64_t *)data == adds &&
		    watch.candidate_count < MAX_CANDIDATES)
			watch.candidates[watch.candidate_count++] = (const void *)data;
	}
	atomic_store_explicit(&watch.loaded, loaded, memory_order_relaxed);
}

/* Learns where the loader's counts are, or finds out that what was learned is wrong. */
static void calibrate(uint64_t adds)
{
	size_t kept = 0;

	if (!watch.tried)
		find_candidates(adds);
	for (size_t i = 0; i < watch.candidate_count; i++) {
		if (*watch.candidates[i] == adds)
			watch.candidates[kept++] = watch.candidates[i];
	}
	watch.candidate_count = kept;
	watch.failed |= !kept || *watch.loaded != gt_scope_count();
	if (watch.failed || kept > WATCHED) {
		atomic_store_explicit(&watch.adds[0], NULL, memory_order_release);
		return;
	}
	/* a reader between these sees words of the old set and the new: the counter is in both */
	for (size_t i = WATCHED; i-- > 0;)
		atomic_store_explicit(&watch.adds[i], watch.candidates[i < kept ? i : 0],
				      memory_order_release);
}

/* Lets entries that still hold enter the new generation, frees the others. */
static void enter_generation(uint64_t generation, enum gt_scope_change change)
{
	if (generation == generation_written)
		return;
	for (size_t i = 1; i < MAX_CALLERS; i++) {
		struct caller *caller = &callers[i];
		bool holds = change != GT_SCOPE_SHRANK && !caller->loose &&
			     caller->generation == generation_written && caller->generation;

		atomic_store_explicit(&caller->generation, holds ? generation : 0,
				      memory_order_release);
	}
	generation_written = generation;
	atomic_store_explicit(&several_runtimes, gt_scope_runtimes() > 1, memory_order_relaxed);
}

/* The entry that serves @address, made if need be. NULL: all are taken. */
static struct caller *caller_for(uintptr_t address)
{
	uintptr_t start = address & -((uintptr_t)1 << PAGE_SHIFT);
	size_t size = (size_t)1 << PAGE_SHIFT;
	struct caller *caller = NULL;
	size_t i;

	for (i = 1; i < MAX_CALLERS; i++) {
		if (callers[i].generation && address - callers[i].start < callers[i].size)
			return &callers[i];
		if (!callers[i].generation && !caller)
			caller = &callers[i];
	}
	if (!caller)
		return NULL;
	caller->loose = !gt_scope_extent(address, &start, &size);
	atomic_store_explicit(&caller->start, start, memory_order_relaxed);
	atomic_store_explicit(&caller->size, size, memory_order_relaxed);
	for (i = 0; i < GT_HOOK_COUNT_; i++)
		atomic_store_explicit(&caller->target[i], 0, memory_order_relaxed);
	atomic_store_explicit(&caller->generation, generation_written, memory_order_release);
	return caller;
}

static uintptr_t work_out(enum gt_hook hook, uintptr_t address, bool *ret_firm)
{
	const struct gt_cuda_api *api = gt_cuda_api_find(GT_API_RUNTIME, cbids[hook]);
	struct gt_scope_answer found = gt_scope_find(address, gt_cuda_api_symbol(api));

	*ret_firm = found.firm;
	if (found.guessed)
		count(&guesses);
	if (found.address)
		return found.address;
	count(&missing);
	return gt_scope_runtimes() ? (uintptr_t)no_symbol : (uintptr_t)no_runtime;
}

static struct answer ask(enum gt_hook hook, uintptr_t address)
{
	struct caller *caller = caller_for(address);
	struct answer answer = {.loose = true};
	bool firm;

	if (caller) {
		answer.target = caller->target[hook];
		answer.loose = caller->loose;
		atomic_store_explicit(slot_of(address), (uint16_t)(caller - callers),
				      memory_order_relaxed);
	}
	if (answer.target)
		return answer;
	answer.target = work_out(hook, address, &firm);
	answer.loose |= !firm;
	if (caller) {
		caller->loose = answer.loose;
		atomic_store_explicit(&caller->target[hook], answer.target, memory_order_release);
	}
	return answer;
}

static void bring_up_to_date(const struct dl_phdr_info *info)
{
	enum gt_scope_change change = gt_scope_refresh(info);
	uint64_t loaded = info->dlpi_adds - info->dlpi_subs;

	if (change != GT_SCOPE_SAME || !current_generation())
		calibrate(info->dlpi_adds);
	if (watch.adds[0])
		loaded = *watch.loaded;
	enter_generation(make_generation(info->dlpi_adds, loaded), change);
}

struct question {
	const char *name; /* NULL: that of the hook */
	enum gt_hook hook;
	uintptr_t address;
	struct answer answer;
	struct gt_forward_named named;
};

static struct gt_forward_named name_caller(uintptr_t address, const char *name)
{
	uintptr_t target = gt_scope_find_any(address, name);

	return (struct gt_forward_named){.target = (void *)target,
					 .caller = gt_scope_path(address),
					 .own = gt_scope_same(address, target)};
}

static void answer_question(struct question *question)
{
	if (question->name)
		question->named = name_caller(question->address, question->name);
	else
		question->answer = ask(question->hook, question->address);
}

/* glibc's lock lets one thread at a time into callbacks, but the same thread twice (a signal
 * handler that calls CUDA). A forked child may find its parent's mark. */
static bool enter_tables(void)
{
	int self = getpid();

	for (int i = 0; i < SPINS; i++) {
		int expected = atomic_load_explicit(&writer, memory_order_relaxed);

		if (expected != self &&
		    atomic_compare_exchange_strong_explicit(
			    &writer, &expected, self, memory_order_acquire, memory_order_relaxed))
			return true;
	}
	return false;
}

static int enter_and_answer(struct dl_phdr_info *info, size_t size, void *context)
{
	if (!enter_tables())
		return 1;
	bring_up_to_date(info);
	answer_question(context);
	atomic_store_explicit(&writer, 0, memory_order_release);
	return 1;
}

static void walk(struct question *question)
{
	int saved = errno;

	count(&walks);
	gt_forkgate_lock();
	dl_iterate_phdr(enter_and_answer, question);
	gt_forkgate_unlock();
	errno = saved;
}

static struct answer find_out(enum gt_hook hook, uintptr_t address)
{
	struct question question = {
		.hook = hook,
		.address = address,
		.answer = {.target = (uintptr_t)no_runtime, .loose = true},
	};

	walk(&question);
	return question.answer;
}

/* ---- any thread again ---- */

void *gt_forward_find(enum gt_hook hook, const void *return_address)
{
	/* the call instruction, not what follows it: that may be another object's first byte */
	uintptr_t address = (uintptr_t)return_address - 1;
	struct answer answer = remembered(hook, address);

	if (__builtin_expect(!answer.target, 0))
		answer = find_out(hook, address);
	return (void *)answer.target;
}

void *gt_forward_launch(enum gt_hook hook, const void *return_address, const void *function)
{
	void *target = gt_forward_find(hook, return_address);
	struct answer answer;

	if (__builtin_expect(!atomic_load_explicit(&several_runtimes, memory_order_relaxed), 1))
		return target;
	answer = remembered(hook, (uintptr_t)function);
	if (!answer.target)
		answer = find_out(hook, (uintptr_t)function);
	return answer.loose ? target : (void *)answer.target;
}

struct gt_forward_named gt_forward_by_name(const char *name, const void *return_address)
{
	struct question question = {.name = name, .address = (uintptr_t)return_address - 1};

	walk(&question);
	return question.named;
}

struct gt_forward_counts gt_forward_counts(void)
{
	return (struct gt_forward_counts){.walks = walks, .guesses = guesses, .missing = missing};
}
