/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks of a fake interpreter, with hand-made objects, valid and malformed.
 */
#include "collectors/python/python.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "collectors/python/codes.h"
#include "collectors/python/frames.h"
#include "collectors/python/peek.h"
#include "collectors/python/runtime.h"

#define WORDS 32
#define DEPTH 64

/* An object of any type, large enough for each. */
union object {
	uint64_t word[WORDS];
	uint8_t byte[WORDS * 8];
};

static union object code_type, string_type, bytes_type;
static struct gt_python_runtime runtime;
static uint64_t frames[DEPTH];
static uint32_t count;

static void start(uint32_t hex)
{
	cr_assert_null(gt_python_layout_find(hex, NULL, &runtime.layout));
	runtime.code_type = (uint64_t)&code_type;
	runtime.string_type = (uint64_t)&string_type;
	runtime.bytes_type = (uint64_t)&bytes_type;
	cr_assert_eq(gt_python_codes_start(), 0);
}

static void start_3_11(void)
{
	start(0x030b0000);
}

static void start_3_12(void)
{
	start(0x030c0000);
}

static void put_word(union object *object, uint32_t offset, uint64_t value)
{
	memcpy(object->byte + offset, &value, 8);
}

/* A compact ASCII string. */
static uint64_t make_string(union object *object, const char *text)
{
	const struct gt_python_layout *layout = &runtime.layout;

	memset(object, 0, sizeof(*object));
	put_word(object, layout->object_type, runtime.string_type);
	put_word(object, layout->string_length, strlen(text));
	object->byte[layout->string_state] = 1 << 2 | 1 << 5 | 1 << 6;
	memcpy(object->byte + layout->string_ascii, text, strlen(text));
	return (uint64_t)object;
}

static uint64_t make_bytes(union object *object, const void *bytes, size_t size)
{
	memset(object, 0, sizeof(*object));
	put_word(object, runtime.layout.object_type, runtime.bytes_type);
	put_word(object, runtime.layout.bytes_size, size);
	memcpy(object->byte + runtime.layout.bytes_data, bytes, size);
	return (uint64_t)object;
}

/* A code object of 20 bytes of instructions, with the line @line for each of them. */
struct code {
	union object object, name, file, table;
};

static uint64_t make_code(struct code *code, const char *name, int32_t line)
{
	static const uint8_t table[] = {0xef, 0x00, 0xe9, 0x00}; /* no columns, delta 0 */
	const struct gt_python_layout *layout = &runtime.layout;

	memset(&code->object, 0, sizeof(code->object));
	put_word(&code->object, layout->object_type, runtime.code_type);
	put_word(&code->object, layout->bytes_size, 10);
	put_word(&code->object, layout->code_name, make_string(&code->name, name));
	put_word(&code->object, layout->code_filename, make_string(&code->file, "/x/file.py"));
	put_word(&code->object, layout->code_table, make_bytes(&code->table, table, sizeof(table)));
	memcpy(code->object.byte + layout->code_first_line, &line, sizeof(line));
	return (uint64_t)&code->object;
}

static uint64_t make_frame(union object *frame, uint64_t code, uint64_t previous, uint32_t offset)
{
	const struct gt_python_layout *layout = &runtime.layout;

	memset(frame, 0, sizeof(*frame));
	put_word(frame, layout->frame_code, code);
	put_word(frame, layout->frame_previous, previous);
	put_word(frame, layout->frame_instruction, code + layout->code_adaptive + offset);
	return (uint64_t)frame;
}

static int walk(uint64_t frame, uint32_t max)
{
	static struct gt_python_known known[GT_PYTHON_KNOWN];

	count = 0;
	memset(known, 0, sizeof(known));
	return gt_python_walk(&runtime, known, frame, max, frames, &count);
}

Test(python_walk, names_and_lines, .init = start_3_11)
{
	struct gt_intern *strings = gt_intern_new(1 << 20);
	struct gt_python_frames *store = gt_python_frames_new(strings, 1 << 20);
	const struct gt_stack_frame *frame;
	union object inner, outer;
	struct code f, g;

	make_frame(&outer, make_code(&g, "Model.g", 30), 0, 4);
	make_frame(&inner, make_code(&f, "f", 7), (uint64_t)&outer, 2);
	outer.byte[runtime.layout.frame_entry] = 1;
	cr_assert_eq(walk((uint64_t)&inner, DEPTH), 0);
	cr_assert_eq(count, 2);
	cr_assert_eq(gt_python_offset_of(frames[0]), 2);
	cr_assert_not(gt_python_is_entry(frames[0]));
	cr_assert(gt_python_is_entry(frames[1]));
	frame = gt_python_frames_find(store, frames[1]);
	cr_assert_str_eq(frame->function->text, "Model.g");
	cr_assert_str_eq(frame->file->text, "/x/file.py");
	cr_assert_eq(frame->line, 30);
	cr_assert_eq(frame->kind, GT_FRAME_PYTHON);
	cr_assert_eq(gt_python_frames_find(store, frames[1]), frame, "made once");
	cr_assert_eq(gt_python_frames_find(store, frames[0])->line, 7);
	gt_python_frames_free(store);
	gt_intern_free(strings);
}

