/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of an interned kernel that follow from its others. Perfetto's GPU Compute tab and
 * queries look for them by these names; they cost bytes once per kind of launch, not per slice.
 */
#include "writers/perfetto/perfetto.h"

#include "core/guest/text.h"

#define MICRO 1e6

#define CATEGORY(text)                                                                             \
	{                                                                                          \
		sizeof(text) - 1, text                                                             \
	}

static const struct {
	uint8_t size;
	char text[23];
} categories[GT_EVENT_COUNT_] = {
	[GT_EVENT_KERNEL] = CATEGORY("kernel"),
	[GT_EVENT_MEMCPY] = CATEGORY("gpu_memcpy"),
	[GT_EVENT_MEMSET] = CATEGORY("gpu_memset"),
	[GT_EVENT_SYNC] = CATEGORY("cuda_sync"),
	[GT_EVENT_RANGE] = CATEGORY("gpu_user_annotation"),
	[GT_EVENT_GRAPH] = CATEGORY("gpu_graph"),
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

#define TAG_UINT   (GT_PF_ARG_UINT << 3 | GT_PROTO_WIRE_VARINT)
#define TAG_STRING (GT_PF_ARG_STRING_IID << 3 | GT_PROTO_WIRE_VARINT)
#define TAG_TEXT   (GT_PF_ARG_STRING << 3 | GT_PROTO_WIRE_BYTES)

/* Room for all of them. */
#define ROOM       (GT_PF_EXTRA_COUNT_ * GT_PERFETTO_ARG_ROOM + sizeof(categories[0]))

_Static_assert(GT_PF_EXTRA_IID + GT_PF_EXTRA_COUNT_ <= 0x80, "a byte for their iids");

/* An argument of a kernel, if it is not 0. */
static uint8_t *put_if(uint8_t *at, enum gt_pf_extra extra, uint8_t tag, uint64_t value)
{
	if (!value)
		return at;
	return gt_perfetto_put_arg(at, GT_PF_KERNEL_ARG, GT_PF_EXTRA_IID + (uint32_t)extra, tag,
				   value);
}

static uint8_t *put_category(uint8_t *at, enum gt_event_kind kind)
{
	uint8_t size = categories[kind].size;
	uint8_t *end = gt_perfetto_put_arg_head(at, GT_PF_KERNEL_ARG,
						GT_PF_EXTRA_IID + GT_PF_EXTRA_CAT, TAG_TEXT);

	at[1] = (uint8_t)(4 + size);
	*end++ = size;
	memcpy(end, categories[kind].text, sizeof(categories[kind].text));
	return end + size;
}

void gt_perfetto_put_extras(struct gt_proto *data, const struct gt_event *event,
			    const struct gt_perfetto_extras *extras)
{
	uint64_t threads = extras->blocks * extras->threads;
	uint8_t *at;

	if (extras->arch[0])
		gt_proto_cstr(data, GT_PF_KERNEL_ARCH, extras->arch);
	at = gt_proto_reserve(data, ROOM);
	if (!at)
		return;
	at = put_category(at, event->kind);
	at = put_if(at, GT_PF_EXTRA_LAUNCHED_BY, TAG_STRING, extras->line);
	at = put_if(at, GT_PF_EXTRA_DEMANGLED, TAG_STRING, extras->name);
	at = put_if(at, GT_PF_EXTRA_BLOCKS, TAG_UINT, extras->blocks);
	at = put_if(at, GT_PF_EXTRA_BLOCK_THREADS, TAG_UINT, extras->threads);
	at = put_if(at, GT_PF_EXTRA_THREADS, TAG_UINT, threads);
	if (extras->waves > 0)
		at = gt_perfetto_put_real(at, GT_PF_KERNEL_ARG, GT_PF_EXTRA_IID + GT_PF_EXTRA_WAVES,
					  extras->waves);
	gt_proto_written(data, at);
}

void gt_perfetto_put_line(struct gt_proto *batch, uint64_t line)
{
	uint8_t *at = line ? gt_proto_reserve(batch, GT_PERFETTO_ARG_ROOM) : NULL;

	if (at)
		gt_proto_written(batch,
				 gt_perfetto_put_arg(at, GT_PF_LAUNCH_ARG,
						     GT_PF_EXTRA_IID + GT_PF_EXTRA_LAUNCHED_BY,
						     TAG_STRING, line));
}
