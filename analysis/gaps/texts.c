/* SPDX-License-Identifier: Apache-2.0
 *
 * See texts.h.
 */
#include "analysis/gaps/texts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/gaps/place.h"
#include "trace/frame.h"

static void free_all(char **texts, size_t count)
{
	for (size_t i = 0; texts && i < count; i++)
		free(texts[i]);
	free(texts);
}

void gt_gaps_texts_fini(struct gt_gaps_texts *texts)
{
	if (texts->model) {
		free_all(texts->names, texts->model->names.text.count);
		free_all(texts->places, texts->model->stacks.count);
	}
	*texts = (struct gt_gaps_texts){0};
}

/* False: no memory. */
static bool use_model(struct gt_gaps_texts *texts, const struct gt_model *model)
{
	if (texts->model != model) {
		gt_gaps_texts_fini(texts);
		texts->model = model;
		texts->names = calloc(model->names.text.count, sizeof(*texts->names));
		texts->places = calloc(model->stacks.count + 1, sizeof(*texts->places));
	}
	return texts->names && texts->places;
}

const char *gt_gaps_name(struct gt_gaps_texts *texts, const struct gt_model *model, uint32_t name)
{
	char text[1024];

	if (!use_model(texts, model))
		return "";
	if (!texts->names[name]) {
		gt_frame_shorten(gt_model_name(model, name), GT_GAPS_NAME, text, sizeof(text));
		texts->names[name] = strdup(text);
	}
	return texts->names[name] ? texts->names[name] : "";
}

const char *gt_gaps_stack(struct gt_gaps_texts *texts, const struct gt_model *model, uint32_t stack)
{
	char text[2048];
	bool is_data;

	if (!use_model(texts, model) || stack >= model->stacks.count)
		return "";
	if (!texts->places[stack]) {
		gt_gaps_place(model, stack, text, sizeof(text), &is_data);
		texts->places[stack] = strdup(text);
	}
	return texts->places[stack] ? texts->places[stack] : "";
}
