/* SPDX-License-Identifier: Apache-2.0
 *
 * Interned data of GPU work: its tracks, the names of its slices, its contexts, each written before
 * its first use. Drain thread only.
 */
#include "writers/perfetto/perfetto.h"

#include "core/guest/text.h"
#include "core/schema/event_names.h"

/* Stream of synchronization records that concern no particular stream. */
#define NO_STREAM UINT32_MAX

/* Tracks and stages share one table of names. */
static void put_specification(struct gt_perfetto *pf, uint32_t iid, const char *name, size_t length,
			      uint32_t category)
{
	struct gt_proto *data = &pf->names.gpu;
	size_t at = gt_proto_begin(data, GT_PF_SPECIFICATIONS);

	gt_proto_uint(data, GT_PF_IID, iid);
	gt_perfetto_put_clean(data, GT_PF_TEXT, name, length);
	if (category)
		gt_proto_uint(data, GT_PF_SPEC_CATEGORY, category);
	gt_proto_end(data, at);
}

static const char *track_suffix(enum gt_event_kind kind)
{
	if (kind == GT_EVENT_SYNC)
		return " waits";
	return kind == GT_EVENT_RANGE ? " ranges" : "";
}

static uint32_t look_up_queue(struct gt_perfetto *pf, const struct gt_place *place, uint32_t kind,
			      const char *suffix)
{
	char name[64];
	size_t length;
	bool fresh;
	uint32_t iid = gt_perfetto_number(
		&pf->names, GT_PERFETTO_QUEUE, (uint64_t)place->context << 32 | place->stream,
		(uint64_t)kind << 32 | place->device, &pf->names.specifications, &fresh);

	if (!fresh)
		return iid;
	if (place->stream == NO_STREAM)
		length = gt_text_format(name, sizeof(name), "context %u%s", place->context, suffix);
	else
		length = gt_text_format(name, sizeof(name), "stream %u%s (context %u)",
					place->stream, suffix, place->context);
	put_specification(pf, iid, name, length, GT_PF_CATEGORY_OTHER);
	return iid;
}

/* The track of a stream: one for its work, others for waits and ranges. */
uint32_t gt_perfetto_queue(struct gt_perfetto *pf, const struct gt_event *event)
{
	const char *suffix = track_suffix(event->kind);
	uint32_t kind = (uint8_t)(*suffix ? suffix[1] : 0);
	const struct gt_place *place = &event->place;
	struct gt_perfetto_queue *queue = &pf->kernels.queues[place->stream % GT_PERFETTO_QUEUES];

	if (!queue->iid || queue->stream != place->stream || queue->context != place->context ||
	    queue->device != place->device || queue->kind != kind)
		*queue = (struct gt_perfetto_queue){.device = place->device,
						    .context = place->context,
						    .stream = place->stream,
						    .kind = kind,
						    .iid = look_up_queue(pf, place, kind, suffix)};
	return queue->iid;
}

/* The name of copies, sets, waits and graphs, derived from their kinds and ids. */
static size_t name_of(const struct gt_event *event, char *out, size_t size)
{
	if (event->kind == GT_EVENT_SYNC)
		return gt_text_format(out, size, "%s", gt_event_name_sync(event->sync.kind));
	if (event->kind == GT_EVENT_MEMSET)
		return gt_event_name_memset(&event->memory, out, size);
	if (event->kind == GT_EVENT_GRAPH)
		return gt_event_name_graph(&event->graph, out, size);
	return gt_event_name_memcpy(&event->memory, out, size);
}

static uint64_t copy_key(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_SYNC)
		return (uint64_t)event->kind << 48 | event->sync.kind;
	if (event->kind == GT_EVENT_GRAPH)
		return (uint64_t)event->kind << 48 | event->graph.graph_id;
	return (uint64_t)event->kind << 48 | (uint64_t)event->memory.copy << 32 |
	       (uint64_t)event->memory.src << 16 | event->memory.dst;
}

static uint32_t look_up_stage(struct gt_perfetto *pf, const struct gt_event *event)
{
	bool is_kernel = event->kind == GT_EVENT_KERNEL;
	uint32_t category = is_kernel ? GT_PF_CATEGORY_COMPUTE : GT_PF_CATEGORY_OTHER;
	bool named = is_kernel || event->kind == GT_EVENT_RANGE, fresh;
	const struct gt_string *string = is_kernel ? event->kernel.name
					 : named   ? event->range.name
						   : NULL;
	uint32_t iid;
	char name[96];
	size_t length;

	if (named)
		iid = gt_perfetto_number(&pf->names, GT_PERFETTO_STAGE, string ? string->id : 0,
					 category, &pf->names.specifications, &fresh);
	else
		iid = gt_perfetto_number(&pf->names, GT_PERFETTO_COPY, copy_key(event), 0,
					 &pf->names.specifications, &fresh);
	if (!fresh)
		return iid;
	if (named && string && string->length) {
		put_specification(pf, iid, string->text, string->length, category);
		return iid;
	}
	length = named ? gt_text_format(name, sizeof(name), "(no name)")
		       : name_of(event, name, sizeof(name));
	put_specification(pf, iid, name, length, category);
	return iid;
}

uint32_t gt_perfetto_stage(struct gt_perfetto *pf, const struct gt_event *event)
{
	const struct gt_string *name = event->kind == GT_EVENT_KERNEL ? event->kernel.name : NULL;
	struct gt_perfetto_string *row = name ? gt_perfetto_string(&pf->names, name) : NULL;

	if (!row)
		return look_up_stage(pf, event);
	if (!row->stage)
		row->stage = look_up_stage(pf, event);
	return row->stage;
}

void gt_perfetto_context(struct gt_perfetto *pf, uint32_t context)
{
	struct gt_proto *data = &pf->names.gpu;
	bool fresh;
	uint32_t none = 0;
	size_t at;

	if (pf->kernels.context == (uint64_t)context + 1)
		return;
	pf->kernels.context = (uint64_t)context + 1;
	gt_perfetto_number(&pf->names, GT_PERFETTO_CONTEXT, context, 0, &none, &fresh);
	if (!fresh)
		return;
	at = gt_proto_begin(data, GT_PF_CONTEXTS);
	gt_proto_uint(data, GT_PF_IID, context);
	gt_proto_uint(data, GT_PF_CONTEXT_PID, gt_perfetto_pid(pf));
	gt_proto_uint(data, GT_PF_CONTEXT_API, GT_PF_API_CUDA);
	gt_proto_end(data, at);
}
