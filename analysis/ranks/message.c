/* SPDX-License-Identifier: Apache-2.0
 *
 * See message.h. Times are written as differences to the ones before, names once for all processes
 * of a message.
 */
#include "analysis/ranks/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ranks/fields.h"

/* Changes with every change of what is written. */
#define RANKS "gputrace ranks 5"

static void put_text(struct gt_pack *out, const char *text)
{
	gt_pack_put_text(out, text, strlen(text));
}

/* As numbers: each process has hashes of its own. */
static void write_message(struct gt_rank_writer *w, const struct gt_message *message)
{
	gt_pack_put(&w->body, message->number);
	if (!message->number)
		return;
	gt_pack_put(&w->body, message->from);
	gt_pack_put(&w->body, message->to);
}

static void write_meetings(struct gt_rank_writer *w, const struct gt_rank_excerpt *excerpt)
{
	const struct gt_model *model = w->model;
	struct gt_rank_fields last = {0};
	size_t kernels = 0;

	while (kernels < excerpt->meetings.count &&
	       !gt_meeting_is_mpi(model, excerpt->meetings.at[kernels].op))
		kernels++;
	gt_pack_put(&w->body, kernels);
	for (size_t i = 0; i < kernels; i++)
		gt_rank_write_kernel(w, &excerpt->meetings.at[i], &last);
	gt_pack_put(&w->body, excerpt->meetings.count - kernels);
	last = (struct gt_rank_fields){0};
	for (size_t i = kernels; i < excerpt->meetings.count; i++)
		gt_rank_write_call(w, &excerpt->meetings.at[i], &last);
}

static void write_model(struct gt_rank_writer *w, const struct gt_rank_excerpt *excerpt)
{
	const struct gt_model *model = w->model;
	uint64_t sequence = 0;
	int64_t correlation = 0;

	gt_rank_write_head(w, excerpt);
	gt_pack_put(&w->body, model->groups.count);
	for (size_t i = 0; i < model->groups.count; i++) {
		gt_pack_put(&w->body, gt_rank_write_name(w, model->groups.at[i]));
		gt_pack_put(&w->body, model->group_size[i]);
	}
	gt_pack_put(&w->body, model->places.count);
	for (size_t i = 0; i < model->places.count; i++) {
		const struct gt_collective_place *place = &model->places.at[i];

		gt_rank_put_step(&w->body, (uint64_t)place->correlation, (uint64_t)correlation);
		gt_rank_put_step(&w->body, place->sequence, sequence);
		correlation = place->correlation;
		sequence = place->sequence;
	}
	gt_pack_put(&w->body, model->messages.count);
	correlation = 0;
	for (size_t i = 0; i < model->messages.count; i++) {
		const struct gt_message_place *place = &model->messages.at[i];

		gt_rank_put_step(&w->body, (uint64_t)place->correlation, (uint64_t)correlation);
		write_message(w, &place->sent);
		write_message(w, &place->received);
		correlation = place->correlation;
	}
	write_meetings(w, excerpt);
	gt_rank_write_times(w, excerpt->steps.at, excerpt->steps.count);
	gt_rank_write_times(w, excerpt->kernels.at, excerpt->kernels.count);
}

static void write_all(const struct gt_rank_writer *w, size_t models, struct gt_pack *out)
{
	put_text(out, RANKS);
	gt_pack_put(out, w->names.text.count);
	for (uint32_t i = 0; i < w->names.text.count; i++)
		put_text(out, gt_names_get(&w->names, i));
	gt_pack_put(out, models);
	for (size_t i = 0; !out->failed && i < w->body.bytes.count; i++)
		out->failed = !gt_vec_push(&out->bytes, w->body.bytes.at[i]);
	out->failed |= w->body.failed;
}

void gt_rank_message_write(const struct gt_job *job, const struct gt_rank_excerpt *excerpts,
			   struct gt_pack *out)
{
	struct gt_rank_writer w = {0};

	out->failed |= gt_names_init(&w.names) != 0;
	for (size_t f = 0; !out->failed && f < job->count; f++) {
		w.model = &job->models[f];
		w.number = calloc(w.model->names.text.count + 1, sizeof(*w.number));
		out->failed = !w.number;
		if (w.number)
			write_model(&w, &excerpts[f]);
		free(w.number);
	}
	if (!out->failed)
		write_all(&w, job->count, out);
	gt_names_fini(&w.names);
	gt_pack_fini(&w.body);
}

static int read_groups(struct gt_rank_reader *r, struct gt_model *model)
{
	size_t count = gt_pack_take_count(&r->in);

	if (count > UINT8_MAX + 1 - GT_COMM_GROUPS)
		return -EBADMSG;
	for (size_t i = 0; i < count; i++) {
		if (!gt_vec_push(&model->groups, gt_rank_read_name(r)))
			return -ENOMEM;
		model->group_size[i] = (uint32_t)gt_pack_take_most(&r->in, UINT32_MAX);
	}
	return 0;
}

static int read_places(struct gt_rank_reader *r, struct gt_model *model)
{
	struct gt_collective_place place = {0};

	for (size_t count = gt_pack_take_count(&r->in); count; count--) {
		place.correlation = (int64_t)gt_rank_take_step(&r->in, (uint64_t)place.correlation);
		place.sequence = gt_rank_take_step(&r->in, place.sequence);
		if (!gt_vec_push(&model->places, place))
			return -ENOMEM;
	}
	return 0;
}

static struct gt_message read_message(struct gt_rank_reader *r)
{
	struct gt_message message = {.number = (uint32_t)gt_pack_take_most(&r->in, UINT32_MAX)};

	if (message.number) {
		message.from = (uint32_t)gt_pack_take_most(&r->in, UINT32_MAX);
		message.to = (uint32_t)gt_pack_take_most(&r->in, UINT32_MAX);
	}
	return message;
}

