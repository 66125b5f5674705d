/* SPDX-License-Identifier: Apache-2.0
 *
 * See stacks.h. Pure over constant models; one thread per set.
 */
#include "analysis/stacks/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gaps/gaps.h"
#include "analysis/group.h"
#include "analysis/key_group.h"
#include "analysis/share.h"
#include "analysis/table/table.h"
#include "core/guest/text.h"
#include "readers/show.h"
#include "trace/frame.h"
#include "trace/user_code.h"

#define MAX_TEXT 65536

const char *const gt_weight_names[GT_WEIGHT_COUNT_] = {"gpu", "cpu", "bytes", "count", "idle"};
const char *const gt_weight_units[GT_WEIGHT_COUNT_] = {"nanoseconds", "nanoseconds", "bytes",
						       "none", "nanoseconds"};

struct build {
	struct gt_groups groups;      /* value[0] is the sum */
	struct gt_keymap known;       /* groups of the model in hand, by stack and name */
	const struct gt_model *model; /* the one in hand */
	struct gt_keymap text_of;     /* its stacks -> number in texts */
	struct gt_names texts;
	bool users; /* library frames between the user's are left out */
	char text[MAX_TEXT];
};

/* A frame's text as one element: a ';' in it would be read as the next one. */
static size_t add_frame(char *out, size_t size, size_t n, const char *frame)
{
	if (n && n + 1 < size)
		out[n++] = ';';
	for (; *frame && n + 1 < size; frame++)
		out[n++] = *frame == ';' ? ':' : *frame;
	out[n] = 0;
	return n;
}

static bool is_users(const struct gt_model *model, uint32_t name)
{
	return gt_user_code_rank_of(model, name) & GT_FRAME_USER;
}

static size_t make_stack(const struct gt_model *model, uint32_t stack, bool users, char *out,
			 size_t size)
{
	const struct gt_frames *frames = &model->stacks.at[stack];
	uint32_t last = 0, launching = gt_key_launching(model, stack);
	char text[4096];
	size_t n = 0;

	users &= model->ranks && launching != GT_NAME_NONE && is_users(model, launching);
	while (model->ranks && last + 1 < frames->count && frames->frame[last] != launching)
		last++;
	for (uint32_t i = frames->count; i-- > last;) {
		if (users && !is_users(model, frames->frame[i]))
			continue;
		gt_frame_print(gt_model_name(model, frames->frame[i]), text, sizeof(text));
		n = add_frame(out, size, n, text);
	}
	return n;
}

/* A stack in one text, which is made once. */
static size_t put_stack(struct build *b, const struct gt_model *model, uint32_t stack, char *out,
			size_t size)
{
	struct gt_keymap_entry *entry;
	size_t n;

	if (b->model != model)
		gt_keymap_fini(&b->text_of);
	b->model = model;
	entry = gt_key_known(model, stack, 0, &b->text_of);
	if (entry && entry->value) {
		n = (size_t)snprintf(out, size, "%s",
				     gt_names_get(&b->texts, (uint32_t)entry->value));
		return n < size ? n : size - 1;
	}
	n = make_stack(model, stack, b->users, out, size);
	if (entry)
		entry->value = gt_names_put(&b->texts, out, n);
	return n;
}

/* The host side of an operation or call: its stack, else the ranges around it, else its thread. */
static size_t put_host(struct build *b, const struct gt_model *model, uint32_t stack,
		       const struct gt_call *call, char *out, size_t size)
{
	const struct gt_thread_track *track;
	char thread[64];
	size_t n;

	*out = 0;
	if (stack < model->stacks.count && model->stacks.at[stack].count)
		return put_stack(b, model, stack, out, size);
	if (!call)
		return add_frame(out, size, 0, "(no call)");
	n = gt_key_ranges(model, call->thread, call->start,
			  !model->ranks ? GT_FUNCTIONS_ALL
			  : b->users    ? GT_FUNCTIONS_OF_USERS
					: GT_FUNCTIONS_TO_USERS,
			  ";", out, size);
	if (n)
		return n;
	track = &model->threads.at[call->thread];
	snprintf(thread, sizeof(thread), "thread %" PRId64, track->tid);
	return add_frame(out, size, 0, track->name ? gt_model_name(model, track->name) : thread);
}

/* The group of the stack in b->text and what stands on it. */
static struct gt_group *group_of(struct build *b, size_t n, const char *leaf)
{
	n = add_frame(b->text, sizeof(b->text), n, leaf);
	gt_text_clean(b->text, n, ' '); /* one line a stack */
	return gt_groups_get(&b->groups, b->text);
}

