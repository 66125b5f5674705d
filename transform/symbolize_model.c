/* SPDX-License-Identifier: Apache-2.0
 *
 * See symbolize_model.h. The frames of one model are looked up once each, sorted by module. The
 * child sends an answer a frame; where they end before the last one the module of the next is
 * damaged, and another child goes on behind it.
 */
#include "transform/symbolize_model.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "transform/confined.h"
#include "transform/launch_stubs.h"
#include "transform/native_frame.h"

#define MOST_DAMAGED 16    /* modules; with more the rest stays as it is */
#define LONGEST      65536 /* of a frame's text */

/* A frame that is to be looked up, and what became of it. */
struct wanted_frame {
	uint32_t name; /* of the model */
	uint32_t path;
	uint32_t build_id;
	struct gt_native_frame frame;
	uint32_t *lines; /* names, innermost first; owned */
	uint32_t count;  /* 0: as it was */
	uint32_t stubs;  /* leading frames that are left out at the beginning of a stack */
};

struct wanted {
	GT_VEC(struct wanted_frame) frames; /* by path */
	size_t next;                        /* the first one that has no answer */
	struct gt_model *model;
	time_t end; /* of the time that there is, CLOCK_MONOTONIC */
};

/* ---- what is looked up ---- */

/* The modules of a model by the name of their path, NULL: none. */
struct module_index {
	const struct gt_model_module **at;
	size_t count;
};

static bool index_modules(const struct gt_model *model, struct module_index *index)
{
	index->count = model->names.text.count;
	index->at = calloc(index->count + 1, sizeof(*index->at));
	for (size_t i = 0; index->at && i < model->modules.count; i++)
		index->at[model->modules.at[i].path] = &model->modules.at[i];
	return index->at;
}

static int want(struct wanted *wanted, const struct module_index *index, uint32_t name)
{
	struct wanted_frame one = {.name = name};
	const struct gt_model_module *module;
	uint32_t path;

	if (!gt_native_frame_parse(gt_model_name(wanted->model, name), &one.frame))
		return 0;
	path = gt_names_put(&wanted->model->names, one.frame.path, one.frame.path_len);
	module = path < index->count ? index->at[path] : NULL;
	if (!module || module->build_id == GT_NAME_NONE)
		return 0;
	one.path = module->path;
	one.build_id = module->build_id;
	return gt_vec_push(&wanted->frames, one) ? 0 : -ENOMEM;
}

static int by_path(const void *a, const void *b)
{
	const struct wanted_frame *x = a, *y = b;

	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* All native frames of the whole stacks, each once. */
static int gather(struct wanted *wanted)
{
	const struct gt_model *model = wanted->model;
	size_t names = model->names.text.count;
	struct module_index index = {0};
	uint8_t *seen = calloc(names + 1, 1);
	int rc = seen && index_modules(model, &index) ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < model->stacks.count; i++) {
		const struct gt_frames *stack = &model->stacks.at[i];

		for (uint32_t k = 0; !rc && stack->whole && k < stack->count; k++) {
			if (!seen[stack->frame[k]])
				rc = want(wanted, &index, stack->frame[k]);
			seen[stack->frame[k]] = 1;
		}
	}
	free(seen);
	free(index.at);
	if (wanted->frames.count)
		qsort(wanted->frames.at, wanted->frames.count, sizeof(*wanted->frames.at), by_path);
	return rc;
}

/* ---- the child ---- */

static void tell(FILE *to, uint32_t number)
{
	fwrite(&number, sizeof(number), 1, to);
}

static void answer(struct gt_sources *sources, const struct wanted *wanted,
		   const struct wanted_frame *one, FILE *to)
{
	struct gt_source_line lines[GT_SOURCE_DEPTH];
	const char *text = gt_model_name(wanted->model, one->name);
	size_t count = gt_sources_find(sources, gt_model_name(wanted->model, one->path),
				       gt_model_name(wanted->model, one->build_id),
				       one->frame.offset, lines);

	tell(to, (uint32_t)count);
	if (count)
		tell(to, (uint32_t)gt_launch_stubs(lines, count, text, one->frame.function_len));
	for (size_t i = 0; i < count; i++) {
		char *found = gt_native_frame_at(&one->frame, &lines[i], true);
		size_t length = found ? strlen(found) : 0;

		if (length >= LONGEST)
			length = LONGEST - 1;
		tell(to, (uint32_t)length);
		fwrite(found ? found : "", 1, length, to);
		free(found);
	}
	fflush(to);
}

static void look_up(int to, void *data)
{
	const struct wanted *wanted = data;
	/* libdwfl asks servers only where DEBUGINFOD_URLS is set */
	struct gt_sources *sources = gt_sources_new(true);
	FILE *out = fdopen(to, "w");

	if (!sources || !out)
		_exit(1);
	for (size_t i = wanted->next; i < wanted->frames.count; i++)
		answer(sources, wanted, &wanted->frames.at[i], out);
}

/* ---- the answers ---- */

static bool hear_line(struct wanted *wanted, struct gt_confined *child, uint32_t *ret_name)
{
	char text[LONGEST];
	uint32_t length;

	if (!gt_confined_read(child, &length, sizeof(length)) || length >= sizeof(text) ||
	    !gt_confined_read(child, text, length))
		return false;
	*ret_name = gt_names_put(&wanted->model->names, text, length);
	return *ret_name != GT_NAME_NONE;
}

