/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of interned kernels, of fixed size: GPU work is looked up by what it has in common with
 * other work, as it is in the event, so that its arguments are put together only for new kernels.
 * One that was evicted is written again. Drain thread only.
 */
#include "writers/perfetto/perfetto.h"

#include <errno.h>
#include <string.h>

/* Slots per kernel: the associativity of the table. */
#define SET_SIZE  8u
#define SETS_LOG2 11
#define SETS      (1u << SETS_LOG2)

_Static_assert(SETS *SET_SIZE == GT_PERFETTO_KERNELS, "the table is made of sets");

/* Bits of struct gt_perfetto_shape.flags. */
enum {
	FLAG_MANY = 1,
	FLAG_CHANNEL = 2,
	FLAG_COOPERATIVE = 4,
	FLAG_PRIORITY = 8,
	FLAG_OCCUPANCY = 16,
	FLAG_PEER = 32,
	FLAG_END_DEVICE = 64,
	FLAG_UNFINISHED = 128,
};

/* Places in struct gt_perfetto_shape.sizes. */
enum { SIZE_GRAPH = GT_PERFETTO_SIZES - 2, SIZE_PRIORITY };

#define LAUNCH_SIZES                                                                               \
	(offsetof(struct gt_kernel_event, graph_id) - offsetof(struct gt_kernel_event, grid))

_Static_assert(LAUNCH_SIZES == SIZE_GRAPH * sizeof(uint32_t), "grid to local memory");
_Static_assert(offsetof(struct gt_kernel_event, limit_shared) -
			       offsetof(struct gt_kernel_event, resident_blocks) ==
		       (GT_PERFETTO_LIMITS - 1) * sizeof(uint16_t),
	       "the limits");
_Static_assert(sizeof(struct gt_perfetto_shape) ==
		       9 * sizeof(uint64_t) + (GT_PERFETTO_SIZES + 7) * sizeof(uint32_t) +
			       (GT_PERFETTO_LIMITS + 1) * sizeof(uint16_t),
	       "no padding");

/* ---- shapes ---- */

static void add_kernel(struct gt_perfetto_shape *shape, const struct gt_kernel_event *kernel,
		       bool few)
{
	shape->name = kernel->name;
	shape->created = kernel->created;
	shape->node = kernel->graph_node_id;
	if (!few) {
		shape->other = kernel->mangled;
		shape->blocks = kernel->blocks_per_sm_micro;
		shape->warps = kernel->warps_per_sm_micro;
		memcpy(shape->sizes, kernel->grid, LAUNCH_SIZES);
		shape->sizes[SIZE_PRIORITY] = (uint32_t)kernel->priority;
		shape->percents[0] = kernel->est_occupancy_percent;
		shape->percents[1] = kernel->theoretical_occupancy_percent;
		memcpy(shape->limits, &kernel->resident_blocks, sizeof(shape->limits));
		shape->flags |= (uint16_t)(kernel->cooperative * FLAG_COOPERATIVE |
					   kernel->has_priority * FLAG_PRIORITY |
					   kernel->has_occupancy * FLAG_OCCUPANCY);
	}
	shape->sizes[SIZE_GRAPH] = kernel->graph_id;
}

static void add_memory(struct gt_perfetto_shape *shape, const struct gt_memory_event *memory)
{
	shape->created = memory->created;
	shape->node = memory->graph_node_id;
	shape->sizes[0] = memory->copy;
	shape->sizes[1] = memory->src;
	shape->sizes[2] = memory->dst;
	shape->sizes[3] = memory->value;
	shape->sizes[4] = memory->src_device;
	shape->sizes[5] = memory->dst_device;
	shape->sizes[SIZE_GRAPH] = memory->graph_id;
	shape->flags |= (uint16_t)(memory->peer * FLAG_PEER);
}

static void add_sync(struct gt_perfetto_shape *shape, const struct gt_sync_event *sync, bool few)
{
	shape->created = sync->created;
	shape->node = sync->graph_node_id;
	shape->sizes[0] = sync->kind;
	shape->sizes[1] = few ? 0 : sync->thread;
	shape->sizes[SIZE_GRAPH] = sync->graph_id;
}

