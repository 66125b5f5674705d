/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks the interpreter's frames, see the header. Nothing is trusted: pages are tested before they
 * are read, code objects are recognized by type, a chain must end, and the very first stack must be
 * consistent from end to end, or the whole collector is switched off.
 */
#include "collectors/python/python.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "collectors/python/chain.h"
#include "collectors/python/codes.h"
#include "collectors/python/runtime.h"

enum trust {
	UNPROVEN, /* no stack has been walked */
	PROVEN,
	REFUTED,
};

/* What a walk delivers. */
struct gt_python_words {
	uint64_t *frames;
	uint32_t count, max;
};

typedef int (*walk_function)(const struct gt_python_runtime *runtime, struct gt_python_known *known,
			     uint64_t frame, struct gt_python_words *words);

static walk_function find_walk(const struct gt_python_layout *layout);

static struct {
	struct gt_python_runtime runtime; /* written before `on` */
	walk_function walk;               /* the same */
	_Atomic bool on;
	_Atomic int trust;
	_Atomic uint64_t broken, foreign;
} python;

const char *gt_python_start(void)
{
	struct gt_python_runtime runtime;
	const char *why;

	if (atomic_load_explicit(&python.trust, memory_order_relaxed) == REFUTED)
		return "the interpreter is not laid out as its version says";
	if (atomic_load_explicit(&python.on, memory_order_relaxed))
		return NULL;
	why = gt_python_runtime_find(&runtime);
	if (why)
		return *why ? why : NULL;
	if (gt_python_codes_start())
		return "there is no memory";
	python.runtime = runtime;
	python.walk = find_walk(&runtime.layout);
	/* pairs with the acquire in gt_python_capture */
	atomic_store_explicit(&python.on, true, memory_order_release);
	return NULL;
}

uint32_t gt_python_version(void)
{
	return atomic_load_explicit(&python.on, memory_order_acquire) ? python.runtime.version : 0;
}

uint64_t gt_python_address(void)
{
	return atomic_load_explicit(&python.on, memory_order_acquire) ? python.runtime.code_type
								      : 0;
}

/* The loop of a frame ends the group of Python frames that it runs; a loop that runs none, because
 * its last frame has just returned, is delivered as a frame without code. */
static uint32_t mark_loop(uint64_t *frames, uint32_t count, uint32_t max)
{
	if (count > 0 && !gt_python_is_entry(frames[count - 1])) {
		frames[count - 1] |= gt_python_pack(0, true, 0);
		return count;
	}
	if (count < max)
		frames[count++] = gt_python_pack(0, true, 0);
	return count;
}

static inline struct gt_python_known *known_of(struct gt_python_known *known, uint64_t frame)
{
	return &known[(frame >> 6 ^ frame >> 13) % GT_PYTHON_KNOWN];
}

/* Whether the frame at the address of @known is as it was, with a code object that is as it was.
 * It was readable. */
static inline __attribute__((always_inline)) bool is_unchanged(const struct gt_python_offsets *o,
							       uint64_t type,
							       const struct gt_python_known *known,
							       uint64_t frame)
{
	return known->frame == frame &&
	       (gt_python_word(frame, o->code) & ~GT_PYTHON_TAG_BITS) == known->original->object &&
	       gt_python_word(frame, o->instruction) == known->instruction &&
	       gt_python_byte(frame, o->kind) == known->word >> GT_PYTHON_KIND_SHIFT &&
	       gt_python_code_is_unchanged(o, type, known->original);
}

/* @word: what was read of the frame, which has its place at @known. */
static void remember(const struct gt_python_layout *layout, struct gt_python_known *known,
		     uint64_t frame, uint64_t word)
{
	const struct gt_python_code *code = gt_python_codes_at(gt_python_code_of(word));
	struct gt_python_offsets o = gt_python_offsets_of(layout);
	uint64_t object = gt_python_word(frame, o.code) & ~GT_PYTHON_TAG_BITS;

	known->frame = 0;
	if (!code || !code->table || object != code->object)
		return;
	*known = (struct gt_python_known){
		.frame = frame,
		.instruction = gt_python_word(frame, o.instruction),
		.original = code,
		.word = word | (uint64_t)gt_python_byte(frame, o.kind) << GT_PYTHON_KIND_SHIFT,
	};
}

static uint64_t pack_frame(const struct gt_python_runtime *runtime, struct gt_python_known *known,
			   uint64_t frame)
{
	const struct gt_python_layout *layout = &runtime->layout;
	uint64_t code = gt_python_word(frame, layout->frame_code) & ~GT_PYTHON_TAG_BITS;
	uint64_t word = gt_python_pack(gt_python_codes_number(runtime, code),
				       gt_python_frame_is_entry(layout, frame),
				       gt_python_frame_offset(layout, frame, code));

	remember(layout, known_of(known, frame), frame, word);
	return word;
}

