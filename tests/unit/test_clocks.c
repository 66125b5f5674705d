/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks of hosts against invented ones, whose offset and drift are known.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "trace/clocks.h"
#include "trace/communication.h"

#define BASE  1782967788000000000
#define SEEDS 60

static uint64_t state;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform() + 1e-300)) * cos(6.283185307179586 * uniform());
}

/* A host's clock: what it shows when the job's shows t. */
struct host {
	double off, drift, jitter; /* ns, ns a ns, ns */
	size_t skip;               /* collectives before its trace begins */
	double lost;               /* share of the others that are not in it */
};

static int64_t shown(const struct host *host, double t)
{
	return (int64_t)llround(t + host->off + host->drift * t);
}

/* The collectives of @count steps of 80 to 120 ms, of which each member's end is off by jitter and
 * one of 100 by up to 20 ms. */
static void fill(struct gt_model *model, const struct host *host, size_t count, uint64_t steps)
{
	static const char *const kernels[] = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL",
					      "ncclDevKernel_AllGather_RING_LL"};
	uint64_t mine;
	double t = 0;

	*model = (struct gt_model){0};
	gt_names_init(&model->names);
	model->reading.header.has_base = true;
	model->reading.header.base_ns = BASE;
	for (size_t i = 0; i < count; i++) {
		struct gt_op op = {.kind = GT_OP_KERNEL, .comm = 1, .call = GT_NONE};
		const char *kernel = kernels[i % 3 == 0];
		double begin, end;

		mine = state;
		state = steps + i * 0x9e3779b97f4a7c15u; /* alike on all hosts */
		uniform();
		t += 80e6 + 40e6 * uniform();
		state = mine;
		begin = t - 2e6;
		end = t + host->jitter * normal();
		end += uniform() < 0.01 ? 20e6 * uniform() : 0;
		if (i < host->skip || uniform() < host->lost)
			continue;
		op.name = gt_names_put(&model->names, kernel, strlen(kernel));
		op.start = shown(host, begin);
		op.dur = shown(host, end) - op.start;
		cr_assert_eq(gt_model_add_op(model, &op), 0);
	}
	model->first = model->ops.at[0].start;
	model->last = model->ops.at[model->ops.count - 1].start;
}

static void take(struct gt_clock_source *source, struct gt_model *model, const char *name)
{
	cr_assert_eq(gt_clock_source_take(model, source), 0);
	snprintf(source->host, sizeof(source->host), "%s", name);
	gt_model_fini(model);
}

/* How far the answer is off at a time of the job, ns. */
static double wrong_by(const struct gt_clock_map *map, const struct host *host, double t)
{
	return (double)(gt_clock_map_time(map, BASE + shown(host, t)) - BASE - llround(t));
}

struct outcome {
	size_t held;            /* answers that were right within their error */
	double stated, squares; /* sums */
};

static void try_one(uint64_t seed, struct host other, size_t count, struct outcome *out)
{
	const struct host here = {.jitter = other.jitter};
	struct gt_clock_source sources[2];
	struct gt_clocks clocks;
	struct gt_model model;
	double first, last, worst;

	state = seed * 0x2545f4914f6cdd1du + 1;
	other.off *= uniform() < 0.5 ? -1 : 1;
	fill(&model, &here, count, seed);
	take(&sources[0], &model, "a");
	fill(&model, &other, count, seed);
	take(&sources[1], &model, "b");
	cr_assert_eq(gt_clocks_find(sources, 2, &clocks), 0);
	cr_assert_eq(clocks.of[0].by, GT_CLOCK_BY_MONOTONIC);
	cr_assert_eq(gt_clock_map_time(&clocks.of[0], 12345), 12345);
	cr_assert_eq(clocks.of[1].by, GT_CLOCK_BY_COLLECTIVES, "seed %lu: by %d",
		     (unsigned long)seed, clocks.of[1].by);
	first = wrong_by(&clocks.of[1], &other, 0.1e9 * (double)(other.skip + 1));
	last = wrong_by(&clocks.of[1], &other, 0.1e9 * (double)count);
	worst = fabs(first) > fabs(last) ? first : last;
	out->held += fabs(worst) <= (double)clocks.of[1].error;
	out->stated += (double)clocks.of[1].error;
	out->squares += worst * worst;
	gt_clocks_fini(&clocks);
	gt_clock_source_fini(&sources[0]);
	gt_clock_source_fini(&sources[1]);
}

/* The stated error holds in 97 of 100 and is no more than three times the true one. */
static void try_all(struct host other, size_t count)
{
	struct outcome out = {0};
	double stated, real;

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		try_one(seed, other, count, &out);
	stated = out.stated / SEEDS;
	real = sqrt(out.squares / SEEDS);
	cr_assert_geq(out.held * 100, SEEDS * 97, "held %zu of %d: stated %.0f ns, true %.0f ns",
		      out.held, SEEDS, stated, real);
	cr_assert_leq(stated, 3 * real, "stated %.0f ns, true %.0f ns", stated, real);
}

