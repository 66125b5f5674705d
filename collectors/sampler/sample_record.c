/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/sampler/sample_record.h"

#include "collectors/unwind/copy.h"
#include "core/guest/forkgate.h"

static uint64_t hash_words(uint64_t key, const uint64_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		key = (key ^ words[i]) * 0xd6e8feb86659fd93u;
		key ^= key >> 32;
	}
	return key;
}

/* New addresses take a lock of the loader: not while the program forks. */
static uint32_t unwind(struct gt_sample_slot *slot, uint32_t max, uint64_t *pcs, bool *ret_cut)
{
	struct gt_unwind_copy copy = {.regs = slot->regs,
				      .has_fp = slot->has_fp,
				      .words = slot->stack,
				      .count = slot->words};
	uint32_t frames;

	if (!slot->words || !gt_forkgate_trylock())
		return 0;
	frames = gt_unwind_copy(&copy, max, pcs, ret_cut);
	gt_forkgate_unlock();
	return frames;
}

static uint32_t name_python(const struct gt_sample_slot *slot, uint32_t max, uint64_t *words)
{
	uint32_t n = slot->python_count < max ? slot->python_count : max;

	for (uint32_t i = 0; i < n; i++)
		words[i] = gt_python_peek_pack(&slot->python[i]);
	return n;
}

bool gt_sample_record_fill(struct gt_sample_slot *slot, uint32_t max, struct gt_call_record *record)
{
	bool cut = false;
	uint32_t frames = unwind(slot, max, record->pcs, &cut);
	uint32_t python = name_python(slot, max, record->pcs + frames);

	if (!frames && !python)
		return false;
	record->head.flags =
		(uint16_t)((slot->waiting ? GT_CALL_WAITING : 0) | (cut ? GT_CALL_CUT : 0));
	record->correlation = record->cbid = 0;
	record->domain = 0;
	record->result = 0;
	record->frame_count = (uint16_t)frames;
	record->python_count = (uint16_t)python;
	record->start = record->end = slot->time;
	record->stack_key =
		hash_words(frames + ((uint64_t)python << 32) + 1, record->pcs, frames + python) | 1;
	return true;
}
