/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums and groups that several processes make: the same in any order of merging, quantiles within
 * the stated error, and no message of another process is trusted.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group_merge.h"
#include "analysis/ranks/message.h"
#include "analysis/ranks/tables.h"

#define SHARES 5

static const enum gt_tag_join joins[GT_GROUP_TAGS] = {GT_TAG_SUM, GT_TAG_OR, GT_TAG_MAX,
						      GT_TAG_FIRST, GT_TAG_DROP};

static uint64_t state;

static uint64_t chance(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 20;
}

Test(reduce, buckets)
{
	for (int64_t v = -300; v < 300; v++)
		if (v < 256 && v > -257)
			cr_assert_eq(gt_sketch_value(gt_sketch_bucket(v)), v);
	for (int64_t v = 256; v > 0 && v < INT64_MAX / 3; v += v / 97 + 1) {
		double off = fabs((double)gt_sketch_value(gt_sketch_bucket(v)) - (double)v);

		cr_assert_leq(off, (double)v * GT_SKETCH_ERROR);
		cr_assert_geq(gt_sketch_bucket(v), gt_sketch_bucket(v - 1));
		cr_assert_eq(gt_sketch_bucket(~v), ~gt_sketch_bucket(v));
	}
	cr_assert_geq(gt_sketch_value(gt_sketch_bucket(INT64_MAX)), INT64_MAX - (INT64_MAX >> 8));
}

static void fill(struct gt_dist *dist, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cr_assert(gt_dist_add(dist, (int64_t)(chance() % 1000 * (chance() % 90000))));
}

static void near(double got, double want)
{
	cr_assert_leq(fabs(got - want), want * GT_SKETCH_ERROR, "%f, not %f", got, want);
}

Test(reduce, moments_of_buckets)
{
	struct gt_dist exact = {0}, sketch = {0};
	struct gt_moments a, b;

	fill(&exact, 20000);
	for (size_t i = 0; i < exact.count; i++)
		cr_assert(gt_dist_add(&sketch, gt_dist_at(&exact, i)));
	cr_assert(gt_dist_limit(&sketch, GT_DIST_MOST_SENT));
	cr_assert_not_null(sketch.sketch);
	cr_assert_eq(gt_dist_count(&sketch), 20000);
	a = gt_dist_moments(&exact);
	b = gt_dist_moments(&sketch);
	cr_assert_eq(a.count, b.count);
	cr_assert_eq(a.total, b.total);
	cr_assert_eq(a.min, b.min);
	cr_assert_eq(a.max, b.max);
	cr_assert_eq(a.mean, b.mean);
	cr_assert_eq(a.stddev, b.stddev);
	near(b.median, a.median);
	near(b.p90, a.p90);
	near(b.p99, a.p99);
	gt_dist_fini(&exact);
	gt_dist_fini(&sketch);
}

/* Values of all sizes and signs, few and many of them, are in order behind gt_dist_middle. */
Test(reduce, sorted_values)
{
	static const int shifts[] = {0, 8, 33, 52, 60};

	for (size_t round = 0; round < 10; round++) {
		size_t count = round % 2 ? 5000 : 300;
		struct gt_dist dist = {0};
		uint64_t before = 0, after = 0;

		for (size_t i = 0; i < count; i++) {
			uint64_t value = (chance() << 32 ^ chance()) >> shifts[round / 2];

			before += value * value;
			cr_assert(gt_dist_add(&dist, (int64_t)(i % 3 ? value : ~value + 1)));
		}
		gt_dist_middle(&dist);
		for (size_t i = 0; i < count; i++) {
			cr_assert(!i || gt_dist_at(&dist, i - 1) <= gt_dist_at(&dist, i), "%zu %zu",
				  round, i);
			after += (uint64_t)gt_dist_at(&dist, i) * (uint64_t)gt_dist_at(&dist, i);
		}
		cr_assert_eq(after, before);
		gt_dist_fini(&dist);
	}
}