static int add(struct build *b, size_t n, const char *leaf, int64_t weight)
{
	struct gt_group *group = weight > 0 ? group_of(b, n, leaf) : NULL;

	if (group)
		group->tag[0] += weight;
	return group || weight <= 0 ? 0 : -ENOMEM;
}

/* Work of a name that was started with a stack, or else by a call. */
static int add_work(struct build *b, const struct gt_model *model, uint32_t stack,
		    const struct gt_call *call, uint32_t name, int64_t weight)
{
	struct gt_keymap_entry *entry;
	struct gt_group *group;

	if (weight <= 0)
		return 0;
	entry = gt_key_known(model, stack, name, &b->known);
	if (entry && entry->value)
		group = &b->groups.list.at[entry->value - 1];
	else
		group = group_of(b, put_host(b, model, stack, call, b->text, sizeof(b->text)),
				 gt_model_name(model, name));
	if (!group)
		return -ENOMEM;
	if (entry)
		entry->value = group - b->groups.list.at + 1;
	group->tag[0] += weight;
	return 0;
}

/* Bytes of copies and sets; what collectives exchange is no copy of a program's. */
static int64_t moved(const struct gt_op *op)
{
	return op->kind == GT_OP_KERNEL ? 0 : op->bytes;
}

static int add_ops(struct build *b, const struct gt_model *model, const struct gt_filter *filter,
		   enum gt_weight weight)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);

		if (gt_filter_op(filter, model, op))
			rc = add_work(b, model, op->stack, gt_model_call_of(model, op), op->name,
				      weight == GT_WEIGHT_GPU     ? op->dur
				      : weight == GT_WEIGHT_BYTES ? moved(op)
								  : 1);
	}
	return rc;
}

static int add_calls(struct build *b, const struct gt_model *model, const struct gt_filter *filter)
{
	struct gt_filter_calls chosen;
	int rc = gt_filter_calls_init(&chosen, filter, model);

	for (size_t i = 0; !rc && i < model->calls.count; i++) {
		const struct gt_call *call = gt_model_call_at(model, i);

		if (gt_filter_call(&chosen, call))
			rc = add_work(b, model, call->stack, call, call->name, call->dur);
	}
	gt_filter_calls_fini(&chosen);
	return rc;
}

struct idle {
	struct gt_shares shares; /* by the stack of the call that ended the gaps */
	struct build *b;
};

/* Time between calls is split by the stacks of samples, the rest is the call's. */
static int add_idle_piece(const struct gt_gap *gap, const struct gt_piece *piece, void *data)
{
	const struct gt_model *model = gap->model;
	const struct gt_op *op = gt_model_op_at(model, gap->op);
	const struct gt_thread_track *track;
	struct idle *idle = data;
	char *base = idle->b->text, *place;
	size_t size = sizeof(idle->b->text);
	uint32_t i;
	int rc;

	put_host(idle->b, model, op->stack, gt_model_call_of(model, op), base, size);
	/* in calls and out of calls are two names of the same stack */
	if (piece->thread != GT_NONE)
		add_frame(base, size, strlen(base), "");
	rc = gt_shares_span(&idle->shares, base, 0, piece->ns);
	if (rc || piece->thread == GT_NONE)
		return rc;
	track = &model->threads.at[piece->thread];
	place = malloc(MAX_TEXT);
	if (!place)
		return -ENOMEM;
	i = gt_model_sample_from(model, piece->thread, piece->start);
	for (; !rc && i < track->sample.first + track->sample.count &&
	       model->samples.at[i].ts < piece->start + piece->ns;
	     i++) {
		if (model->samples.at[i].stack >= model->stacks.count)
			continue;
		put_stack(idle->b, model, model->samples.at[i].stack, place, MAX_TEXT);
		rc = gt_shares_sample(
			&idle->shares, base, place,
			gt_model_sample_time(model, i, piece->start, piece->start + piece->ns));
	}
	free(place);
	return rc;
}

static int add_idle_share(const struct gt_share *share, void *data)
{
	struct idle *idle = data;
	char *text = idle->b->text;
	size_t n =
		(size_t)snprintf(text, MAX_TEXT, "%s", share->place ? share->place : share->base);

	if (n >= MAX_TEXT)
		n = MAX_TEXT - 1;
	if (n && text[n - 1] == ';')
		text[--n] = 0;
	return add(idle->b, n, "GPU idle", share->ns);
}

static int add_idle(struct build *b, const struct gt_job *job, const struct gt_filter *filter)
{
	struct idle idle = {.b = b};
	struct gt_gaps gaps;
	int rc = gt_gaps_build(job, filter, 0, &gaps);

	if (!rc)
		rc = gt_shares_init(&idle.shares);
	for (size_t i = 0; !rc && i < gaps.list.count; i++)
		rc = gt_gaps_explain(gt_gaps_at(&gaps, i), add_idle_piece, &idle);
	if (!rc)
		rc = gt_shares_each(&idle.shares, add_idle_share, &idle);
	gt_shares_fini(&idle.shares);
	gt_gaps_fini(&gaps);
	return rc;
}

