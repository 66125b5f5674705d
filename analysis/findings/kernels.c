/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules about kernels by their names (kernels.def): a hot one, softmax, fp32 beside tensor cores.
 * The type that a library computes in, where that is known, is better evidence than a name.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/findings/rule.h"
#include "analysis/usage/work.h"
#include "trace/frame.h"

#define NAME_WIDTH 80
#define HOT        30 /* % of the kernels' time */
#define TENSOR_GEN 7  /* compute capability from which on there are tensor cores */
#define GAIN_OF    8  /* dense TF32 to fp32, A100: 156 and 19.5 TFLOPS */

enum kernels_class { ANY, SOFTMAX, TENSOR, FP32, CLASSES };

static const struct {
	const char *pattern;
	enum kernels_class class;
} table[] = {
#define GT_KERNEL(pattern, class, source) {pattern, class},
#include "analysis/findings/kernels.def"
#undef GT_KERNEL
};

static enum kernels_class class_of(const char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!fnmatch(table[i].pattern, name, FNM_CASEFOLD))
			return table[i].class;
	return ANY;
}

/* Tags of a group of kernels besides gt_survey_add's: class, and whether its places are asked
 * for. */
enum { TAG_CLASS, TAG_MARK };

/* Of the kernels of one name those of a call on tensor cores are none of fp32. */
static enum kernels_class class_of_op(const struct gt_model *model, const struct gt_op *op,
				      const struct gt_group *name)
{
	static const bool is_on_tensor_cores[GT_WORK_TYPE_COUNT_] = {
		[GT_WORK_TF32] = true, [GT_WORK_F16] = true, [GT_WORK_BF16] = true,
		[GT_WORK_F8] = true,   [GT_WORK_I8] = true,
	};
	enum kernels_class class = (enum kernels_class)name->tag[TAG_CLASS];
	const struct gt_model_work *work = class == FP32 ? gt_work_of_op(model, op) : NULL;

	return work && is_on_tensor_cores[work->type] ? TENSOR : class;
}

/* Time of kernels but communication, by class and name. */
struct kernels {
	int64_t ns[CLASSES];
	uint64_t count[CLASSES];
	struct gt_groups names; /* tags: as above, and gt_survey_add */
};

static int add_kernel(const struct gt_model *model, const struct gt_op *op, struct kernels *kernels)
{
	const char *name = gt_model_name(model, op->name);
	struct gt_group *group = gt_groups_get(&kernels->names, name);
	enum kernels_class class;

	if (!group)
		return -ENOMEM;
	if (!group->tag[GT_SURVEY_COUNT]++)
		group->tag[TAG_CLASS] = class_of(name);
	class = class_of_op(model, op, group);
	kernels->ns[class] += op->dur;
	kernels->count[class]++;
	group->tag[GT_SURVEY_NS] += op->dur;
	return 0;
}

static int sum_kernels(const struct gt_survey *survey, struct kernels *ret_kernels)
{
	int rc;

	*ret_kernels = (struct kernels){0};
	rc = gt_groups_init(&ret_kernels->names);
	for (size_t f = 0; f < survey->job->count; f++) {
		const struct gt_model *model = &survey->job->models[f];

		for (size_t i = 0; !rc && i < model->ops.count; i++) {
			const struct gt_op *op = gt_model_op_at(model, i);

			if (op->kind == GT_OP_KERNEL && !op->comm &&
			    gt_filter_op(survey->filter, model, op))
				rc = add_kernel(model, op, ret_kernels);
		}
	}
	return rc;
}

/* Whole graphs hide their kernels. */
static bool lacks_kernels(const struct gt_survey *survey, const struct kernels *kernels,
			  struct gt_finding *finding)
{
	if (kernels->names.list.count || !survey->ops)
		return false;
	finding->state = GT_FINDING_UNDECIDED;
	finding->needs = "kernels (of graphs: run --graphs=node)";
	return true;
}

/* The kernel and what launches it. */
static void print_place(const struct gt_model *model, const struct gt_op *op, char *out,
			size_t size)
{
	const struct gt_call *call = gt_model_call_of(model, op);
	char name[160], place[8192];

	gt_frame_shorten(gt_model_name(model, op->name), NAME_WIDTH, name, sizeof(name));
	if (call)
		gt_survey_place(model, call, place, sizeof(place));
	snprintf(out, size, "%s%s%s", name, call ? ": " : "", call ? place : "");
}

/* Those whose names are marked, and that are of @class (CLASSES: of any). */
static int find_places(const struct gt_survey *survey, struct kernels *kernels,
		       enum kernels_class class, struct gt_finding *finding)
{
	struct gt_groups places;
	int rc = gt_groups_init(&places);
	char place[9000];

	for (size_t f = 0; f < survey->job->count; f++) {
		const struct gt_model *model = &survey->job->models[f];

		for (size_t i = 0; !rc && i < model->ops.count; i++) {
			const struct gt_op *op = gt_model_op_at(model, i);
			struct gt_group *group;

			if (op->kind != GT_OP_KERNEL || op->comm ||
			    !gt_filter_op(survey->filter, model, op))
				continue;
			group = gt_groups_get(&kernels->names, gt_model_name(model, op->name));
			if (!group)
				rc = -ENOMEM;
			if (!group || !group->tag[TAG_MARK] ||
			    (class != CLASSES && class_of_op(model, op, group) != class))
				continue;
			print_place(model, op, place, sizeof(place));
			rc = gt_survey_add(&places, place, 1, op->dur);
		}
	}
	gt_survey_places(&places, finding);
	gt_groups_fini(&places);
	return rc;
}

