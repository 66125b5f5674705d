/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ranges of a track are open at a time and around each other, nested or overlapping: compared
 * with a linear search, and with too many ranges for one.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/key.h"
#include "trace/load/model_build.h"

static struct gt_model model;
static struct gt_builder builder;

static void setup(void)
{
	model = (struct gt_model){0};
	builder = (struct gt_builder){.model = &model};
	cr_assert_eq(gt_names_init(&model.names), 0);
}

static void teardown(void)
{
	gt_build_fini(&builder);
	gt_model_fini(&model);
}

TestSuite(ranges, .init = setup, .fini = teardown);

static void add(uint32_t thread, int64_t start, int64_t end)
{
	cr_assert(gt_vec_push(&model.ranges, ((struct gt_model_range){.start = start,
								      .dur = end - start,
								      .thread = thread,
								      .parent = GT_NONE,
								      .before = GT_NONE})));
}

static int64_t end_of(uint32_t range)
{
	return model.ranges.at[range].start + model.ranges.at[range].dur;
}

/* The ranges open on a track at @t, innermost first, are those that a backward search finds. */
static void check_open(uint32_t thread, int64_t t)
{
	uint32_t first = model.threads.at[thread].range[GT_RANGE_NVTX].first;
	uint32_t count = model.threads.at[thread].range[GT_RANGE_NVTX].count;
	uint32_t found = gt_model_range_at(&model, thread, GT_RANGE_NVTX, t);

	for (uint32_t i = first + count; i-- > first;) {
		if (model.ranges.at[i].start > t || end_of(i) <= t)
			continue;
		cr_assert_eq(found, i);
		found = gt_model_range_around(&model, i, t);
	}
	cr_assert_eq(found, GT_NONE);
}

static void check_parent(uint32_t i)
{
	uint32_t expected = GT_NONE, thread = model.ranges.at[i].thread;

	for (uint32_t k = model.threads.at[thread].range[GT_RANGE_NVTX].first; k < i; k++)
		if (end_of(k) > model.ranges.at[i].start && end_of(k) >= end_of(i))
			expected = k;
	cr_assert_eq(model.ranges.at[i].parent, expected);
}

/* Of the first thread with an open step, the one that began last. */
static void check_step(int64_t t)
{
	uint32_t expected = GT_NONE;

	for (uint32_t i = model.ranges.count; i-- > 0;) {
		const struct gt_model_range *range = &model.ranges.at[i];

		if (range->start <= t && end_of(i) > t && gt_model_is_step(&model, range) &&
		    (expected == GT_NONE || range->thread < model.ranges.at[expected].thread))
			expected = i;
	}
	cr_assert_eq(gt_model_step_at(&model, t), expected);
}

static void check_random(unsigned int *seed)
{
	uint32_t length = 1 + (uint32_t)rand_r(seed) % 40, step;

	teardown();
	setup();
	for (int64_t tid = 0; tid < 2; tid++)
		gt_build_thread(&builder, 1, tid);
	step = gt_names_put(&model.names, "ProfilerStep#1", 14);
	for (uint32_t i = 0; i < length; i++) {
		int64_t start = rand_r(seed) % 30;

		add((uint32_t)rand_r(seed) % 2, start, start + rand_r(seed) % 20);
		if (rand_r(seed) % 3 == 0)
			model.ranges.at[i].name = step;
	}
	cr_assert_eq(gt_build_finish(&builder), 0);
	for (int64_t t = -1; t < 60; t++)
		for (uint32_t thread = 0; thread < 2; thread++)
			check_open(thread, t);
	for (int64_t t = -1; t < 60; t++)
		check_step(t);
	for (uint32_t i = 0; i < length; i++)
		check_parent(i);
}

Test(ranges, as_a_search_finds_them)
{
	unsigned int seed = 1;

	for (int i = 0; i < 3000; i++)
		check_random(&seed);
}

/* Consecutive requests, two open at a time, all inside one range. */
Test(ranges, many_that_overlap)
{
	const uint32_t count = 1000000;

	gt_build_thread(&builder, 1, 1);
	add(0, 0, (count + 1) * 100ll);
	for (uint32_t i = 0; i < count; i++)
		add(0, i * 100ll, i * 100ll + 150);
	cr_assert_eq(gt_build_finish(&builder), 0);
	for (uint32_t i = 1; i <= count; i++) {
		int64_t early = model.ranges.at[i].start + 10;
		uint32_t next = gt_model_range_around(&model, i, early);

		cr_assert_eq(gt_model_range_at(&model, 0, GT_RANGE_NVTX, early), i);
		cr_assert_eq(next, i - 1);
		cr_assert_eq(gt_model_range_around(&model, i, early + 60), 0);
		cr_assert_eq(model.ranges.at[i].parent, 0);
	}
}

/* More than are shown are open on a row and on one beside it: the innermost stay, in their
 * order. */
Test(ranges, as_a_stack)
{
	char name[16], text[65536], expected[65536] = "";
	size_t n = 0;

	gt_build_thread(&builder, 1, 1);
	gt_build_thread(&builder, 1, 2);
	model.threads.at[1].name = gt_names_put(&model.names, "thread 1 ranges", 15);
	for (uint32_t i = 0; i < 1000; i++) {
		int length = snprintf(name, sizeof(name), "r%u", i);

		add(i % 3 == 0, i, 5000 - i);
		model.ranges.at[i].name = gt_names_put(&model.names, name, (size_t)length);
	}
	for (uint32_t i = 1000 - 256; i < 1000; i++)
		n += (size_t)snprintf(expected + n, sizeof(expected) - n, "%sr%u", n ? ";" : "", i);
	cr_assert_eq(gt_build_finish(&builder), 0);
	cr_assert_eq(gt_key_ranges(&model, 0, 2000, GT_FUNCTIONS_ALL, ";", text, sizeof(text)), n);
	cr_assert_str_eq(text, expected);
}

/* Whichever call the search begins at, it finds the one that a linear search does. */
Test(ranges, the_call_before_a_time)
{
	static const int64_t starts[] = {-5, 0, 0, 3, 4, 10, 10, 10, 11, 40, 41, 90};
	const uint32_t count = sizeof(starts) / sizeof(starts[0]), first = 3;
	struct gt_thread_track track = {.call = {first, count}};

	cr_assert(gt_vec_push(&model.threads, track));
	for (uint32_t i = 0; i < 2 * first + count; i++) /* others before and behind */
		cr_assert(gt_vec_push(&model.calls,
				      ((struct gt_call_row){.start = i >= first && i < first + count
									     ? starts[i - first]
									     : 20})));
	for (int64_t t = -7; t < 95; t++) {
		uint32_t expected = GT_NONE;

		for (uint32_t i = 0; i < count; i++)
			if (starts[i] <= t)
				expected = first + i;
		cr_assert_eq(gt_model_call_before(&model, 0, t, GT_NONE), expected);
		for (uint32_t near = 0; near < 2 * first + count; near++)
			cr_assert_eq(gt_model_call_before(&model, 0, t, near), expected,
				     "time %d from call %u", (int)t, near);
	}
}