/* @page: of the frame before; set to this one's if all of it is there. */
static inline bool can_read_frame(const struct gt_python_layout *layout, uint64_t frame,
				  uint64_t *page)
{
	uint64_t first = frame >> GT_PYTHON_PAGE_BITS;
	uint64_t last = (frame + layout->frame_size - 1) >> GT_PYTHON_PAGE_BITS;

	if (__builtin_expect(first == *page && last == *page, 1))
		return true;
	*page = last;
	return gt_python_can_read(frame, layout->frame_size);
}

/* One frame that is new or has changed. */
static int walk_changed(const struct gt_python_runtime *runtime, struct gt_python_known *known,
			uint64_t frame, uint64_t *page, struct gt_python_words *words)
{
	const struct gt_python_layout *layout = &runtime->layout;

	if (frame % sizeof(uint64_t) || !can_read_frame(layout, frame, page))
		return -EFAULT;
	if (gt_python_frame_is_loop(layout, frame))
		words->count = mark_loop(words->frames, words->count, words->max);
	else
		words->frames[words->count++] = pack_frame(runtime, known, frame);
	return 0;
}

static inline __attribute__((always_inline)) int walk(const struct gt_python_offsets *o,
						      const struct gt_python_runtime *runtime,
						      struct gt_python_known *known, uint64_t frame,
						      struct gt_python_words *words)
{
	const struct gt_python_layout *layout = &runtime->layout;
	uint64_t type = runtime->code_type;
	uint64_t mark = 0; /* an earlier frame, moved at powers of two: finds cycles */
	uint64_t page = 0; /* with the last frame: frames are close together from 3.11 on */
	uint32_t count = 0, max = words->max;
	int error;

	for (uint32_t steps = 1; frame && count < max; steps++) {
		const struct gt_python_known *before = known_of(known, frame);

		if (frame == mark)
			return -ELOOP;
		if ((steps & (steps - 1)) == 0)
			mark = frame;
		if (is_unchanged(o, type, before, frame)) {
			words->frames[count++] = before->word << 8 >> 8;
			frame = gt_python_word(frame, o->previous);
			continue;
		}
		words->count = count;
		error = walk_changed(runtime, known, frame, &page, words);
		if (error)
			return error;
		count = words->count;
		frame = gt_python_word(frame, o->previous);
	}
	/* the loop of the last frame that fits */
	if (frame && layout->entry == GT_PYTHON_ENTRY_OWNER &&
	    gt_python_can_read(frame, layout->frame_size) && gt_python_frame_is_loop(layout, frame))
		count = mark_loop(words->frames, count, count);
	words->count = count;
	return 0;
}

static int walk_any(const struct gt_python_runtime *runtime, struct gt_python_known *known,
		    uint64_t frame, struct gt_python_words *words)
{
	struct gt_python_offsets offsets = gt_python_offsets_of(&runtime->layout);

	return walk(&offsets, runtime, known, frame, words);
}

/* The same with the numbers of a version: constants take fewer instructions. A version whose
 * offsets are others is walked all the same. */
#define WALK(name, ...)                                                                            \
	static const struct gt_python_offsets offsets_##name = {__VA_ARGS__};                      \
	static int walk_##name(const struct gt_python_runtime *runtime,                            \
			       struct gt_python_known *known, uint64_t frame,                      \
			       struct gt_python_words *words)                                      \
	{                                                                                          \
		return walk(&offsets_##name, runtime, known, frame, words);                        \
	}

WALK(3_8, 32, 104, 24, 32, 8, 120, 112, 104, 40, 16, 32)
WALK(3_10, 32, 96, 24, 32, 8, 120, 112, 104, 40, 16, 32)
WALK(3_11, 32, 56, 48, 68, 8, 136, 128, 112, 72, 16, 32)
WALK(3_12, 0, 56, 8, 70, 8, 136, 128, 112, 68, 16, 32)
WALK(3_14, 0, 56, 8, 74, 8, 136, 128, 112, 68, 16, 32)

static const struct {
	const struct gt_python_offsets *offsets;
	walk_function walk;
} walks[] = {
	{&offsets_3_8, walk_3_8},   {&offsets_3_10, walk_3_10}, {&offsets_3_11, walk_3_11},
	{&offsets_3_12, walk_3_12}, {&offsets_3_14, walk_3_14},
};

static walk_function find_walk(const struct gt_python_layout *layout)
{
	struct gt_python_offsets offsets = gt_python_offsets_of(layout);

	for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++)
		if (!memcmp(walks[i].offsets, &offsets, sizeof(offsets)))
			return walks[i].walk;
	return walk_any;
}

int gt_python_walk(const struct gt_python_runtime *runtime, struct gt_python_known *known,
		   uint64_t frame, uint32_t max, uint64_t *ret_frames, uint32_t *ret_count)
{
	struct gt_python_words words = {.frames = ret_frames, .max = max};
	int error = find_walk(&runtime->layout)(runtime, known, frame, &words);

	if (!error)
		*ret_count = words.count;
	return error;
}