static int find_class(const struct gt_survey *survey, struct kernels *kernels,
		      enum kernels_class class, struct gt_finding *finding)
{
	for (size_t i = 0; i < kernels->names.list.count; i++)
		kernels->names.list.at[i].tag[TAG_MARK] =
			kernels->names.list.at[i].tag[TAG_CLASS] == (int64_t) class;
	return find_places(survey, kernels, class, finding);
}

static int64_t total_of(const struct kernels *kernels)
{
	int64_t total = 0;

	for (int i = 0; i < CLASSES; i++)
		total += kernels->ns[i];
	return total;
}

int gt_rule_softmax(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct kernels kernels;
	int rc = sum_kernels(survey, &kernels);
	char time[32];

	if (!rc && !lacks_kernels(survey, &kernels, finding)) {
		gt_survey_judge(survey, kernels.ns[SOFTMAX], finding);
		gt_rule_say(finding,
			    "Softmax: %" PRIu64
			    " kernel%s, %s, %.1f %% of the time of kernels but communication.",
			    kernels.count[SOFTMAX], kernels.count[SOFTMAX] == 1 ? "" : "s",
			    gt_table_time((double)kernels.ns[SOFTMAX], time, sizeof(time)),
			    gt_survey_percent(kernels.ns[SOFTMAX], total_of(&kernels)));
		rc = find_class(survey, &kernels, SOFTMAX, finding);
	}
	gt_groups_fini(&kernels.names);
	return rc;
}

static struct gt_group *hottest(struct kernels *kernels, int64_t *ret_ns)
{
	struct gt_group *best = NULL;

	*ret_ns = 0;
	for (size_t i = 0; i < kernels->names.list.count; i++) {
		struct gt_group *group = &kernels->names.list.at[i];
		int64_t ns = group->tag[GT_SURVEY_NS];

		if (best && ns <= *ret_ns)
			continue;
		best = group;
		*ret_ns = ns;
	}
	return best;
}

int gt_rule_hot_kernel(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct gt_group *hot;
	struct kernels kernels;
	int rc = sum_kernels(survey, &kernels);
	char time[32], name[160];
	double share;
	int64_t ns;

	hot = hottest(&kernels, &ns);
	if (!rc && hot && !lacks_kernels(survey, &kernels, finding)) {
		const char *whole = gt_group_name(&kernels.names, hot);

		share = gt_survey_percent(ns, total_of(&kernels));
		gt_survey_judge(survey, ns, finding);
		if (share < HOT)
			finding->state = GT_FINDING_CLEAR;
		gt_frame_shorten(whole, 120, name, sizeof(name));
		gt_rule_say(finding,
			    "%s: %" PRIu64
			    " kernel%s, %s, %.1f %% of the time of kernels but communication.",
			    name, (uint64_t)hot->tag[GT_SURVEY_COUNT],
			    hot->tag[GT_SURVEY_COUNT] == 1 ? "" : "s",
			    gt_table_time((double)ns, time, sizeof(time)), share);
		hot->tag[TAG_MARK] = 1;
		rc = find_places(survey, &kernels, CLASSES, finding);
	} else if (!rc) {
		lacks_kernels(survey, &kernels, finding);
	}
	gt_groups_fini(&kernels.names);
	return rc;
}

/* Do all devices have tensor cores? *ret_known: the traces tell. */
static bool has_tensor_cores(const struct gt_job *job, bool *ret_known)
{
	bool all = true;

	*ret_known = job->count > 0;
	for (size_t f = 0; f < job->count; f++) {
		const struct gt_header *header = &job->models[f].reading.header;

		if (!header->device_count)
			*ret_known = false;
		for (size_t i = 0; i < header->device_count; i++) {
			if (header->devices[i].major <= 0)
				*ret_known = false;
			all &= header->devices[i].major >= TENSOR_GEN;
		}
	}
	return all;
}

int gt_rule_fp32_kernels(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct kernels kernels;
	int rc = sum_kernels(survey, &kernels);
	bool known, able = has_tensor_cores(survey->job, &known);
	char time[2][32];
	int64_t ns = kernels.ns[FP32];

	if (!rc && !lacks_kernels(survey, &kernels, finding)) {
		gt_survey_judge(survey, ns - ns / GAIN_OF, finding);
		gt_rule_say(finding,
			    "fp32 matrix, convolution and attention kernels: %" PRIu64
			    ", %s, %.1f %% of the time of kernels but communication; on tensor "
			    "cores: %s.",
			    kernels.count[FP32],
			    gt_table_time((double)ns, time[0], sizeof(time[0])),
			    gt_survey_percent(ns, total_of(&kernels)),
			    gt_table_time((double)kernels.ns[TENSOR], time[1], sizeof(time[1])));
		rc = find_class(survey, &kernels, FP32, finding);
		if (finding->state == GT_FINDING_FOUND && !known) {
			finding->state = GT_FINDING_UNDECIDED;
			finding->needs = "the compute capability of the device, whether it has "
					 "tensor cores";
		} else if (!able && known) {
			finding->state = GT_FINDING_CLEAR;
		}
	}
	gt_groups_fini(&kernels.names);
	return rc;
}
