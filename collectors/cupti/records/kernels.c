/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/records/kernels.h"

#include <stddef.h>
#include <string.h>

#include "collectors/cupti/records/layout.h"
#include "collectors/cupti/records/occupancy.h"
#include "collectors/cupti/records/stamps.h"

/* The demangled name. Keyed by content, not by address: CUPTI reuses addresses after a module is
 * reloaded (REQ-15). */
static const struct gt_string *kernel_name(struct gt_translate *t, const char *pointer,
					   const struct gt_string **ret_mangled)
{
	return gt_demangle_at(t->demangle, pointer ? pointer : "(no name)", ret_mangled);
}

/* All that follows from the words. */
static void make_kernel(struct gt_translate *t, const CUpti_ActivityKernel8 *r,
			struct gt_kernel_event *k)
{
	const struct gt_string *mangled, *name = kernel_name(t, r->name, &mangled);

	*k = (struct gt_kernel_event){
		.name = name,
		.mangled = mangled,
		.grid = {(uint32_t)r->gridX, (uint32_t)r->gridY, (uint32_t)r->gridZ},
		.block = {(uint32_t)r->blockX, (uint32_t)r->blockY, (uint32_t)r->blockZ},
		.cluster = {r->clusterX, r->clusterY, r->clusterZ},
		.registers = r->registersPerThread,
		.static_shared = (uint32_t)r->staticSharedMemory,
		.dynamic_shared = (uint32_t)r->dynamicSharedMemory,
		.shared_executed = r->sharedMemoryExecuted,
		.local_per_thread = r->localMemoryPerThread,
		.graph_id = r->graphId,
		.cooperative =
			r->launchType == CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE ||
			r->launchType == CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE,
		.configuration = ++t->configurations,
	};
	if (r->deviceId < GT_METADATA_DEVICES)
		gt_occupancy_fill(&t->devices[r->deviceId], k, &t->occupancy);
}

/* Where they lie in a record. What else they hold may keep a kernel from being found, no more. */
static const uint8_t places[] = {
	0,   /* registersPerThread */
	40,  /* deviceId, contextId */
	52,  /* gridX, gridY */
	60,  /* gridZ, blockX */
	68,  /* blockY, blockZ */
	76,  /* staticSharedMemory, dynamicSharedMemory */
	84,  /* localMemoryPerThread */
	136, /* launchType, sharedMemoryExecuted */
	152, /* graphId */
	176, /* clusterX, clusterY */
	184, /* clusterZ */
};

_Static_assert(sizeof(places) == GT_TRANSLATE_KERNEL_WORDS, "a word at each place");
_Static_assert(sizeof(CUpti_ActivityKernel8) >= 184 + sizeof(uint64_t), "in each record");

static uint64_t word_at(const void *record, size_t place)
{
	uint64_t word;

	memcpy(&word, (const char *)record + place, sizeof(word));
	return word;
}

static struct gt_translate_kernel *slot_of(struct gt_translate *t, const CUpti_ActivityKernel8 *r)
{
	uint64_t hash = (uintptr_t)r->name ^ word_at(r, 52) << 17 ^ word_at(r, 60) << 9;

	return &t->kernels[hash * 0x9e3779b97f4a7c15u >> 58];
}

_Static_assert(GT_TRANSLATE_KERNELS == (uint64_t)1 << (64 - 58), "a slot for each hash");

/* Written out: no loop over the table is as fast. */
static bool has_words(const struct gt_translate_kernel *slot, const void *r)
{
	const uint64_t *w = slot->words;

	return !((w[0] ^ word_at(r, 0)) | (w[1] ^ word_at(r, 40)) | (w[2] ^ word_at(r, 52)) |
		 (w[3] ^ word_at(r, 60)) | (w[4] ^ word_at(r, 68)) | (w[5] ^ word_at(r, 76)) |
		 (w[6] ^ word_at(r, 84)) | (w[7] ^ word_at(r, 136)) | (w[8] ^ word_at(r, 152)) |
		 (w[9] ^ word_at(r, 176)) | (w[10] ^ word_at(r, 184)));
}

/* An address may hold another name by now. */
static bool is_kept(const struct gt_translate_kernel *slot, const CUpti_ActivityKernel8 *r)
{
	const struct gt_kernel_event *k = &slot->kernel;

	return slot->at == r->name && slot->at && has_words(slot, r) &&
	       !strcmp(k->mangled ? k->mangled->text : k->name->text, r->name);
}

static void keep(struct gt_translate *t, struct gt_translate_kernel *slot,
		 const CUpti_ActivityKernel8 *r)
{
	slot->at = r->name;
	for (size_t i = 0; i < GT_TRANSLATE_KERNEL_WORDS; i++)
		slot->words[i] = word_at(r, places[i]);
	make_kernel(t, r, &slot->kernel);
}

void gt_translate_fill_kernel(struct gt_translate *t, const CUpti_ActivityKernel8 *r,
			      struct gt_kernel_event *k)
{
	struct gt_translate_kernel *slot = slot_of(t, r);

	if (!is_kept(slot, r))
		keep(t, slot, r);
	*k = slot->kernel;
	gt_translate_note_name(t, r->name, k->name, k->mangled);
	k->queued = r->queued ? gt_stamp_or_none(t, r->queued) : 0;
	k->submitted = r->submitted ? gt_stamp_or_none(t, r->submitted) : 0;
	k->graph_node_id = r->graphNodeId;
	k->grid_id = r->gridId > 0 ? (uint64_t)r->gridId : 0;
}

void gt_translate_forget_kernels(struct gt_translate *t)
{
	for (size_t i = 0; i < GT_TRANSLATE_KERNELS; i++)
		t->kernels[i].at = NULL;
}