Test(python_walk, a_loop_ends_a_group, .init = start_3_12)
{
	union object chain[5];
	struct code f;
	uint64_t code = make_code(&f, "f", 1);

	make_frame(&chain[4], 0, 0, 0); /* the outer loop's own frame: its code is None there */
	make_frame(&chain[3], code, (uint64_t)&chain[4], 2);
	make_frame(&chain[2], 0, (uint64_t)&chain[3], 0); /* a loop ... */
	make_frame(&chain[1], code, (uint64_t)&chain[2], 2);
	make_frame(&chain[0], 0, (uint64_t)&chain[1], 0); /* one whose frame has just returned */
	chain[4].byte[runtime.layout.frame_owner] = 3;
	chain[2].byte[runtime.layout.frame_owner] = 3;
	chain[0].byte[runtime.layout.frame_owner] = 3;
	cr_assert_eq(walk((uint64_t)&chain[0], DEPTH), 0);
	cr_assert_eq(count, 3);
	cr_assert_eq(frames[0], gt_python_pack(0, true, 0));
	cr_assert(gt_python_is_entry(frames[1]) && gt_python_code_of(frames[1]) != 0);
	cr_assert(gt_python_is_entry(frames[2]) && gt_python_code_of(frames[2]) != 0);
	/* cut after the first frame: its loop is still reported */
	cr_assert_eq(walk((uint64_t)&chain[1], 1), 0);
	cr_assert_eq(count, 1);
	cr_assert(gt_python_is_entry(frames[0]));
	cr_assert_eq(gt_python_codes_count().refused, 0);
}

Test(python_walk, circles_are_given_up, .init = start_3_11)
{
	union object chain[20];
	struct code f;
	uint64_t code = make_code(&f, "f", 1);

	for (int length = 1; length <= 20; length++)
		for (int back = 0; back < length; back++) {
			for (int i = 0; i < length; i++)
				make_frame(&chain[i], code,
					   (uint64_t)&chain[i + 1 < length ? i + 1 : back], 0);
			cr_assert_eq(walk((uint64_t)&chain[0], DEPTH), -ELOOP, "%d %d", length,
				     back);
		}
	/* what fits before the circle is seen is bounded all the same */
	cr_assert_eq(walk((uint64_t)&chain[0], 4), 0);
	cr_assert_eq(count, 4);
}

Test(python_walk, pointers_that_lead_nowhere, .init = start_3_11)
{
	static const uint64_t bad[] = {
		1, 0x1000, 0xdeadbeef00, 0x7fffffffe000, 0xfffffffffffff000, UINT64_MAX - 7};
	union object frame;
	struct code f;
	uint64_t code = make_code(&f, "f", 1);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make_frame(&frame, code, bad[i], 0);
		cr_expect_eq(walk((uint64_t)&frame, DEPTH), -EFAULT, "%lx", bad[i]);
		make_frame(&frame, bad[i], 0, 0);
		cr_expect_eq(walk((uint64_t)&frame, DEPTH), 0);
		cr_expect_eq(gt_python_code_of(frames[0]), 0, "%lx", bad[i]);
	}
	cr_assert_eq(gt_python_codes_count().refused, sizeof(bad) / sizeof(bad[0]));
}

/* Each part of a code object in turn is wrong: it is refused, nothing else happens. */
Test(python_walk, code_objects_that_are_none, .init = start_3_11)
{
	const struct gt_python_layout *layout = &runtime.layout;
	const uint32_t offsets[] = {layout->object_type, layout->code_name, layout->code_filename,
				    layout->code_table};
	const uint64_t values[] = {0, 3, 0xdeadbeef00, UINT64_MAX - 7, (uint64_t)&code_type};
	struct code f;

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			uint64_t code = make_code(&f, "f", 1);

			if (offsets[i] == layout->object_type && values[j] == (uint64_t)&code_type)
				continue;
			put_word(&f.object, offsets[i], values[j]);
			cr_expect_eq(gt_python_codes_number(&runtime, code), 0, "%u %lx",
				     offsets[i], values[j]);
		}
	cr_assert_eq(gt_python_codes_count().seen, 0);
}