static int by_text(const void *a, const void *b)
{
	const struct gt_fold *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* Moves the sums out of the groups; the names with their texts go along. */
static int finish(struct build *b, struct gt_folded *stacks)
{
	for (size_t i = 0; i < b->groups.list.count; i++) {
		struct gt_fold fold = {.text = gt_group_name(&b->groups, &b->groups.list.at[i]),
				       .weight = b->groups.list.at[i].tag[0]};

		if (!gt_vec_push(&stacks->folds, fold))
			return -ENOMEM;
	}
	stacks->names = b->groups.names;
	b->groups.names = (struct gt_names){0};
	if (stacks->folds.count)
		qsort(stacks->folds.at, stacks->folds.count, sizeof(*stacks->folds.at), by_text);
	return 0;
}

int gt_folded_build(const struct gt_job *job, const struct gt_filter *filter, enum gt_weight weight,
		    bool users, struct gt_folded *ret_stacks)
{
	struct build *b = calloc(1, sizeof(*b));
	int rc = b ? gt_groups_init(&b->groups) : -ENOMEM;

	*ret_stacks = (struct gt_folded){0};
	if (!rc)
		rc = gt_names_init(&b->texts);
	if (b)
		b->users = users;
	if (!rc && weight == GT_WEIGHT_IDLE)
		rc = add_idle(b, job, filter);
	for (size_t f = 0; !rc && weight != GT_WEIGHT_IDLE && f < job->count; f++) {
		rc = weight == GT_WEIGHT_CPU ? add_calls(b, &job->models[f], filter)
					     : add_ops(b, &job->models[f], filter, weight);
		gt_keymap_fini(&b->known);
	}
	if (!rc)
		rc = finish(b, ret_stacks);
	if (b) {
		gt_groups_fini(&b->groups);
		gt_names_fini(&b->texts);
		gt_keymap_fini(&b->text_of);
	}
	free(b);
	return rc;
}

void gt_folded_fini(struct gt_folded *stacks)
{
	gt_vec_free(&stacks->folds);
	gt_names_fini(&stacks->names);
}

void gt_folded_print_folded(const struct gt_folded *stacks, FILE *out)
{
	for (size_t i = 0; i < stacks->folds.count; i++)
		fprintf(out, "%s %" PRId64 "\n", stacks->folds.at[i].text,
			stacks->folds.at[i].weight);
}

/* Prints the frame numbers of a folded stack; new frames join @frames. */
static void print_sample(struct gt_names *frames, const char *text, FILE *out)
{
	const char *gap = "";

	fputc('[', out);
	for (; *text; text += *text == ';') {
		size_t len = strcspn(text, ";");

		/* number 0 is the empty string, speedscope counts from 0 */
		fprintf(out, "%s%u", gap, gt_names_put(frames, text, len) - (len > 0));
		gap = ",";
		text += len;
	}
	fputc(']', out);
}

void gt_folded_print_speedscope(const struct gt_folded *stacks, enum gt_weight weight,
				const char *name, FILE *out)
{
	struct gt_names frames;
	int64_t total = 0;

	if (gt_names_init(&frames))
		return;
	fputs("{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n\"name\": ",
	      out);
	gt_show_json(name, out);
	fputs(",\n\"exporter\": \"gputrace\",\n\"profiles\": [{\"type\": \"sampled\", \"name\": ",
	      out);
	gt_show_json(gt_weight_names[weight], out);
	fprintf(out, ", \"unit\": \"%s\", \"startValue\": 0,\n\"samples\": [",
		gt_weight_units[weight]);
	for (size_t i = 0; i < stacks->folds.count; i++) {
		fputs(i ? ",\n" : "\n", out);
		print_sample(&frames, stacks->folds.at[i].text, out);
	}
	fputs("],\n\"weights\": [", out);
	for (size_t i = 0; i < stacks->folds.count; i++) {
		fprintf(out, "%s%" PRId64, i ? "," : "", stacks->folds.at[i].weight);
		total += stacks->folds.at[i].weight;
	}
	fprintf(out, "],\n\"endValue\": %" PRId64 "}],\n\"shared\": {\"frames\": [", total);
	for (size_t i = 1; i < frames.text.count; i++) {
		fputs(i > 1 ? ",\n{\"name\": " : "\n{\"name\": ", out);
		gt_show_json(frames.text.at[i], out);
		fputc('}', out);
	}
	fputs("]}}\n", out);
	gt_names_fini(&frames);
}