static void add_graph(struct gt_perfetto_shape *shape, const struct gt_graph_event *graph, bool few)
{
	shape->created = graph->created;
	shape->sizes[SIZE_GRAPH] = graph->graph_id;
	if (few)
		return;
	shape->sizes[0] = graph->nodes;
	shape->sizes[1] = graph->end_device;
	shape->flags |= (uint16_t)(graph->has_end_device * FLAG_END_DEVICE);
}

static void add_range(struct gt_perfetto_shape *shape, const struct gt_range_event *range)
{
	shape->name = range->name;
	shape->other = range->domain;
	shape->created = range->category;
	shape->sizes[0] = range->color;
	shape->flags |= (uint16_t)(range->unfinished * FLAG_UNFINISHED);
}

static void add_place(struct gt_perfetto_shape *shape, const struct gt_event *event)
{
	shape->kind = event->kind;
	shape->device = event->place.device;
	shape->context = event->place.context;
	shape->stream = event->place.stream;
	if (!event->place.has_channel)
		return;
	shape->channel = event->place.channel;
	shape->flags |= FLAG_CHANNEL;
}

static void add_launch(struct gt_perfetto_shape *shape, const struct gt_launch *launch)
{
	shape->nvtx = launch->nvtx;
	shape->forward = launch->forward;
	shape->stack = launch->known ? launch->stack : NULL;
}

static void make_shape(const struct gt_perfetto *pf, const struct gt_event *event,
		       struct gt_perfetto_shape *shape)
{
	bool few = pf->options.few_details;

	*shape = (struct gt_perfetto_shape){0};
	add_place(shape, event);
	if (event->kind == GT_EVENT_RANGE) {
		add_range(shape, &event->range);
		return;
	}
	add_launch(shape, &event->launch);
	if (event->kind == GT_EVENT_KERNEL)
		add_kernel(shape, &event->kernel, few);
	else if (event->kind == GT_EVENT_SYNC)
		add_sync(shape, &event->sync, few);
	else if (event->kind == GT_EVENT_GRAPH)
		add_graph(shape, &event->graph, few);
	else
		add_memory(shape, &event->memory);
	if (!gt_perfetto_has_many(&pf->kernels))
		return;
	shape->flags |= FLAG_MANY; /* those are arguments of the slices */
	shape->node = 0;
	shape->stack = NULL;
}

/* ---- the table ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * 0x9e3779b97f4a7c15u;
}

/* Of what most kernels differ in. */
static uint64_t hash_of(const struct gt_perfetto_shape *shape)
{
	const uint32_t *sizes = shape->sizes;
	uint64_t hash = mix(0, (uintptr_t)shape->name);

	hash = mix(hash, (uintptr_t)shape->stack);
	hash = mix(hash, (uint64_t)sizes[1] << 32 | sizes[0]);
	hash = mix(hash, (uint64_t)sizes[3] << 32 | sizes[2]);
	hash = mix(hash, (uint64_t)sizes[11] << 32 | shape->stream);
	hash = mix(hash, (uintptr_t)shape->nvtx ^ (uint64_t)shape->context << 32);
	hash = mix(hash, (uintptr_t)shape->forward ^ (uint64_t)shape->kind << 32);
	return mix(hash, shape->node ^ (uint64_t)sizes[SIZE_GRAPH] << 32);
}

/* ---- the last ones ---- */

static struct gt_perfetto_kernel **recent_of(struct gt_perfetto_kernels *kernels,
					     const struct gt_event *event)
{
	uintptr_t at = (uintptr_t)event->launch.stack >> 4 ^ (uintptr_t)event->launch.stack >> 10 ^
		       (uintptr_t)event->launch.nvtx >> 5 ^ event->place.stream;

	return &kernels->recent[(at ^ event->kernel.configuration) % GT_PERFETTO_RECENT];
}