Test(python_walk, strings_of_lying_size, .init = start_3_11)
{
	struct code f;
	uint64_t code = make_code(&f, "f", 1);
	size_t size = 3 * 4096;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	union object *last;

	cr_assert_eq(munmap(pages + 4096, 2 * 4096), 0);
	last = (union object *)(void *)(pages + 4096 - sizeof(union object));
	make_string(last, "name");
	put_word(last, runtime.layout.string_length, UINT64_MAX); /* reaches out of the page */
	put_word(&f.object, runtime.layout.code_name, (uint64_t)last);
	cr_assert_eq(gt_python_codes_number(&runtime, code), 0);

	make_code(&f, "f", 1);
	put_word(&f.table, runtime.layout.bytes_size,
		 UINT64_MAX); /* too long a table is left out */
	cr_assert_neq(gt_python_codes_number(&runtime, code), 0);
	cr_assert_null(gt_python_codes_at(gt_python_codes_number(&runtime, code))->table);
}

Test(python_walk, an_address_that_is_reused, .init = start_3_11)
{
	struct code f;
	uint64_t code = make_code(&f, "f", 1);
	uint32_t first = gt_python_codes_number(&runtime, code);
	uint32_t other_line, other_table;

	cr_assert_neq(first, 0);
	cr_assert_eq(gt_python_codes_number(&runtime, code), first);
	make_code(&f, "f", 2);
	other_line = gt_python_codes_number(&runtime, code);
	make_code(&f, "f", 1);
	f.table.byte[runtime.layout.bytes_data + 1] = 2;
	other_table = gt_python_codes_number(&runtime, code);
	cr_assert(other_line != first && other_table != first && other_table != other_line);
	make_code(&f, "f", 1);
	cr_assert_eq(gt_python_codes_number(&runtime, code), first);
	cr_assert_eq(gt_python_codes_count().seen, 3);
}

Test(python_walk, no_more_code_objects_than_there_is_room_for, .init = start_3_11)
{
	struct code f;
	uint64_t code = 0;

	for (int32_t i = 0; i < (int32_t)GT_PYTHON_CODES_MAX; i++) {
		code = make_code(&f, "f", i + 1);
		cr_assert_neq(gt_python_codes_number(&runtime, code), 0, "%d", i);
	}
	code = make_code(&f, "f", (int32_t)GT_PYTHON_CODES_MAX + 1);
	cr_assert_eq(gt_python_codes_number(&runtime, code), 0);
	make_code(&f, "f", 5);
	cr_assert_neq(gt_python_codes_number(&runtime, code), 0, "what is known stays known");
	cr_assert_eq(gt_python_codes_count().refused, 1);
}

/* One byte of what a stack is made of. */
static uint8_t *byte_of_a_stack(union object *frame, struct code *code, uint32_t i)
{
	const struct gt_python_layout *layout = &runtime.layout;
	struct gt_python_offsets o = gt_python_offsets_of(layout);
	uint8_t *const bytes[] = {
		frame->byte + o.code,
		frame->byte + o.instruction,
		frame->byte + o.previous,
		frame->byte + o.kind,
		code->object.byte + o.type,
		code->object.byte + o.table,
		code->object.byte + o.name,
		code->object.byte + o.filename,
		code->object.byte + o.first_line,
		code->table.byte + o.bytes_size,
		code->table.byte + o.bytes_data,
		code->table.byte + o.bytes_data + 3,
	};

	return i < sizeof(bytes) / sizeof(bytes[0]) ? bytes[i] : NULL;
}

static int walk_knowing(struct gt_python_known *known, uint64_t frame, uint64_t *again,
			uint32_t *again_count)
{
	*again_count = 0;
	return gt_python_walk(&runtime, known, frame, DEPTH, again, again_count);
}

/* Changes each of these between two walks: the second one, which knows the frames, finds what one
 * does that knows none. */