Test(clocks, offset_and_drift_are_recovered)
{
	try_all((struct host){.off = 5e6, .drift = 50e-6, .jitter = 3000}, 600);
}

Test(clocks, a_minute_without_a_drift)
{
	try_all((struct host){.off = 5e6, .jitter = 3000}, 600);
}

Test(clocks, a_short_trace)
{
	try_all((struct host){.off = 5e6, .drift = -50e-6, .jitter = 3000}, 40);
}

Test(clocks, a_process_that_began_later)
{
	try_all((struct host){.off = 5e6, .drift = 50e-6, .jitter = 3000, .skip = 7}, 300);
}

Test(clocks, records_that_were_lost)
{
	try_all((struct host){.off = 5e6, .drift = 50e-6, .jitter = 3000, .lost = 0.02}, 300);
}

/* Steps of another job end at other times: no answer rather than a wrong one. */
static double exponential(double mean)
{
	return -mean * log(uniform() + 1e-300);
}

/* Meetings under load, in 100 ms each: the members come and leave milliseconds apart, but none
 * leaves before all have come. */
static void meet_under_load(const struct host *other, struct gt_clock_bounds *bounds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double here = 1e8 * (double)i + exponential(1e6), there = 1e8 * (double)i;
		double all;

		there += exponential(1e6);
		all = fmax(here, there) + 20e3 + exponential(50e3);
		bounds[i].x_low = shown(other, all + exponential(4e6));
		bounds[i].low = (int64_t)here - bounds[i].x_low;
		bounds[i].x_high = shown(other, there);
		bounds[i].high = (int64_t)(all + exponential(4e6)) - bounds[i].x_high;
	}
}

/* The error always holds: it is no estimate. */
Test(clocks, ends_that_scatter_bound_the_clocks)
{
	static struct gt_clock_bounds bounds[3000];
	double stated = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		size_t count = seed % 2 ? 3000 : 100;
		struct host other = {.off = 5e6, .drift = 50e-6};
		struct gt_clock_line line;

		state = seed * 0x2545f4914f6cdd1du + 1;
		other.off *= 2 * uniform() - 1;
		meet_under_load(&other, bounds, count);
		cr_assert_eq(gt_clock_line_bound(bounds, count, 3e-4, &line), 0);
		cr_assert_eq(line.used, count);
		for (double t = -1e9; t < 1e8 * (double)count + 2e9; t += 1e8) {
			int64_t x = shown(&other, t);
			double wrong = (double)(x + gt_clock_line_at(&line, x)) - t;

			cr_assert_leq(fabs(wrong), gt_clock_line_error(&line, x) + 1,
				      "seed %lu at %.0f: %.0f ns", (unsigned long)seed, t, wrong);
		}
		stated += gt_clock_line_error(&line, shown(&other, 0)) / SEEDS;
	}
	cr_assert_leq(stated, 1e6, "stated %.0f ns", stated);
}

Test(clocks, bounds_that_contradict_each_other)
{
	struct gt_clock_bounds bounds[20] = {0};
	struct gt_clock_line line;

	for (int i = 0; i < 20; i++)
		bounds[i] = (struct gt_clock_bounds){i * 1000000, -100, i * 1000000, 100};
	cr_assert_eq(gt_clock_line_bound(bounds, 20, 3e-4, &line), 0);
	cr_assert_eq(line.used, 20);
	cr_assert_float_eq(gt_clock_line_error(&line, 0), 101, 1);
	bounds[10].low = 5000; /* 300 ppm for 10 ms */
	bounds[10].high = 6000;
	cr_assert_eq(gt_clock_line_bound(bounds, 20, 3e-4, &line), 0);
	cr_assert_eq(line.used, 0);
	cr_assert_float_eq(line.wrong, 4900, 10);
	cr_assert_eq(gt_clock_line_bound(bounds, 1, 3e-4, &line), 0);
	cr_assert_eq(line.used, 1);
	cr_assert_eq(gt_clock_line_at(&line, 0), 0);
}

Test(clocks, another_job_is_not_aligned)
{
	const struct host host = {.jitter = 3000};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct gt_clock_source sources[2];
		struct gt_clocks clocks;
		struct gt_model model;

		state = seed;
		fill(&model, &host, 200, seed);
		take(&sources[0], &model, "a");
		fill(&model, &host, 200, seed + 1000);
		take(&sources[1], &model, "b");
		cr_assert_eq(gt_clocks_find(sources, 2, &clocks), 0);
		cr_assert_eq(clocks.of[1].by, GT_CLOCK_BY_REALTIME, "seed %lu",
			     (unsigned long)seed);
		cr_assert_eq(clocks.of[1].error, GT_CLOCK_ERROR_UNKNOWN);
		cr_assert_eq(gt_clock_map_time(&clocks.of[1], 77), 77);
		gt_clocks_fini(&clocks);
		gt_clock_source_fini(&sources[0]);
		gt_clock_source_fini(&sources[1]);
	}
}

