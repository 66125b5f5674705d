/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of an interned kernel that follow from its others. Perfetto's GPU Compute tab and
 * queries look for them by these names; they cost bytes once per kind of launch, not per slice.
 */
#include "writers/perfetto/perfetto.h"

#include "core/guest/text.h"

#define MICRO 1e6

static const char *const categories[GT_EVENT_COUNT_] = {
	[GT_EVENT_KERNEL] = "kernel",
	[GT_EVENT_MEMCPY] = "gpu_memcpy",
	[GT_EVENT_MEMSET] = "gpu_memset",
	[GT_EVENT_SYNC] = "cuda_sync",
	[GT_EVENT_RANGE] = "gpu_user_annotation",
	[GT_EVENT_GRAPH] = "gpu_graph",
};

/* ---- what they are ---- */

static void find_of_kernel(struct gt_perfetto *pf, const struct gt_event *event,
			   struct gt_perfetto_extras *extras)
{
	const struct gt_kernel_event *kernel = &event->kernel;
	uint32_t index = event->place.device;
	const struct gt_device_event *device =
		index < GT_METADATA_DEVICES ? &pf->metadata.devices[index] : NULL;

	extras->name = gt_perfetto_value(pf, kernel->name, true);
	if (device && device->id == index && device->compute_major)
		gt_text_format(extras->arch, sizeof(extras->arch), "sm_%u%u", device->compute_major,
			       device->compute_minor);
	if (pf->options.few_details)
		return;
	extras->blocks = (uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
	extras->threads = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
	if (kernel->has_occupancy && kernel->resident_blocks)
		extras->waves =
			(double)kernel->blocks_per_sm_micro / MICRO / kernel->resident_blocks;
}

void gt_perfetto_find_extras(struct gt_perfetto *pf, const struct gt_event *event,
			     struct gt_perfetto_extras *ret_extras)
{
	*ret_extras = (struct gt_perfetto_extras){0};
	if (event->kind == GT_EVENT_KERNEL)
		find_of_kernel(pf, event, ret_extras);
}

/* ---- writing them ---- */

static size_t begin(struct gt_proto *data, uint32_t field, enum gt_pf_extra extra)
{
	size_t at = gt_proto_begin(data, field);

	gt_proto_uint(data, GT_PF_ARG_NAME_IID, GT_PF_EXTRA_IID + (uint32_t)extra);
	return at;
}

/* A number or the iid of a text; @where: of the kernel or of the slice. */
static void put_number(struct gt_proto *data, uint32_t where, enum gt_pf_extra extra,
		       uint32_t field, uint64_t value)
{
	size_t at;

	if (!value)
		return;
	at = begin(data, where, extra);
	gt_proto_uint(data, field, value);
	gt_proto_end(data, at);
}

void gt_perfetto_put_extras(struct gt_proto *data, const struct gt_event *event,
			    const struct gt_perfetto_extras *extras)
{
	const uint32_t where = GT_PF_KERNEL_ARG;
	uint64_t threads = extras->blocks * extras->threads;
	size_t at;

	if (extras->arch[0])
		gt_proto_cstr(data, GT_PF_KERNEL_ARCH, extras->arch);
	at = begin(data, where, GT_PF_EXTRA_CAT);
	gt_proto_cstr(data, GT_PF_ARG_STRING, categories[event->kind]);
	gt_proto_end(data, at);
	put_number(data, where, GT_PF_EXTRA_LAUNCHED_BY, GT_PF_ARG_STRING_IID, extras->line);
	put_number(data, where, GT_PF_EXTRA_DEMANGLED, GT_PF_ARG_STRING_IID, extras->name);
	put_number(data, where, GT_PF_EXTRA_BLOCKS, GT_PF_ARG_UINT, extras->blocks);
	put_number(data, where, GT_PF_EXTRA_BLOCK_THREADS, GT_PF_ARG_UINT, extras->threads);
	put_number(data, where, GT_PF_EXTRA_THREADS, GT_PF_ARG_UINT, threads);
	if (extras->waves > 0) {
		at = begin(data, where, GT_PF_EXTRA_WAVES);
		gt_proto_double(data, GT_PF_ARG_DOUBLE, extras->waves);
		gt_proto_end(data, at);
	}
}

void gt_perfetto_put_line(struct gt_proto *batch, uint64_t line)
{
	put_number(batch, GT_PF_LAUNCH_ARG, GT_PF_EXTRA_LAUNCHED_BY, GT_PF_ARG_STRING_IID, line);
}
