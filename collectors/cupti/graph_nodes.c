/* SPDX-License-Identifier: Apache-2.0
 *
 * A bounded queue from the application's threads (many producers, one consumer; each entry has a
 * sequence number that says whose turn it is), and a table by node id on the drain thread.
 */
#include "collectors/cupti/graph_nodes.h"

#include <stdatomic.h>
#include <stddef.h>

#include "core/guest/memory.h"

#define QUEUE_ENTRIES 65536u /* power of two */
#define PROBES        8u

enum graph_nodes_what { NODE, NODE_CLONE, NODE_OF_GRAPH, NODE_OF_CLONE };

struct graph_nodes_entry {
	_Atomic uint64_t turns; /* its sequence number less its index: zeroed memory is free */
	uint64_t node;          /* or graph */
	uint64_t value;         /* key of a stack, or the original node or graph */
	enum graph_nodes_what what;
};

struct origin {
	uint64_t node; /* 0: empty */
	uint64_t stack_key;
	uint64_t age;
	uint32_t added, copied; /* nodes of a graph */
};

struct gt_graph_nodes {
	struct origin *origins;
	uint32_t size; /* power of two */
	uint64_t age;
	uint64_t forgotten;
};

static struct graph_nodes_entry *queue;
static _Atomic uint64_t head; /* next to fill */
static uint64_t tail;         /* next to read */
static _Atomic uint64_t dropped;

static uint32_t power_of_two_within(uint32_t most)
{
	while (most & (most - 1))
		most &= most - 1;
	return most;
}

struct gt_graph_nodes *gt_graph_nodes_start(uint32_t max_nodes)
{
	struct gt_graph_nodes *nodes = gt_memory_map(sizeof(*nodes));
	uint32_t size = power_of_two_within(max_nodes);

	queue = gt_memory_map(QUEUE_ENTRIES * sizeof(*queue));
	if (!nodes || !queue)
		return NULL;
	atomic_store(&head, 0);
	atomic_store(&dropped, 0);
	tail = 0;
	nodes->origins = gt_memory_map((size_t)size * sizeof(*nodes->origins));
	nodes->size = size;
	return nodes->origins ? nodes : NULL;
}

static struct graph_nodes_entry *entry_at(uint64_t position)
{
	return &queue[position & (QUEUE_ENTRIES - 1)];
}

/* The sequence number of the entry: @position if it is free, @position + 1 if it is filled. */
static uint64_t sequence_at(uint64_t position)
{
	return atomic_load_explicit(&entry_at(position)->turns, memory_order_acquire) +
	       (position & (QUEUE_ENTRIES - 1));
}

static void set_sequence(uint64_t position, uint64_t sequence)
{
	atomic_store_explicit(&entry_at(position)->turns,
			      sequence - (position & (QUEUE_ENTRIES - 1)), memory_order_release);
}

/* Claims the next entry if it is free: the consumer advances its sequence when it has read it. */
static struct graph_nodes_entry *claim(uint64_t *ret_position)
{
	uint64_t position = atomic_load_explicit(&head, memory_order_relaxed);

	for (;;) {
		uint64_t sequence = sequence_at(position);

		if (sequence < position)
			return NULL; /* full */
		if (sequence > position)
			position = atomic_load_explicit(&head, memory_order_relaxed);
		else if (atomic_compare_exchange_weak(&head, &position, position + 1)) {
			*ret_position = position;
			return entry_at(position);
		}
	}
}

static void report(uint64_t node, uint64_t value, enum graph_nodes_what what)
{
	uint64_t position;
	struct graph_nodes_entry *entry = queue ? claim(&position) : NULL;

	if (!entry) {
		atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
		return;
	}
	entry->node = node;
	entry->value = value;
	entry->what = what;
	/* pairs with the acquire in gt_graph_nodes_drain */
	set_sequence(position, position + 1);
}

void gt_graph_nodes_created(uint64_t node, uint64_t stack_key)
{
	report(node, stack_key, NODE);
}

void gt_graph_nodes_cloned(uint64_t node, uint64_t original)
{
	report(node, original, NODE_CLONE);
}

