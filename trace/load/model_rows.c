/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations and calls as they are kept, see model.h: a time, and by number what they have in
 * common with others and what 31 bits do not hold. One thread while loading.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "trace/model.h"

#define FIRST_SIZE 64

_Static_assert(sizeof(struct gt_op_traits) == 32, "compared as words");
_Static_assert(sizeof(struct gt_call_traits) == 16, "compared as words");
_Static_assert(sizeof(struct gt_op_row) == 24 && sizeof(struct gt_call_row) == 24, "no padding");

uint32_t gt_model_most_rows = GT_NONE - 1;

int gt_row_code(struct gt_model *model, int64_t number, uint32_t *ret_code)
{
	*ret_code = number == -1 ? GT_NONE : (uint32_t)number;
	if (number == -1 || (number >= 0 && number < GT_ROW_WIDE))
		return 0;
	if (model->wide.count == GT_ROW_WIDE - 1)
		return -ERANGE;
	*ret_code = GT_ROW_WIDE + (uint32_t)model->wide.count;
	return gt_vec_push(&model->wide, number) ? 0 : -ENOMEM;
}

/* Both kinds of traits are found by the same functions, which know the number of words while they
 * are compiled: this is done for each operation and call. */
#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t word_of(const void *traits, size_t i)
{
	uint64_t word;

	memcpy(&word, (const char *)traits + i * sizeof(word), sizeof(word));
	return word;
}

INLINE uint64_t hash_traits(const void *traits, size_t words)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < words; i++)
		hash = gt_hash_word(hash ^ word_of(traits, i));
	return hash;
}

INLINE bool are_equal(const void *a, const void *b, size_t words)
{
	uint64_t differ = 0;

	for (size_t i = 0; i < words; i++)
		differ |= word_of(a, i) ^ word_of(b, i);
	return !differ;
}

/* The place of @traits in the index: theirs, or a free one. */
INLINE uint32_t *find_place(const struct gt_row_index *index, const char *all, const void *traits,
			    size_t words)
{
	size_t mask = index->size - 1, h = (size_t)hash_traits(traits, words) & mask;

	while (index->at[h] && !are_equal(all + (index->at[h] - 1) * words * 8, traits, words))
		h = (h + 1) & mask;
	return &index->at[h];
}

INLINE bool grow_index(struct gt_row_index *index, const char *all, size_t count, size_t words)
{
	struct gt_row_index bigger = {.size = index->size ? index->size * 2 : FIRST_SIZE};

	bigger.at = calloc(bigger.size, sizeof(*bigger.at));
	if (!bigger.at)
		return false;
	for (size_t i = 0; i < count; i++)
		*find_place(&bigger, all, all + i * words * 8, words) = (uint32_t)i + 1;
	free(index->at);
	*index = bigger;
	return true;
}

/* The number of the traits in the vector @vec, made if they are new; GT_NONE: no memory. */
#define PUT_TRAITS(vec, index, traits)                                                             \
	put_traits((void **)&(vec)->at, &(vec)->count, &(vec)->room, (index), (traits),            \
		   sizeof(*(traits)) / 8)

INLINE uint32_t put_traits(void **at, size_t *count, size_t *room, struct gt_row_index *index,
			   const void *traits, size_t words)
{
	uint32_t *place;

	if (*count >= index->size / 2 && !grow_index(index, *at, *count, words))
		return GT_NONE;
	place = find_place(index, *at, traits, words);
	if (*place)
		return *place - 1;
	if (!gt_vec_reserve(at, room, *count, words * 8))
		return GT_NONE;
	memcpy((char *)*at + *count * words * 8, traits, words * 8);
	*place = (uint32_t)++ * count;
	return *place - 1;
}

static uint32_t put_op_traits(struct gt_model *model, const struct gt_op_traits *traits)
{
	return PUT_TRAITS(&model->op_traits, &model->op_index, traits);
}

static uint32_t put_call_traits(struct gt_model *model, const struct gt_call_traits *traits)
{
	return PUT_TRAITS(&model->call_traits, &model->call_index, traits);
}

static int pack_op(struct gt_model *model, const struct gt_op *op, struct gt_op_row *ret_row)
{
	struct gt_op_traits traits = {.bytes = op->bytes,
				      .name = op->name,
				      .stack = op->stack,
				      .nvtx = op->nvtx,
				      .stream = op->stream,
				      .device = op->device,
				      .kind = op->kind,
				      .comm = op->comm};
	int rc;

	*ret_row = (struct gt_op_row){.start = op->start, .call = op->call};
	ret_row->traits = put_op_traits(model, &traits);
	if (ret_row->traits == GT_NONE)
		return -ENOMEM;
	rc = gt_row_code(model, op->dur, &ret_row->dur_code);
	return rc ? rc : gt_row_code(model, op->correlation, &ret_row->correlation_code);
}

int gt_model_add_op(struct gt_model *model, const struct gt_op *op)
{
	int rc;

	if (model->ops.count >= gt_model_most_rows)
		return -ERANGE;
	if (!gt_vec_grow(&model->ops))
		return -ENOMEM;
	rc = pack_op(model, op, &model->ops.at[model->ops.count]);
	model->ops.count += !rc;
	return rc;
}

static int pack_call(struct gt_model *model, const struct gt_call *call,
		     struct gt_call_row *ret_row)
{
	struct gt_call_traits traits = {call->name, call->thread, call->stack, call->driver};
	int rc;

	*ret_row = (struct gt_call_row){.start = call->start};
	ret_row->traits = put_call_traits(model, &traits);
	if (ret_row->traits == GT_NONE)
		return -ENOMEM;
	rc = gt_row_code(model, call->dur, &ret_row->dur_code);
	return rc ? rc : gt_row_code(model, call->correlation, &ret_row->correlation_code);
}

int gt_model_add_call(struct gt_model *model, const struct gt_call *call)
{
	int rc;

	if (model->calls.count >= gt_model_most_rows)
		return -ERANGE;
	if (!gt_vec_grow(&model->calls))
		return -ENOMEM;
	rc = pack_call(model, call, &model->calls.at[model->calls.count]);
	model->calls.count += !rc;
	return rc;
}

int gt_model_set_op_stack(struct gt_model *model, size_t i, uint32_t stack)
{
	struct gt_op_row *row = &model->ops.at[i];
	struct gt_op_traits traits = model->op_traits.at[row->traits];
	uint32_t put;

	traits.stack = stack;
	put = put_op_traits(model, &traits);
	row->traits = put == GT_NONE ? row->traits : put;
	return put == GT_NONE ? -ENOMEM : 0;
}

int gt_model_set_call_stack(struct gt_model *model, size_t i, uint32_t stack)
{
	struct gt_call_row *row = &model->calls.at[i];
	struct gt_call_traits traits = model->call_traits.at[row->traits];
	uint32_t put;

	traits.stack = stack;
	put = put_call_traits(model, &traits);
	row->traits = put == GT_NONE ? row->traits : put;
	return put == GT_NONE ? -ENOMEM : 0;
}