static bool hear(struct wanted *wanted, struct gt_confined *child, struct wanted_frame *one)
{
	uint32_t count, stubs = 0, heard = 0;
	uint32_t *lines;

	if (!gt_confined_read(child, &count, sizeof(count)) || count > GT_SOURCE_DEPTH)
		return false;
	if (!count)
		return true;
	lines = calloc(count, sizeof(*lines));
	if (lines && gt_confined_read(child, &stubs, sizeof(stubs)) && stubs <= count)
		while (heard < count && hear_line(wanted, child, &lines[heard]))
			heard++;
	if (heard < count) {
		free(lines);
		return false;
	}
	one->lines = lines;
	one->count = count;
	one->stubs = stubs;
	return true;
}

static time_t now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* One child's answers. Whether it gave all. */
static bool hear_all(struct wanted *wanted, struct gt_symbolized *result)
{
	time_t left = wanted->end - now_seconds();
	struct gt_confined child;

	if (left <= 0) {
		result->is_late = true;
		return false;
	}
	if (gt_confined_start(&child, (unsigned int)left, look_up, wanted)) {
		result->failed = true;
		return false;
	}
	while (wanted->next < wanted->frames.count) {
		struct wanted_frame *one = &wanted->frames.at[wanted->next];

		if (!hear(wanted, &child, one))
			break;
		result->found += one->count > 0;
		wanted->next++;
	}
	result->is_late |= child.is_late;
	gt_confined_end(&child);
	return wanted->next == wanted->frames.count;
}

/* Goes on behind the frames of the module that made a child end. */
static void pass_module(struct wanted *wanted)
{
	uint32_t path = wanted->frames.at[wanted->next].path;

	while (wanted->next < wanted->frames.count && wanted->frames.at[wanted->next].path == path)
		wanted->next++;
}

static void ask(struct wanted *wanted, void (*damaged)(const char *path),
		struct gt_symbolized *result)
{
	for (int i = 0; i < MOST_DAMAGED && wanted->next < wanted->frames.count; i++) {
		if (hear_all(wanted, result) || result->is_late || result->failed)
			return;
		damaged(gt_model_name(wanted->model, wanted->frames.at[wanted->next].path));
		pass_module(wanted);
	}
}

/* ---- the stacks ---- */

static void append(uint32_t *frames, uint32_t *count, const struct wanted_frame *one)
{
	for (uint32_t i = *count ? 0 : one->stubs; i < one->count; i++)
		frames[(*count)++] = one->lines[i];
}

/* @by_name: what became of the frame with that number, NULL: nothing. */
static int replace(struct gt_frames *stack, struct wanted_frame *const *by_name)
{
	uint32_t *frames, count = 0, most = 0;
	bool differs = false;

	for (uint32_t i = 0; i < stack->count; i++) {
		const struct wanted_frame *one = by_name[stack->frame[i]];

		most += one && one->count ? one->count : 1;
		differs |= one && one->count;
	}
	if (!differs)
		return 0;
	frames = calloc(most, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct wanted_frame *one = by_name[stack->frame[i]];

		if (one && one->count)
			append(frames, &count, one);
		else
			frames[count++] = stack->frame[i];
	}
	if (!count) { /* nothing but the toolkit's: as it was */
		free(frames);
		return 0;
	}
	free(stack->frame);
	stack->frame = frames;
	stack->count = count;
	return 0;
}

static int replace_all(const struct wanted *wanted)
{
	struct gt_model *model = wanted->model;
	struct wanted_frame **by_name = calloc(model->names.text.count + 1, sizeof(*by_name));
	int rc = by_name ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < wanted->frames.count; i++)
		by_name[wanted->frames.at[i].name] = &wanted->frames.at[i];
	for (size_t i = 0; !rc && i < model->stacks.count; i++)
		if (model->stacks.at[i].whole)
			rc = replace(&model->stacks.at[i], by_name);
	free(by_name);
	return rc;
}

static int symbolize_model(struct gt_model *model, time_t end, void (*damaged)(const char *path),
			   struct gt_symbolized *result)
{
	struct wanted wanted = {.model = model, .end = end};
	int rc = model->modules.count ? gather(&wanted) : 0;

	result->frames += wanted.frames.count;
	if (!rc && wanted.frames.count) {
		ask(&wanted, damaged, result);
		rc = replace_all(&wanted);
	}
	for (size_t i = 0; i < wanted.frames.count; i++)
		free(wanted.frames.at[i].lines);
	gt_vec_free(&wanted.frames);
	return rc;
}

int gt_symbolize_jobs(struct gt_job *jobs, size_t count, unsigned int seconds,
		      void (*damaged)(const char *path), struct gt_symbolized *ret_result)
{
	time_t end = now_seconds() + (time_t)seconds;
	int rc = 0;

	*ret_result = (struct gt_symbolized){0};
	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; !rc && i < jobs[j].count && !ret_result->is_late; i++)
			rc = symbolize_model(&jobs[j].models[i], end, damaged, ret_result);
	return rc;
}