static int read_messages(struct gt_rank_reader *r, struct gt_model *model)
{
	struct gt_message_place place = {0};

	for (size_t count = gt_pack_take_count(&r->in); count; count--) {
		place.correlation = (int64_t)gt_rank_take_step(&r->in, (uint64_t)place.correlation);
		place.sent = read_message(r);
		place.received = read_message(r);
		if (!gt_vec_push(&model->messages, place))
			return -ENOMEM;
	}
	return 0;
}

static int read_meetings(struct gt_rank_reader *r)
{
	struct gt_rank_fields last = {0};
	int rc = 0;

	for (size_t count = gt_pack_take_count(&r->in); !rc && count; count--)
		rc = gt_rank_read_kernel(r, &last);
	last = (struct gt_rank_fields){0};
	for (size_t count = rc ? 0 : gt_pack_take_count(&r->in); !rc && count; count--)
		rc = gt_rank_read_call(r, &last);
	return rc;
}

static int read_model(struct gt_rank_reader *r, struct gt_rank_sent *sent)
{
	int rc = gt_names_init(&sent->model.names);

	r->sent = sent;
	memset(r->local, 0, r->count * sizeof(*r->local));
	if (!rc)
		rc = gt_rank_read_head(r);
	if (!rc)
		rc = read_groups(r, &sent->model);
	if (!rc)
		rc = read_places(r, &sent->model);
	if (!rc)
		rc = read_messages(r, &sent->model);
	if (!rc)
		rc = read_meetings(r);
	if (!rc)
		rc = gt_rank_read_times(r, &sent->excerpt.steps);
	if (!rc)
		rc = gt_rank_read_times(r, &sent->excerpt.kernels);
	return rc ? rc : r->failed ? -ENOMEM : r->in.bad ? -EBADMSG : 0;
}

static int read_names(struct gt_rank_reader *r)
{
	size_t length, count;
	const char *text = gt_pack_take_text(&r->in, &length);

	if (length != sizeof(RANKS) - 1 || memcmp(text, RANKS, length) != 0)
		return -EBADMSG;
	count = gt_pack_take_count(&r->in);
	r->text = calloc(count + 1, sizeof(*r->text));
	r->length = calloc(count + 1, sizeof(*r->length));
	r->local = calloc(count + 1, sizeof(*r->local));
	if (!r->text || !r->length || !r->local)
		return -ENOMEM;
	for (r->count = 0; r->count < count; r->count++)
		r->text[r->count] = gt_pack_take_text(&r->in, &r->length[r->count]);
	return r->in.bad ? -EBADMSG : 0;
}

int gt_rank_message_read(const void *bytes, size_t size, struct gt_rank_sents *sents)
{
	struct gt_rank_reader r = {.in = {bytes, (const uint8_t *)bytes + size, false}};
	int rc = read_names(&r);

	for (size_t count = rc ? 0 : gt_pack_take_count(&r.in); !rc && count; count--) {
		if (!gt_vec_grow(&sents->all)) {
			rc = -ENOMEM;
			break;
		}
		memset(&sents->all.at[sents->all.count], 0, sizeof(*sents->all.at));
		rc = read_model(&r, &sents->all.at[sents->all.count++]);
	}
	if (!rc && (r.in.bad || r.in.at != r.in.end))
		rc = -EBADMSG;
	free(r.text);
	free(r.length);
	free(r.local);
	return rc;
}

static void free_excerpt(struct gt_rank_excerpt *excerpt)
{
	gt_vec_free(&excerpt->meetings);
	gt_vec_free(&excerpt->steps);
	gt_vec_free(&excerpt->kernels);
}

void gt_rank_sents_fini(struct gt_rank_sents *sents)
{
	for (size_t i = 0; i < sents->all.count; i++) {
		gt_model_fini(&sents->all.at[i].model);
		free_excerpt(&sents->all.at[i].excerpt);
	}
	gt_vec_free(&sents->all);
}

static int by_rank(const void *a, const void *b)
{
	const struct gt_rank_sent *x = a, *y = b;

	return gt_job_compare_models(&x->model, &y->model);
}

/* From the times and collectives of all. */
static int find_clocks(struct gt_job *job, struct gt_clock_source *sources)
{
	size_t taken = 0;
	int rc = 0;

	while (!rc && taken < job->count) {
		rc = gt_clock_source_meet(&job->models[taken], &sources[taken]);
		taken++;
	}
	if (!rc)
		rc = gt_clocks_find(sources, taken, &job->clocks);
	while (taken)
		gt_clock_source_fini(&sources[--taken]);
	return rc;
}

int gt_rank_sents_move(struct gt_rank_sents *sents, struct gt_job *ret_job,
		       struct gt_rank_excerpt **ret_excerpts)
{
	size_t count = sents->all.count;
	struct gt_clock_source *sources = calloc(count + 1, sizeof(*sources));
	int rc;

	*ret_excerpts = calloc(count + 1, sizeof(**ret_excerpts));
	ret_job->models = calloc(count + 1, sizeof(*ret_job->models));
	if (!sources || !*ret_excerpts || !ret_job->models) {
		free(sources);
		return -ENOMEM;
	}
	if (count)
		qsort(sents->all.at, count, sizeof(*sents->all.at), by_rank);
	for (size_t f = 0; f < count; f++) {
		ret_job->models[f] = sents->all.at[f].model;
		(*ret_excerpts)[f] = sents->all.at[f].excerpt;
		sources[f] = sents->all.at[f].source;
	}
	ret_job->count = count;
	gt_vec_free(&sents->all);
	rc = find_clocks(ret_job, sources);
	free(sources);
	return rc;
}
