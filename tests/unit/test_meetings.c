/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kernels of two processes are the same collective or message does not depend on the seed of
 * the hashes.
 */
#include <string.h>

#include <criterion/criterion.h>

#include "core/hash.h"
#include "trace/communication.h"
#include "trace/load/model_build.h"
#include "trace/meetings.h"

#define SEEDS 64

static void add(struct gt_model *model, int64_t start, int64_t dur,
		const struct gt_library_call *call)
{
	static const char name[] = "ncclDevKernel_SendRecv";
	struct gt_op op = {.kind = GT_OP_KERNEL,
			   .comm = GT_COMM_GROUPS,
			   .call = GT_NONE,
			   .start = start,
			   .dur = dur,
			   .correlation = (int64_t)model->ops.count + 1};

	op.name = gt_names_put(&model->names, name, strlen(name));
	cr_assert_eq(gt_model_add_op(model, &op), 0);
	cr_assert_eq(gt_build_messages(model, op.correlation, call), 0);
}

static void begin(struct gt_model *model)
{
	*model = (struct gt_model){0};
	cr_assert_eq(gt_names_init(&model->names), 0);
	cr_assert_eq(gt_build_group_of(model, "0x12", "0 1", 2), GT_COMM_GROUPS);
}

static bool is_any(const struct gt_model *model, uint32_t number, const struct gt_op *op,
		   const void *data)
{
	(void)model;
	(void)number;
	(void)op;
	(void)data;
	return true;
}

static void end(struct gt_model *model, struct gt_meetings *ret_meetings)
{
	gt_build_places(model);
	cr_assert_eq(gt_meetings_take(model, is_any, NULL, false, ret_meetings), 0);
	gt_model_fini(model);
}

/* Sends and receives number 1 in one kernel here, in two kernels there: the first ones meet. */
static struct gt_met first_pair(uint64_t seed)
{
	struct gt_meetings a, b;
	struct gt_met_pairs pairs;
	struct gt_model model;
	struct gt_met met;

	gt_hash_set_seed((uint64_t[]){seed * 0x9e3779b97f4a7c15u, seed * 0x2545f4914f6cdd1du});
	begin(&model);
	add(&model, 1000, 2000,
	    &(struct gt_library_call){
		    .rank = 1, .to = 2, .to_number = 1, .from = 2, .from_number = 1});
	end(&model, &a);
	begin(&model);
	add(&model, 1200, 500, &(struct gt_library_call){.rank = 2, .from = 1, .from_number = 1});
	add(&model, 2000, 1000, &(struct gt_library_call){.rank = 2, .to = 1, .to_number = 1});
	end(&model, &b);
	cr_assert_eq(gt_meetings_pair(&a, &b, &pairs), 0);
	cr_assert_eq(pairs.all.count, 1);
	met = pairs.all.at[0];
	gt_vec_free(&pairs.all);
	gt_meetings_fini(&a);
	gt_meetings_fini(&b);
	return met;
}

Test(meetings, of_several_messages_the_first_one_counts)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct gt_met met = first_pair(seed);

		cr_assert(met.a == 0 && met.b == 0, "seed %lu: %u with %u", (unsigned long)seed,
			  met.a, met.b);
	}
}