static int find_frame(const struct gt_python_layout *layout, uint64_t state, uint64_t *ret_frame)
{
	uint64_t frame;

	if (!gt_python_can_read(state, layout->thread_id + sizeof(uint64_t)))
		return -EFAULT;
	frame = gt_python_word(state, layout->thread_frame);
	if (layout->cframe_frame != GT_PYTHON_NO_FIELD) {
		if (frame && !gt_python_can_read(frame, layout->cframe_frame + sizeof(frame)))
			return -EFAULT;
		frame = frame ? gt_python_word(frame, layout->cframe_frame) : 0;
	}
	*ret_frame = frame;
	return 0;
}

/* A thread state that is new to this thread must say that it belongs to this thread. */
static bool is_own(struct gt_python_thread *thread, uint64_t state)
{
	const struct gt_python_layout *layout = &python.runtime.layout;

	if (thread->state == (void *)state)
		return !thread->refused;
	if (!gt_python_can_read(state, layout->thread_id + sizeof(uint64_t)))
		return false;
	thread->state = (void *)state;
	thread->owner = (uint64_t)pthread_self();
	thread->refused = gt_python_word(state, layout->thread_id) != thread->owner;
	if (thread->refused)
		atomic_fetch_add_explicit(&python.foreign, 1, memory_order_relaxed);
	return !thread->refused;
}

/* The very first stack: each frame has a code object, each instruction is inside its code. */
static bool makes_sense(const uint64_t *frames, uint32_t count)
{
	const struct gt_python_code *code;
	bool has_code = false;

	for (uint32_t i = 0; i < count; i++) {
		int32_t offset = gt_python_offset_of(frames[i]);

		if (frames[i] == gt_python_pack(0, true, 0))
			continue;
		code = gt_python_codes_at(gt_python_code_of(frames[i]));
		if (!code || (offset >= 0 && (uint32_t)offset >= code->length))
			return false;
		has_code = true;
	}
	return has_code;
}

static bool is_proven(const uint64_t *frames, uint32_t count)
{
	int unproven = UNPROVEN;
	bool sense;

	if (atomic_load_explicit(&python.trust, memory_order_relaxed) == PROVEN)
		return true;
	sense = makes_sense(frames, count);
	if (atomic_compare_exchange_strong(&python.trust, &unproven, sense ? PROVEN : REFUTED) &&
	    !sense)
		atomic_store(&python.on, false);
	return sense;
}

static uint64_t hash_frames(const uint64_t *frames, uint32_t count)
{
	uint64_t sum = count;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t x = (frames[i] + i * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;

		sum += (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	}
	return sum ^ sum >> 29;
}

/* The same stack as the last one has its key. */
static uint64_t key_of(struct gt_python_thread *thread, uint32_t count)
{
	uint32_t bytes = count * (uint32_t)sizeof(thread->frames[0]);

	if (count == thread->last_count &&
	    gt_python_same((const uint8_t *)thread->frames, (const uint8_t *)thread->last, bytes))
		return thread->last_key;
	memcpy(thread->last, thread->frames, bytes);
	thread->last_count = count;
	thread->last_key = hash_frames(thread->frames, count);
	return thread->last_key;
}

static uint32_t walk_thread(struct gt_python_thread *thread, uint32_t max)
{
	const struct gt_python_runtime *runtime = &python.runtime;
	void *state = runtime->get_state();
	struct gt_python_words words = {.frames = thread->frames, .max = max};
	uint32_t count = 0;
	uint64_t frame;
	int error;

	/* at its end the interpreter frees the states of threads that still run */
	if (!state || runtime->is_finalizing() || !is_own(thread, (uint64_t)state))
		return 0;
	error = find_frame(&runtime->layout, (uint64_t)state, &frame);
	if (!error)
		error = python.walk(runtime, thread->known, frame, &words);
	count = error ? 0 : words.count;
	if (error)
		atomic_fetch_add_explicit(&python.broken, 1, memory_order_relaxed);
	if (error && atomic_load_explicit(&python.trust, memory_order_relaxed) == PROVEN)
		return 0;
	if (!error && count == 0)
		return 0;
	return is_proven(thread->frames, error ? 0 : count) ? count : 0;
}

uint32_t gt_python_capture(struct gt_python_thread *thread, uint32_t max,
			   const uint64_t **ret_frames, uint64_t *ret_key)
{
	uint32_t count;
	int saved;

	/* pairs with the release in gt_python_start */
	if (!atomic_load_explicit(&python.on, memory_order_acquire))
		return 0;
	saved = errno;
	count = walk_thread(thread, max < GT_PYTHON_DEPTH ? max : GT_PYTHON_DEPTH);
	errno = saved;
	if (count == 0)
		return 0;
	*ret_frames = thread->frames;
	*ret_key = key_of(thread, count);
	return count;
}

const struct gt_python_runtime *gt_python_proven(void)
{
	if (!atomic_load_explicit(&python.on, memory_order_acquire) ||
	    atomic_load_explicit(&python.trust, memory_order_relaxed) != PROVEN ||
	    python.runtime.is_finalizing())
		return NULL;
	return &python.runtime;
}

struct gt_python_counts gt_python_get_counts(void)
{
	return (struct gt_python_counts){
		.broken = atomic_load_explicit(&python.broken, memory_order_relaxed),
		.foreign = atomic_load_explicit(&python.foreign, memory_order_relaxed),
	};
}