/* Values that 32 bits hold take 4 bytes each, until there is another one. */
Test(reduce, small_values)
{
	static const int64_t others[] = {-1, (int64_t)UINT32_MAX + 1, INT64_MIN, INT64_MAX};

	for (size_t round = 0; round < 4; round++)
		for (size_t count = 2; count <= 4000; count *= 2) {
			struct gt_dist dist = {0};

			for (size_t i = 0; i < count; i++)
				cr_assert(gt_dist_add(&dist, (int64_t)(chance() >> 32)));
			cr_assert(gt_dist_add(&dist, 5));
			cr_assert(gt_dist_extend(&dist, UINT32_MAX - 5) && !dist.at);
			gt_dist_middle(&dist);
			for (size_t i = 1; i <= count; i++)
				cr_assert_leq(gt_dist_at(&dist, i - 1), gt_dist_at(&dist, i));
			cr_assert_eq(gt_dist_at(&dist, count), UINT32_MAX);
			cr_assert(gt_dist_add(&dist, others[round]) && !dist.small);
			gt_dist_middle(&dist);
			for (size_t i = 1; i <= count + 1; i++)
				cr_assert_leq(gt_dist_at(&dist, i - 1), gt_dist_at(&dist, i));
			cr_assert(gt_dist_at(&dist, 0) == others[round] ||
				  gt_dist_at(&dist, count + 1) == others[round]);
			gt_dist_fini(&dist);
			cr_assert(gt_dist_add(&dist, 1) && gt_dist_extend(&dist, UINT32_MAX));
			cr_assert(gt_dist_at(&dist, 0) == (int64_t)UINT32_MAX + 1 && dist.at);
			gt_dist_fini(&dist);
		}
}

/* Sums of squares that no double holds: the standard deviation of 2^50 and 2^50 + 2, many times. */
Test(reduce, exact_deviation)
{
	struct gt_dist dist = {0};

	for (int i = 0; i < 1000; i++)
		cr_assert(gt_dist_add(&dist, ((int64_t)1 << 50) + 2 * (i & 1)));
	cr_assert_float_eq(gt_dist_moments(&dist).stddev, sqrt(1000.0 / 999), 1e-12);
	gt_dist_fini(&dist);
}

/* Some groups that all have, some that one has, small and large. */
static void make_share(int share, struct gt_groups *groups)
{
	state = (uint64_t)share + 1;
	cr_assert_eq(gt_groups_init(groups), 0);
	for (int trace = 0; trace < 3; trace++) {
		groups->trace = (uint64_t)(trace * SHARES + share);
		for (int i = 0; i < 30; i++) {
			char name[32];
			struct gt_group *group;

			snprintf(name, sizeof(name), "group %d", (int)(chance() % 40));
			group = gt_groups_get(groups, name);
			cr_assert_not_null(group);
			group->tag[0] += 3;
			group->tag[1] |= 1 << share;
			group->tag[2] = share;
			if (!group->value.count) {
				group->tag[3] = (int64_t)groups->trace;
				group->label = gt_names_put(&groups->names, "label", 5);
			}
			group->tag[4] = 99;
			fill(&group->value, 1 + (size_t)(i % 7 ? i : 800));
			fill(&group->other[1], 2);
		}
	}
}

/* All shares into one set of groups, in an order: first into those of share @order[0]. */
static void merge_all(const int order[SHARES], bool pairs, struct gt_pack *ret_answer)
{
	struct gt_group_set sets[SHARES] = {0};

	for (int i = 0; i < SHARES; i++) {
		sets[i].name = "test";
		memcpy(sets[i].joins, joins, sizeof(joins));
		make_share(order[i], &sets[i].groups);
	}
	for (int i = SHARES; --i;) {
		struct gt_group_set *into = pairs ? &sets[(i - 1) / 2] : &sets[0];
		struct gt_pack out = {0};

		gt_group_sets_write(&sets[i], 1, &out);
		cr_assert_eq(gt_group_sets_merge(into, 1, out.bytes.at, out.bytes.count), 0);
		gt_pack_fini(&out);
	}
	cr_assert(gt_groups_settle(&sets[0].groups));
	gt_group_sets_write(sets, 1, ret_answer);
	for (int i = 0; i < SHARES; i++)
		gt_groups_fini(&sets[i].groups);
}