/* Ids of graphs and of nodes may be the same numbers; a session has only one of them. */
void gt_graph_nodes_added(uint32_t graph, uint64_t stack_key)
{
	report(graph, stack_key, NODE_OF_GRAPH);
}

void gt_graph_nodes_copied(uint32_t graph, uint32_t original)
{
	report(graph, original, NODE_OF_CLONE);
}

static uint32_t place_of(const struct gt_graph_nodes *nodes, uint64_t node)
{
	return (uint32_t)((node * 0x9e3779b97f4a7c15u) >> 32) & (nodes->size - 1);
}

/* The node's slot, an empty one, or the oldest of the few that it may have. */
static struct origin *slot_for(struct gt_graph_nodes *nodes, uint64_t node)
{
	uint32_t place = place_of(nodes, node);
	struct origin *oldest = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct origin *origin = &nodes->origins[(place + i) & (nodes->size - 1)];

		if (origin->node == node || origin->node == 0)
			return origin;
		if (!oldest || origin->age < oldest->age)
			oldest = origin;
	}
	nodes->forgotten++;
	return oldest;
}

static void remember(struct gt_graph_nodes *nodes, uint64_t node, uint64_t stack_key)
{
	struct origin *origin;

	if (!node || !stack_key)
		return;
	origin = slot_for(nodes, node);
	*origin = (struct origin){.node = node, .stack_key = stack_key, .age = ++nodes->age};
}

/* The first node decides where the graph was made; a clone has that of its original, whose nodes an
 * instantiation may also report as its own. */
static void remember_graph(struct gt_graph_nodes *nodes, const struct graph_nodes_entry *entry)
{
	bool is_clone = entry->what == NODE_OF_CLONE;
	uint64_t key = is_clone ? gt_graph_nodes_find(nodes, entry->value) : entry->value;
	struct origin *origin;

	if (!entry->node)
		return;
	origin = slot_for(nodes, entry->node);
	if (origin->node != entry->node)
		*origin = (struct origin){.node = entry->node, .stack_key = key};
	else if (is_clone && !origin->copied && key)
		origin->stack_key = key;
	origin->age = ++nodes->age;
	origin->added += !is_clone;
	origin->copied += is_clone;
}

static void take_entry(struct gt_graph_nodes *nodes, const struct graph_nodes_entry *entry)
{
	if (entry->what == NODE)
		remember(nodes, entry->node, entry->value);
	else if (entry->what == NODE_CLONE)
		remember(nodes, entry->node, gt_graph_nodes_find(nodes, entry->value));
	else
		remember_graph(nodes, entry);
}

uint64_t gt_graph_nodes_drain(struct gt_graph_nodes *nodes)
{
	uint64_t count = 0;

	for (;; count++, tail++) {
		if (sequence_at(tail) != tail + 1)
			return count;
		take_entry(nodes, entry_at(tail));
		set_sequence(tail, tail + QUEUE_ENTRIES);
	}
}

static const struct origin *find(const struct gt_graph_nodes *nodes, uint64_t node)
{
	uint32_t place = place_of(nodes, node);

	for (uint32_t i = 0; node && i < PROBES; i++) {
		const struct origin *origin = &nodes->origins[(place + i) & (nodes->size - 1)];

		if (origin->node == node)
			return origin;
	}
	return NULL;
}

uint64_t gt_graph_nodes_find(const struct gt_graph_nodes *nodes, uint64_t node)
{
	const struct origin *origin = find(nodes, node);

	return origin ? origin->stack_key : 0;
}

uint32_t gt_graph_nodes_count(const struct gt_graph_nodes *nodes, uint32_t graph)
{
	const struct origin *origin = gt_graph_nodes_lost(nodes) ? NULL : find(nodes, graph);

	if (!origin)
		return 0;
	return origin->copied ? origin->copied : origin->added;
}

uint64_t gt_graph_nodes_lost(const struct gt_graph_nodes *nodes)
{
	return nodes->forgotten + atomic_load(&dropped);
}