/* Two processes of one boot: CLOCK_REALTIME was set between their starts. */
Test(clocks, one_boot_is_related_by_the_monotonic_clock)
{
	struct gt_clock_source sources[3] = {
		{.boot = "b",
		 .host = "x",
		 .monotonic = 1000,
		 .realtime = 5000000,
		 .has_base = true},
		{.boot = "b",
		 .host = "y",
		 .monotonic = 2000,
		 .realtime = 5003000,
		 .has_base = true},
		{.boot = "c",
		 .host = "x",
		 .monotonic = 2000,
		 .realtime = 5003000,
		 .has_base = true},
	};
	struct gt_clocks clocks;

	cr_assert_eq(gt_clocks_find(sources, 3, &clocks), 0);
	cr_assert_eq(clocks.of[1].by, GT_CLOCK_BY_MONOTONIC);
	cr_assert_eq(clocks.of[1].error, 0);
	cr_assert_eq(gt_clock_map_time(&clocks.of[1], 5003000), 5001000);
	cr_assert_eq(clocks.of[2].by, GT_CLOCK_BY_REALTIME);
	gt_clocks_fini(&clocks);
}

/* The third host has no collective with the first, but with the second. */
Test(clocks, a_chain_of_hosts)
{
	const struct host hosts[3] = {{.jitter = 3000},
				      {.off = 5e6, .drift = 20e-6, .jitter = 3000},
				      {.off = -3e6, .drift = -20e-6, .jitter = 3000}};
	struct gt_clock_source sources[3];
	struct gt_clocks clocks;
	struct gt_model model;

	state = 5;
	for (size_t i = 0; i < 3; i++) {
		size_t count;

		fill(&model, &hosts[i], 300, 9);
		count = model.ops.count;
		model.ops.count = 0;
		for (size_t k = 0; k < count; k++) { /* groups: 0 with 1, 1 with 2 */
			struct gt_op op = gt_model_op(&model, k);

			op.bytes = k % 2 ? 8 : 16;
			if (i == 1 || (k % 2) == (i == 0))
				cr_assert_eq(gt_model_add_op(&model, &op), 0);
		}
		take(&sources[i], &model, (const char *[]){"a", "b", "c"}[i]);
	}
	cr_assert_eq(gt_clocks_find(sources, 3, &clocks), 0);
	cr_assert_eq(clocks.of[1].by, GT_CLOCK_BY_COLLECTIVES);
	cr_assert_eq(clocks.of[2].by, GT_CLOCK_BY_COLLECTIVES);
	cr_assert_gt(clocks.of[2].error, clocks.of[1].error);
	for (size_t i = 1; i < 3; i++)
		cr_assert_leq(fabs(wrong_by(&clocks.of[i], &hosts[i], 15e9)),
			      (double)clocks.of[i].error);
	gt_clocks_fini(&clocks);
	for (size_t i = 0; i < 3; i++)
		gt_clock_source_fini(&sources[i]);
}

/* Whatever a broken file tells. */
Test(clocks, absurd_times)
{
	static const int64_t times[] = {INT64_MIN, INT64_MIN / 2, -1,       0,
					1,         INT64_MAX / 2, INT64_MAX};
	struct gt_clock_source sources[2];
	struct gt_clocks clocks;

	for (size_t i = 0; i < 2; i++) {
		struct gt_model model = {.first = INT64_MIN, .last = INT64_MAX};

		gt_names_init(&model.names);
		model.reading.header.has_base = i;
		model.reading.header.base_ns = INT64_MAX;
		for (size_t k = 0; k < 70; k++) {
			struct gt_op op = {.comm = 1,
					   .start = times[(k + i) % 7],
					   .dur = times[(k * 3 + i) % 7],
					   .call = GT_NONE};

			op.name = gt_names_put(&model.names, "ncclAllReduce", 13);
			cr_assert_eq(gt_model_add_op(&model, &op), 0);
		}
		take(&sources[i], &model, i ? "a" : "b");
	}
	cr_assert_eq(gt_clocks_find(sources, 2, &clocks), 0);
	for (size_t i = 0; i < 14; i++)
		gt_clock_map_time(&clocks.of[i / 7], times[i % 7]);
	gt_clocks_fini(&clocks);
	gt_clock_source_fini(&sources[0]);
	gt_clock_source_fini(&sources[1]);
}