Test(reduce, any_order)
{
	static const int orders[][SHARES] = {{0, 1, 2, 3, 4}, {4, 2, 0, 1, 3}, {3, 4, 1, 2, 0}};
	struct gt_pack first = {0};

	merge_all(orders[0], false, &first);
	cr_assert_gt(first.bytes.count, 10000);
	for (int i = 0; i < 6; i++) {
		struct gt_pack other = {0};

		merge_all(orders[i / 2], i % 2, &other);
		cr_assert_eq(other.bytes.count, first.bytes.count);
		cr_assert_arr_eq(other.bytes.at, first.bytes.at, first.bytes.count);
		gt_pack_fini(&other);
	}
	gt_pack_fini(&first);
}

static int merge_bytes(const void *bytes, size_t size)
{
	struct gt_group_set set = {.name = "test"};
	int rc;

	memcpy(set.joins, joins, sizeof(joins));
	cr_assert_eq(gt_groups_init(&set.groups), 0);
	rc = gt_group_sets_merge(&set, 1, bytes, size);
	if (!rc && gt_groups_settle(&set.groups))
		for (size_t i = 0; i < set.groups.list.count; i++)
			gt_dist_moments(&set.groups.list.at[i].value);
	gt_groups_fini(&set.groups);
	return rc;
}

static void write_share(struct gt_pack *out)
{
	struct gt_group_set set = {.name = "test"};

	memcpy(set.joins, joins, sizeof(joins));
	make_share(0, &set.groups);
	gt_group_sets_write(&set, 1, out);
	gt_groups_fini(&set.groups);
}

Test(reduce, cut)
{
	struct gt_pack out = {0};

	write_share(&out);
	cr_assert_eq(merge_bytes(out.bytes.at, out.bytes.count), 0);
	for (size_t size = 0; size < out.bytes.count; size += size < 300 ? 1 : 97) {
		void *copy = malloc(size + 1); /* so that a sanitizer knows its end */

		memcpy(copy, out.bytes.at, size);
		cr_assert_eq(merge_bytes(copy, size), -EBADMSG);
		free(copy);
	}
	gt_pack_fini(&out);
}

Test(reduce, changed)
{
	struct gt_pack out = {0};

	write_share(&out);
	state = 5;
	for (int i = 0; i < 2000; i++) {
		size_t at = (size_t)(chance() % out.bytes.count);
		uint8_t was = out.bytes.at[at];

		out.bytes.at[at] = (uint8_t)chance();
		merge_bytes(out.bytes.at, out.bytes.count);
		out.bytes.at[at] = was;
	}
	out.bytes.at[10]++; /* in its name and version */
	cr_assert_eq(merge_bytes(out.bytes.at, out.bytes.count), -EPROTO);
	gt_pack_fini(&out);
}

/* ---- ranks ---- */

#define RANKS 3
#define STEPS 20

static uint32_t name(struct gt_model *model, const char *text)
{
	return gt_names_put(&model->names, text, strlen(text));
}

