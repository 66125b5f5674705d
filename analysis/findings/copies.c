/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules about copies: pageable memory, many small ones. Only sizes that a trace holds count.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/findings/rule.h"
#include "readers/keymap.h"

#define SMALL      65536 /* bytes; pageable copies up to it are staged at once (CUDA driver) */
#define LEAST_MANY 100   /* copies */

/* The directions that copies are compared within. */
enum copies_direction { TO_DEVICE, TO_HOST, ON_DEVICE, BETWEEN, OTHER, DIRECTIONS };

static enum copies_direction direction_of(const char *name)
{
	static const struct {
		const char *word;
		enum copies_direction direction;
	} words[] = {{"HtoD", TO_DEVICE},          {"DtoH", TO_HOST},
		     {"DtoD", ON_DEVICE},          {"PtoP", BETWEEN},
		     {"HostToDevice", TO_DEVICE},  {"DeviceToHost", TO_HOST},
		     {"DeviceToDevice", ON_DEVICE}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(name, words[i].word))
			return words[i].direction;
	return OTHER;
}

/* Sums over copies, by direction. */
struct copies_sum {
	int64_t ns, bytes;
	uint64_t count;
};

/* A rule's copies, and those that their rate is compared with. */
struct copies {
	struct copies_sum own[DIRECTIONS], good[DIRECTIONS];
	struct gt_groups places;
	uint64_t kinds; /* copies whose names tell the kind of memory */
	uint64_t all;
	uint64_t sized;
};

typedef bool (*is_own)(const struct gt_op *op, const char *name);
typedef bool (*is_good)(const struct gt_op *op, const char *name);

static void add(struct copies_sum *sum, const struct gt_op *op)
{
	sum->ns += op->dur;
	sum->count++;
	if (op->bytes != GT_NO_BYTES)
		sum->bytes += op->bytes;
}

static int add_copy(const struct gt_model *model, const struct gt_op *op, is_own own, is_good good,
		    struct copies *copies)
{
	const char *name = gt_model_name(model, op->name);
	const struct gt_call *call = gt_model_call_of(model, op);
	enum copies_direction direction = direction_of(name);
	char place[8192];

	copies->all++;
	copies->kinds += strstr(name, "Pageable") || strstr(name, "Pinned") ||
			 direction == ON_DEVICE || direction == BETWEEN;
	copies->sized += op->bytes != GT_NO_BYTES;
	if (good(op, name))
		add(&copies->good[direction], op);
	if (!own(op, name))
		return 0;
	add(&copies->own[direction], op);
	if (call)
		gt_survey_place(model, call, place, sizeof(place));
	else
		snprintf(place, sizeof(place), "%s", name);
	return gt_survey_add(&copies->places, place, 1, op->dur);
}

static int sum_copies(const struct gt_survey *survey, is_own own, is_good good,
		      struct copies *ret_copies)
{
	int rc;

	*ret_copies = (struct copies){0};
	rc = gt_groups_init(&ret_copies->places);
	for (size_t f = 0; f < survey->job->count; f++) {
		const struct gt_model *model = &survey->job->models[f];

		for (size_t i = 0; !rc && i < model->ops.count; i++)
			if (gt_model_op_traits(model, i)->kind == GT_OP_COPY &&
			    gt_filter_op(survey->filter, model, gt_model_op_at(model, i)))
				rc = add_copy(model, gt_model_op_at(model, i), own, good,
					      ret_copies);
	}
	return rc;
}

/* What the copies take longer than their bytes at the good ones' rate; all of it, where there is no
 * good one. */
static int64_t excess(const struct copies *copies)
{
	int64_t total = 0;

	for (int i = 0; i < DIRECTIONS; i++) {
		const struct copies_sum *own = &copies->own[i], *good = &copies->good[i];
		double ideal = good->bytes > 0 && good->ns > 0
				       ? (double)own->bytes * (double)good->ns / (double)good->bytes
				       : 0;

		if ((double)own->ns > ideal)
			total += own->ns - (int64_t)ideal;
	}
	return total;
}

static struct copies_sum sum_of(const struct copies_sum *sums)
{
	struct copies_sum sum = {0};

	for (int i = 0; i < DIRECTIONS; i++) {
		sum.ns += sums[i].ns;
		sum.bytes += sums[i].bytes;
		sum.count += sums[i].count;
	}
	return sum;
}

static bool is_pageable(const struct gt_op *op, const char *name)
{
	(void)op;
	return strstr(name, "Pageable") != NULL;
}