static void walk_with_changes(void)
{
	static struct gt_python_known known[GT_PYTHON_KNOWN];
	static union object chain[3];
	static struct code codes[2];
	uint64_t start = (uint64_t)&chain[0], again[DEPTH], before[DEPTH];
	uint32_t again_count, before_count;
	uint8_t *byte;

	make_frame(&chain[2], make_code(&codes[1], "g", 30), 0, 4);
	make_frame(&chain[1], make_code(&codes[0], "f", 7), (uint64_t)&chain[2], 2);
	make_frame(&chain[0], (uint64_t)&codes[1].object, (uint64_t)&chain[1], 6);
	for (uint32_t i = 0; (byte = byte_of_a_stack(&chain[1], &codes[0], i)); i++) {
		int error;

		cr_assert_eq(walk_knowing(known, start, before, &before_count), 0);
		cr_assert_eq(before_count, 3);
		*byte ^= 0x10;
		error = walk(start, DEPTH);
		cr_assert_eq(walk_knowing(known, start, again, &again_count), error, "%u", i);
		*byte ^= 0x10;
		cr_assert_eq(again_count, count, "%u", i);
		cr_assert_eq(memcmp(again, frames, count * sizeof(frames[0])), 0, "%u", i);
		cr_assert(error || count != 3 || memcmp(again, before, 3 * sizeof(frames[0])) != 0,
			  "change %u does not show", i);
	}
}

Test(python_walk, known_frames_that_change_3_11, .init = start_3_11)
{
	walk_with_changes();
}

Test(python_walk, known_frames_that_change_3_12, .init = start_3_12)
{
	walk_with_changes();
}

#define THREADS 4
#define SHARED  300

static struct code shared[SHARED];

struct racer {
	pthread_t thread;
	uint32_t numbers[SHARED];
};

static void *race(void *arg)
{
	struct racer *racer = arg;

	for (int round = 0; round < 20; round++)
		for (int i = 0; i < SHARED; i++) {
			uint32_t number =
				gt_python_codes_number(&runtime, (uint64_t)&shared[i].object);

			if (round && number != racer->numbers[i])
				number = 0; /* found by the check below */
			racer->numbers[i] = number;
		}
	return NULL;
}

Test(python_walk, threads_that_see_the_same_for_the_first_time, .init = start_3_11)
{
	static struct racer racers[THREADS];

	for (int i = 0; i < SHARED; i++)
		make_code(&shared[i], "f", i + 1);
	for (int t = 0; t < THREADS; t++)
		cr_assert_eq(pthread_create(&racers[t].thread, NULL, race, &racers[t]), 0);
	for (int t = 0; t < THREADS; t++)
		pthread_join(racers[t].thread, NULL);
	for (int i = 0; i < SHARED; i++) {
		const struct gt_python_code *code = gt_python_codes_at(racers[0].numbers[i]);

		cr_assert(code && code->first_line == i + 1);
		for (int t = 1; t < THREADS; t++)
			cr_assert_eq(racers[t].numbers[i], racers[0].numbers[i]);
	}
	cr_assert_eq(gt_python_codes_count().seen, SHARED);
}

/* Kinds of 1, 2 and 4 bytes; half of a pair of surrogates; a byte that was no UTF-8 (PEP 383). */
Test(python_walk, characters_of_every_width, .init = start_3_11)
{
	static const uint32_t texts[4][4] = {{0xe4, 'b', 0xff, 0},
					     {0x540d, 0xd800, 'x', 0},
					     {0x1d518, 0x110000, 0, 0},
					     {0xdcff, 'y', 0, 0}};
	static const char *const utf8[] = {("\xc3\xa4"
					    "b\xc3\xbf"),
					   "\xe5\x90\x8d\xef\xbf\xbdx",
					   "\xf0\x9d\x94\x98\xef\xbf\xbd", "\xffy"};
	static const uint32_t widths[] = {1, 2, 4, 2}, lengths[] = {3, 3, 2, 2};
	struct gt_intern *strings = gt_intern_new(1 << 20);
	struct gt_python_frames *store = gt_python_frames_new(strings, 1 << 20);
	struct code codes[4];

	for (int i = 0; i < 4; i++) {
		uint64_t code = make_code(&codes[i], "", 1);
		const struct gt_stack_frame *frame;

		codes[i].name.byte[runtime.layout.string_state] =
			(uint8_t)(widths[i] << 2 | 1 << 5);
		put_word(&codes[i].name, runtime.layout.string_length, lengths[i]);
		for (uint32_t c = 0; c < lengths[i]; c++)
			memcpy(codes[i].name.byte + runtime.layout.string_compact + c * widths[i],
			       &texts[i][c], widths[i]);
		frame = gt_python_frames_find(
			store, gt_python_pack(gt_python_codes_number(&runtime, code), true, 0));
		cr_assert_not_null(frame);
		cr_expect_str_eq(frame->function->text, utf8[i]);
	}
	gt_python_frames_free(store);
	gt_intern_free(strings);
}

