/* SPDX-License-Identifier: Apache-2.0
 *
 * See texts.h.
 */
#include "analysis/gaps/texts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/gaps/place.h"
#include "core/hash.h"
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
	for (size_t i = 0; texts->kept && i < GT_GAPS_TEXTS; i++)
		free(texts->kept[i].text);
	free(texts->kept);
	free(texts->calls);
	*texts = (struct gt_gaps_texts){0};
}

/* False: no memory. */
static bool use_model(struct gt_gaps_texts *texts, const struct gt_model *model)
{
	if (texts->model != model) {
		gt_gaps_texts_fini(texts);
		texts->model = model;
		texts->names = calloc(model->names.text.count, sizeof(*texts->names));
		texts->calls = calloc(model->names.text.count, sizeof(*texts->calls));
		texts->places = calloc(model->stacks.count + 1, sizeof(*texts->places));
		texts->kept = calloc(GT_GAPS_TEXTS, sizeof(*texts->kept));
	}
	return texts->names && texts->calls && texts->places && texts->kept;
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

enum gt_cuda_call gt_gaps_call(struct gt_gaps_texts *texts, const struct gt_model *model,
			       uint32_t name)
{
	if (!use_model(texts, model))
		return gt_cuda_call_of(gt_model_name(model, name));
	if (!texts->calls[name])
		texts->calls[name] = (uint8_t)(gt_cuda_call_of(gt_model_name(model, name)) + 1);
	return (enum gt_cuda_call)(texts->calls[name] - 1);
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

static bool are_equal(const struct gt_gaps_key *a, const struct gt_gaps_key *b)
{
	return a->what == b->what && a->of[0] == b->of[0] && a->of[1] == b->of[1] &&
	       a->of[2] == b->of[2] && a->of[3] == b->of[3];
}

/* Where the text of @key is if it was asked for just now. Where keys meet here, only time is lost.
 */
static struct gt_gaps_recent *recent_of(struct gt_gaps_texts *texts, const struct gt_gaps_key *key)
{
	uint32_t mix = key->what + key->of[0] * 7 + key->of[1] * 31 + key->of[2] * 1021 +
		       key->of[3] * 4093;

	return &texts->recent[(mix ^ mix >> 9) & (GT_GAPS_RECENT - 1)];
}

/* The place of @key, or where it belongs. */
static struct gt_gaps_kept *place_of(const struct gt_gaps_texts *texts,
				     const struct gt_gaps_key *key)
{
	uint64_t hash = gt_hash_pair((uint64_t)key->what << 32 | key->of[0], key->of[1]);
	size_t at = gt_hash_pair(hash, (uint64_t)key->of[2] << 32 | key->of[3]);

	for (;; at++) {
		struct gt_gaps_kept *kept = &texts->kept[at & (GT_GAPS_TEXTS - 1)];

		if (!kept->text || are_equal(&kept->key, key))
			return kept;
	}
}

const char *gt_gaps_kept(struct gt_gaps_texts *texts, const struct gt_model *model,
			 const struct gt_gaps_key *key)
{
	struct gt_gaps_recent *recent = recent_of(texts, key);

	if (!use_model(texts, model))
		return NULL;
	if (!recent->text || !are_equal(&recent->key, key))
		*recent = (struct gt_gaps_recent){*key, place_of(texts, key)->text};
	return recent->text;
}

const char *gt_gaps_keep(struct gt_gaps_texts *texts, const struct gt_model *model,
			 const struct gt_gaps_key *key, const char *text)
{
	struct gt_gaps_kept *kept;

	if (!use_model(texts, model) || texts->kept_count == GT_GAPS_TEXTS / 2)
		return NULL;
	kept = place_of(texts, key);
	kept->key = *key;
	kept->text = strdup(text);
	texts->kept_count += kept->text != NULL;
	return kept->text;
}