/* What make_shape() would make of @event, compared without making it. All that is not compared
 * follows from the configuration. */
static bool has_shape(const struct gt_perfetto_kernel *kernel, const struct gt_event *event,
		      bool many)
{
	const struct gt_perfetto_shape *shape = &kernel->shape;
	const struct gt_launch *launch = &event->launch;
	const struct gt_place *place = &event->place;
	uintptr_t stack = launch->known && !many ? (uintptr_t)launch->stack : 0;
	uint32_t channel = place->has_channel ? place->channel : 0;
	uint16_t flags = (uint16_t)(many * FLAG_MANY | place->has_channel * FLAG_CHANNEL);

	return !((kernel->configuration ^ event->kernel.configuration) |
		 (shape->device ^ place->device) | (shape->context ^ place->context) |
		 (shape->stream ^ place->stream) | (shape->channel ^ channel) |
		 ((shape->flags ^ flags) & (FLAG_MANY | FLAG_CHANNEL)) |
		 ((uintptr_t)shape->nvtx ^ (uintptr_t)launch->nvtx) |
		 ((uintptr_t)shape->forward ^ (uintptr_t)launch->forward) |
		 ((uintptr_t)shape->stack ^ stack) |
		 ((uintptr_t)shape->created ^ (uintptr_t)event->kernel.created) |
		 (shape->node ^ (many ? 0 : event->kernel.graph_node_id)));
}

/* The slot of a shape; a new one is taken for it. */
static struct gt_perfetto_kernel *find(struct gt_perfetto_kernels *kernels,
				       const struct gt_perfetto_shape *shape, bool *ret_known)
{
	uint64_t hash = hash_of(shape);
	uint32_t set = (uint32_t)(hash >> (64 - SETS_LOG2)) * SET_SIZE;
	uint32_t tag = (uint32_t)(hash >> 16) | 1, way = 0;

	*ret_known = true;
	for (; way < SET_SIZE && kernels->tags[set + way]; way++)
		if (kernels->tags[set + way] == tag &&
		    !memcmp(&kernels->slots[set + way].shape, shape, sizeof(*shape)))
			return &kernels->slots[set + way];
	*ret_known = false;
	if (way == SET_SIZE)
		way = kernels->clock++ % SET_SIZE;
	kernels->tags[set + way] = tag;
	kernels->slots[set + way].shape = *shape;
	kernels->slots[set + way].iid = ++kernels->last;
	return &kernels->slots[set + way];
}

struct gt_perfetto_kernel *gt_perfetto_find_kernel(struct gt_perfetto *pf,
						   const struct gt_event *event, bool *ret_known)
{
	bool is_numbered = event->kind == GT_EVENT_KERNEL && event->kernel.configuration;
	struct gt_perfetto_kernels *kernels = &pf->kernels;
	struct gt_perfetto_kernel **recent = is_numbered ? recent_of(kernels, event) : NULL, *found;
	struct gt_perfetto_shape shape;

	*ret_known = true;
	if (recent && *recent && has_shape(*recent, event, gt_perfetto_has_many(kernels)))
		return *recent;
	make_shape(pf, event, &shape);
	found = find(kernels, &shape, ret_known);
	found->configuration = is_numbered ? event->kernel.configuration : 0;
	if (recent)
		*recent = found;
	return found;
}

int gt_perfetto_kernels_init(struct gt_perfetto_kernels *kernels)
{
	kernels->slots = gt_memory_map(GT_PERFETTO_KERNELS * sizeof(*kernels->slots));
	kernels->tags = gt_memory_map(GT_PERFETTO_KERNELS * sizeof(*kernels->tags));
	return kernels->slots && kernels->tags ? 0 : -ENOMEM;
}

void gt_perfetto_kernels_fini(struct gt_perfetto_kernels *kernels)
{
	gt_memory_unmap(kernels->slots, GT_PERFETTO_KERNELS * sizeof(*kernels->slots));
	gt_memory_unmap(kernels->tags, GT_PERFETTO_KERNELS * sizeof(*kernels->tags));
}