Test(python_walk, words_that_name_no_code, .init = start_3_11)
{
	struct gt_intern *strings = gt_intern_new(1 << 20);
	struct gt_python_frames *store = gt_python_frames_new(strings, 1 << 20);

	cr_assert_null(gt_python_frames_find(store, gt_python_pack(0, true, 0)));
	cr_assert_null(gt_python_frames_find(store, gt_python_pack(77, true, 0)));
	cr_assert_null(gt_python_frames_find(store, UINT64_MAX));
	gt_python_frames_free(store);
	gt_intern_free(strings);
}

/* ---- frames of a thread that may go on meanwhile (collectors/python/peek.h) ---- */

static struct gt_python_raw raw[DEPTH];

static uint32_t peek(uint64_t frame, uint32_t max)
{
	static struct gt_python_window window;

	window.page = 0;
	return gt_python_peek_chain(&runtime.layout, frame, &window, max, raw);
}

static void peek_finds_what_a_walk_finds(void)
{
	union object frame[3];
	struct code code[3];

	for (int i = 2; i >= 0; i--)
		make_frame(&frame[i], make_code(&code[i], "f", 7 + i),
			   i < 2 ? (uint64_t)&frame[i + 1] : 0, 2 * (uint32_t)i);
	cr_assert_eq(walk((uint64_t)&frame[0], DEPTH), 0);
	cr_assert_eq(peek((uint64_t)&frame[0], DEPTH), count);
	cr_assert_eq(count, 3);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = gt_python_codes_number_elsewhere(&runtime, raw[i].code);

		cr_assert_eq(raw[i].word | gt_python_pack(number, false, 0), frames[i], "%u", i);
	}
	cr_assert_eq(peek((uint64_t)&frame[0], 2), 2);
}

Test(python_peek, as_a_walk_3_11, .init = start_3_11)
{
	peek_finds_what_a_walk_finds();
}

Test(python_peek, as_a_walk_3_12, .init = start_3_12)
{
	peek_finds_what_a_walk_finds();
}

Test(python_peek, loops_of_their_own, .init = start_3_12)
{
	union object frame[3];
	struct code code;

	make_frame(&frame[2], 0, 0, 0);
	frame[2].byte[runtime.layout.frame_owner] = 3;
	make_frame(&frame[1], make_code(&code, "f", 7), (uint64_t)&frame[2], 2);
	make_frame(&frame[0], 0, (uint64_t)&frame[1], 0);
	frame[0].byte[runtime.layout.frame_owner] = 3;
	cr_assert_eq(peek((uint64_t)&frame[0], DEPTH), 2);
	cr_assert_eq(raw[0].code, 0);
	cr_assert(gt_python_is_entry(raw[0].word));
	cr_assert_eq(raw[1].code, (uint64_t)&code.object);
	cr_assert(gt_python_is_entry(raw[1].word));
}

Test(python_peek, pointers_that_lead_nowhere, .init = start_3_11)
{
	static const uint64_t wrong[] = {8, 0x7f0000000001, (uint64_t)1 << 60, 0xffffffffffffff00};
	union object frame;
	struct code code;

	make_code(&code, "f", 7);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_eq(peek(wrong[i], DEPTH), 0);
		make_frame(&frame, (uint64_t)&code.object, wrong[i], 2);
		cr_assert_eq(peek((uint64_t)&frame, DEPTH), 0);
		cr_assert_eq(gt_python_codes_number_elsewhere(&runtime, wrong[i]), 0);
	}
	make_frame(&frame, (uint64_t)&code.object, (uint64_t)&frame, 2);
	cr_assert_eq(peek((uint64_t)&frame, 5), 5, "a circle");
}

/* A frame across the end of what is mapped, and one across two pages. */
Test(python_peek, frames_at_the_end_of_memory, .init = start_3_11)
{
	uint8_t *memory =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	union object frame;
	struct code code;

	cr_assert(memory != MAP_FAILED);
	munmap(memory + 8192, 4096);
	make_frame(&frame, make_code(&code, "f", 7), 0, 2);
	memcpy(memory + 4096 - 40, &frame, sizeof(frame));
	cr_assert_eq(peek((uint64_t)memory + 4096 - 40, DEPTH), 1);
	cr_assert_eq(raw[0].code, (uint64_t)&code.object);
	memcpy(memory + 8192 - 40, &frame, 40);
	cr_assert_eq(peek((uint64_t)memory + 8192 - 40, DEPTH), 0);
}