/* A step: two kernels, and a collective that all leave together, on a clock that is ahead. */
static void add_step(struct gt_model *model, int64_t begin)
{
	int64_t end = begin + 900000 + model->rank * 1000000000ll;
	struct gt_op op = {.correlation = -1,
			   .dur = 100000 + (int64_t)(chance() % 9000),
			   .call = GT_NONE,
			   .stack = GT_NONE,
			   .kind = GT_OP_KERNEL};

	op.start = begin + model->rank * 1000000000ll;
	op.name = name(model, "gemm");
	cr_assert_eq(gt_model_add_op(model, &op), 0);
	op.start += op.dur + (int64_t)(chance() % 100000);
	op.name = name(model, chance() % 3 ? "gemm" : "add");
	cr_assert_eq(gt_model_add_op(model, &op), 0);
	op.start += op.dur + (int64_t)(chance() % 100000);
	op.dur = end - op.start;
	op.bytes = 4096;
	op.comm = GT_COMM_GROUPS;
	op.name = name(model, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()");
	cr_assert_eq(gt_model_add_op(model, &op), 0);
}

static void make_job(struct gt_job *job)
{
	*job = (struct gt_job){.models = calloc(RANKS, sizeof(*job->models)), .count = RANKS};
	state = 11;
	for (int f = 0; f < RANKS; f++) {
		struct gt_model *model = &job->models[f];

		cr_assert_eq(gt_names_init(&model->names), 0);
		model->path = model->own_path = strdup("rank.json");
		model->rank = f;
		model->reading.header = (struct gt_header){
			.has_rank = true, .has_base = true, .rank = f, .world_size = RANKS};
		cr_assert(gt_vec_push(&model->groups, name(model, "default_pg")));
		model->group_size[0] = RANKS;
		for (int i = 0; i < STEPS; i++)
			add_step(model, i * 1000000ll);
		model->first = model->ops.at[0].start;
		model->last = model->ops.at[model->ops.count - 1].start + 1000000;
	}
}

static int read_message(const void *bytes, size_t size, struct gt_job *ret_job,
			struct gt_rank_excerpt **ret_excerpts)
{
	struct gt_rank_sents sents = {0};
	int rc = gt_rank_message_read(bytes, size, &sents);

	*ret_job = (struct gt_job){0};
	*ret_excerpts = NULL;
	if (!rc)
		rc = gt_rank_sents_move(&sents, ret_job, ret_excerpts);
	gt_rank_sents_fini(&sents);
	return rc;
}

static void write_message(struct gt_pack *out)
{
	const struct gt_filter filter = {0};
	struct gt_rank_excerpt *excerpts;
	struct gt_job job;

	make_job(&job);
	cr_assert_eq(gt_rank_excerpts_take(&job, &filter, &excerpts), 0);
	gt_rank_message_write(&job, excerpts, out);
	cr_assert(!out->failed);
	gt_rank_excerpts_fini(excerpts, job.count);
	gt_job_fini(&job);
}

/* Compares what a message says; an error: it is none. */
static int compare_message(const void *bytes, size_t size, struct gt_lates *ret_lates)
{
	struct gt_rank_excerpt *excerpts;
	struct gt_ranks ranks;
	struct gt_job job;
	int rc = read_message(bytes, size, &job, &excerpts);

	if (rc) {
		gt_rank_excerpts_fini(excerpts, job.count);
	} else {
		cr_assert_eq(gt_ranks_compare(&job, excerpts, &ranks), 0);
		*ret_lates = ranks.lates;
		memset(&ranks.lates, 0, sizeof(ranks.lates));
		gt_ranks_fini(&ranks);
	}
	gt_job_fini(&job);
	return rc;
}

Test(reduce, ranks)
{
	const struct gt_filter filter = {0};
	struct gt_pack out = {0};
	struct gt_lates lates;
	struct gt_ranks ranks;
	struct gt_job job;

	write_message(&out);
	cr_assert_lt(out.bytes.count, RANKS * (200 + STEPS * 40));
	cr_assert_eq(compare_message(out.bytes.at, out.bytes.count, &lates), 0);
	make_job(&job); /* its clocks are those of its own message */
	job.clocks.of = calloc(RANKS, sizeof(*job.clocks.of));
	for (int f = 0; f < RANKS; f++)
		job.clocks.of[f].line.off = -f * 1000000000.0;
	cr_assert_eq(gt_ranks_find(&job, &filter, &ranks), 0);
	cr_assert_eq(ranks.rounds.all.count, STEPS);
	cr_assert_eq(lates.count, ranks.lates.count);
	for (size_t f = 0; f < lates.count; f++) {
		cr_assert_gt(lates.of[f].count, 0);
		cr_assert_arr_eq(&lates.of[f], &ranks.lates.of[f], sizeof(lates.of[f]));
	}
	gt_lates_fini(&lates);
	gt_ranks_fini(&ranks);
	gt_job_fini(&job);
	gt_pack_fini(&out);
}

Test(reduce, ranks_cut)
{
	struct gt_pack out = {0};
	struct gt_lates lates;

	write_message(&out);
	for (size_t size = 0; size < out.bytes.count; size++) {
		void *copy = malloc(size + 1);

		memcpy(copy, out.bytes.at, size);
		cr_assert_eq(compare_message(copy, size, &lates), -EBADMSG);
		free(copy);
	}
	gt_pack_fini(&out);
}

Test(reduce, ranks_changed)
{
	struct gt_pack out = {0};
	struct gt_lates lates;

	write_message(&out);
	state = 7;
	for (int i = 0; i < 2000; i++) {
		size_t at = (size_t)(chance() % out.bytes.count);
		uint8_t was = out.bytes.at[at];

		out.bytes.at[at] = (uint8_t)chance();
		if (!compare_message(out.bytes.at, out.bytes.count, &lates))
			gt_lates_fini(&lates);
		out.bytes.at[at] = was;
	}
	gt_pack_fini(&out);
}