static bool is_pinned(const struct gt_op *op, const char *name)
{
	return strstr(name, "Pinned") && op->bytes > SMALL && op->dur > 0;
}

/* Of a call, in all processes. */
static uint64_t key_of(const struct gt_model *model, uint32_t call)
{
	return (uint64_t)(uintptr_t)&model->calls.at[call];
}

/* The host is in the call while the driver copies through its own pinned memory. */
static bool is_pageable_call(const struct gt_model *model, const struct gt_call *call, void *data)
{
	const struct gt_keymap *pageable = data;

	return gt_keymap_has(pageable, key_of(model, call->index));
}

static int find_calls(const struct gt_survey *survey, struct gt_keymap *calls)
{
	for (size_t f = 0; f < survey->job->count; f++) {
		const struct gt_model *model = &survey->job->models[f];

		for (size_t i = 0; i < model->ops.count; i++) {
			const struct gt_op *op = gt_model_op_at(model, i);
			const struct gt_call *call = gt_model_call_of(model, op);

			if (!call || op->kind != GT_OP_COPY ||
			    !is_pageable(op, gt_model_name(model, op->name)) ||
			    !gt_filter_op(survey->filter, model, op))
				continue;
			if (!gt_keymap_get(calls, key_of(model, call->index - call->back)))
				return -ENOMEM;
		}
	}
	return 0;
}

static int host_part(const struct gt_survey *survey, int64_t *ret_saves, int64_t *ret_host)
{
	struct gt_survey_calls calls = {0};
	struct gt_keymap pageable = {0};
	int rc = find_calls(survey, &pageable);

	if (!rc)
		rc = gt_survey_take(survey, is_pageable_call, &pageable, &calls);
	*ret_saves = calls.saves;
	*ret_host = calls.total;
	gt_survey_calls_fini(&calls);
	gt_keymap_fini(&pageable);
	return rc;
}

int gt_rule_pageable_copies(const struct gt_survey *survey, struct gt_finding *finding)
{
	int64_t idle = 0, host = 0;
	struct copies copies;
	struct copies_sum own;
	char text[3][32];
	int rc = sum_copies(survey, is_pageable, is_pinned, &copies);

	own = sum_of(copies.own);
	if (!rc)
		rc = host_part(survey, &idle, &host);
	gt_survey_judge(survey, excess(&copies) + idle, finding);
	if (own.count)
		gt_rule_say(finding,
			    "%" PRIu64 " pageable %s of %s took %s on the GPU and the host %s in "
			    "calls.",
			    own.count, own.count == 1 ? "copy" : "copies",
			    gt_table_bytes((double)own.bytes, text[0], sizeof(text[0])),
			    gt_table_time((double)own.ns, text[1], sizeof(text[1])),
			    gt_table_time((double)host, text[2], sizeof(text[2])));
	if (copies.all && !copies.kinds) {
		finding->state = GT_FINDING_UNDECIDED;
		finding->needs = "copies with the kind of host memory in their names (\"Memcpy "
				 "HtoD (Pageable -> Device)\")";
	}
	gt_survey_places(&copies.places, finding);
	gt_groups_fini(&copies.places);
	return rc;
}

static bool is_small(const struct gt_op *op, const char *name)
{
	(void)name;
	return op->bytes != GT_NO_BYTES && op->bytes <= SMALL;
}

static bool is_large(const struct gt_op *op, const char *name)
{
	(void)name;
	return op->bytes > SMALL && op->dur > 0;
}

int gt_rule_small_copies(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct copies copies;
	struct copies_sum own;
	char bytes[32], time[32];
	int rc = sum_copies(survey, is_small, is_large, &copies);

	own = sum_of(copies.own);
	gt_survey_judge(survey, excess(&copies), finding);
	if (own.count < LEAST_MANY)
		finding->state = GT_FINDING_CLEAR;
	if (own.count)
		gt_rule_say(finding,
			    "%" PRIu64 " %s of 64 KiB or less carried %s in %s of GPU time.",
			    own.count, own.count == 1 ? "copy" : "copies",
			    gt_table_bytes((double)own.bytes, bytes, sizeof(bytes)),
			    gt_table_time((double)own.ns, time, sizeof(time)));
	if (copies.all && !copies.sized) {
		finding->state = GT_FINDING_UNDECIDED;
		finding->needs = "the sizes of copies";
	}
	gt_survey_places(&copies.places, finding);
	gt_groups_fini(&copies.places);
	return rc;
}
