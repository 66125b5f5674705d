/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of names, see the header. Pure functions, any thread.
 */
#include "core/schema/event_names.h"

#include <string.h>

#include "core/guest/text.h"

static const char *const copy_names[GT_COPY_KIND_COUNT_] = {
	[GT_COPY_UNKNOWN] = "Unknown", [GT_COPY_HTOD] = "HtoD", [GT_COPY_DTOH] = "DtoH",
	[GT_COPY_HTOA] = "HtoA",       [GT_COPY_ATOH] = "AtoH", [GT_COPY_ATOA] = "AtoA",
	[GT_COPY_ATOD] = "AtoD",       [GT_COPY_DTOA] = "DtoA", [GT_COPY_DTOD] = "DtoD",
	[GT_COPY_HTOH] = "HtoH",       [GT_COPY_PTOP] = "PtoP",
};

static const char *const memory_names[GT_MEMORY_KIND_COUNT_] = {
	[GT_MEMORY_UNKNOWN] = "Unknown",
	[GT_MEMORY_PAGEABLE] = "Pageable",
	[GT_MEMORY_PINNED] = "Pinned",
	[GT_MEMORY_DEVICE] = "Device",
	[GT_MEMORY_ARRAY] = "Array",
	[GT_MEMORY_MANAGED] = "Managed",
	[GT_MEMORY_DEVICE_STATIC] = "Device Static",
	[GT_MEMORY_MANAGED_STATIC] = "Managed Static",
};

static const char *const sync_names[GT_SYNC_KIND_COUNT_] = {
	[GT_SYNC_UNKNOWN] = "Unknown Sync",
	[GT_SYNC_EVENT] = "Event Sync",
	[GT_SYNC_STREAM_WAIT_EVENT] = "Stream Wait Event",
	[GT_SYNC_STREAM] = "Stream Sync",
	[GT_SYNC_CONTEXT] = "Context Sync",
	[GT_SYNC_HOST_FUNCTION] = "Host Function",
};

static const char *const block_ops[GT_BLOCK_OP_COUNT_] = {
	[GT_BLOCK_NOTHING] = "nothing", [GT_BLOCK_ALLOCATE] = "allocate",
	[GT_BLOCK_RELEASE] = "release", [GT_BLOCK_MAP] = "map",
	[GT_BLOCK_UNMAP] = "unmap",     [GT_BLOCK_RETAIN] = "retain",
	[GT_BLOCK_RESET] = "reset",     [GT_BLOCK_NODE] = "graph node",
};

static const char *const block_kinds[GT_BLOCK_KIND_COUNT_] = {
	[GT_BLOCK_DEVICE] = "device",     [GT_BLOCK_POOL] = "pool",
	[GT_BLOCK_MANAGED] = "managed",   [GT_BLOCK_ARRAY] = "array",
	[GT_BLOCK_PHYSICAL] = "physical", [GT_BLOCK_PINNED] = "pinned",
	[GT_BLOCK_TENSOR] = "tensor",
};

const char *gt_event_name_copy(enum gt_copy_kind kind)
{
	return copy_names[kind < GT_COPY_KIND_COUNT_ ? kind : GT_COPY_UNKNOWN];
}

const char *gt_event_name_memory(enum gt_memory_kind kind)
{
	return memory_names[kind < GT_MEMORY_KIND_COUNT_ ? kind : GT_MEMORY_UNKNOWN];
}

const char *gt_event_name_sync(enum gt_sync_kind kind)
{
	return sync_names[kind < GT_SYNC_KIND_COUNT_ ? kind : GT_SYNC_UNKNOWN];
}

/* The index of a name, 0: not in the table. */
static unsigned int find(const char *const *names, unsigned int count, const char *name,
			 size_t length)
{
	for (unsigned int i = 0; i < count; i++)
		if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return i;
	return 0;
}

enum gt_copy_kind gt_event_find_copy(const char *name, size_t length)
{
	return (enum gt_copy_kind)find(copy_names, GT_COPY_KIND_COUNT_, name, length);
}

enum gt_memory_kind gt_event_find_memory(const char *name, size_t length)
{
	return (enum gt_memory_kind)find(memory_names, GT_MEMORY_KIND_COUNT_, name, length);
}

enum gt_sync_kind gt_event_find_sync(const char *name, size_t length)
{
	return (enum gt_sync_kind)find(sync_names, GT_SYNC_KIND_COUNT_, name, length);
}

const char *gt_event_name_block_op(unsigned int op)
{
	return block_ops[op < GT_BLOCK_OP_COUNT_ ? op : GT_BLOCK_NOTHING];
}

const char *gt_event_name_block_kind(unsigned int kind)
{
	return block_kinds[kind < GT_BLOCK_KIND_COUNT_ ? kind : GT_BLOCK_DEVICE];
}

enum gt_block_op gt_event_find_block_op(const char *name, size_t length)
{
	return (enum gt_block_op)find(block_ops, GT_BLOCK_OP_COUNT_, name, length);
}

enum gt_block_kind gt_event_find_block_kind(const char *name, size_t length)
{
	return (enum gt_block_kind)find(block_kinds, GT_BLOCK_KIND_COUNT_, name, length);
}

size_t gt_event_name_memcpy(const struct gt_memory_event *memory, char *out, size_t size)
{
	return gt_text_format(out, size, "Memcpy %s (%s -> %s)", gt_event_name_copy(memory->copy),
			      gt_event_name_memory(memory->src), gt_event_name_memory(memory->dst));
}

size_t gt_event_name_memset(const struct gt_memory_event *memory, char *out, size_t size)
{
	return gt_text_format(out, size, "Memset (%s)", gt_event_name_memory(memory->dst));
}

size_t gt_event_name_graph(const struct gt_graph_event *graph, char *out, size_t size)
{
	return gt_text_format(out, size, "Graph %u", graph->graph_id);
}
