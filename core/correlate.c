/* SPDX-License-Identifier: Apache-2.0
 *
 * A direct-mapped table of calls by correlation id, see the header. Drain thread only.
 */
#include "core/correlate.h"

#include "core/guest/memory.h"
#include "core/spool_view.h"

#define FIRST_ENTRIES 4096u

struct correlate_entry {
	uint32_t correlation; /* 0: empty */
	uint32_t operations;  /* seen so far */
	bool expects;
	bool many;
	struct gt_launch launch;
};

struct gt_correlate {
	struct correlate_entry *entries;
	uint32_t size; /* power of two */
	uint32_t max;
	uint32_t wait; /* so often it does not try to grow: memory was refused */
	struct gt_correlate_counts counts; /* of entries no longer in the table */
};

struct gt_correlate *gt_correlate_new(uint32_t max_entries)
{
	struct gt_correlate *table = gt_spool_map(sizeof(*table));

	if (!table)
		return NULL;
	table->max = max_entries;
	table->size = max_entries < FIRST_ENTRIES ? max_entries : FIRST_ENTRIES;
	table->entries = gt_spool_map(table->size * sizeof(struct correlate_entry));
	if (!table->entries) {
		gt_memory_unmap(table, sizeof(*table));
		return NULL;
	}
	gt_spool_set_root(GT_SPOOL_CALLS, table);
	return table;
}

void gt_correlate_free(struct gt_correlate *table)
{
	if (!table)
		return;
	gt_memory_unmap(table->entries, table->size * sizeof(struct correlate_entry));
	gt_memory_unmap(table, sizeof(*table));
}

static struct correlate_entry *slot_of(struct correlate_entry *entries, uint32_t size,
				       uint32_t correlation)
{
	return &entries[correlation & (size - 1)];
}

/* No further operation can belong to it: it had its only one, or never starts any. */
static bool is_done(const struct correlate_entry *entry)
{
	return entry->operations ? !entry->many : !entry->expects;
}

/* Doubles the table. No collisions: two entries that differ modulo @size differ modulo twice
 * @size. */
static bool grow(struct gt_correlate *table)
{
	uint32_t size = table->size * 2;
	struct correlate_entry *entries;

	if (size > table->max || table->wait) {
		table->wait -= table->wait > 0;
		return false;
	}
	entries = gt_memory_is_ample(size * sizeof(*entries))
			  ? gt_spool_map(size * sizeof(*entries))
			  : NULL;
	if (!entries) {
		table->wait = size;
		return false;
	}
	for (uint32_t i = 0; i < table->size; i++) {
		const struct correlate_entry *old = &table->entries[i];

		if (old->correlation)
			*slot_of(entries, size, old->correlation) = *old;
	}
	gt_memory_unmap(table->entries, table->size * sizeof(*entries));
	table->entries = entries;
	table->size = size;
	return true;
}

static void count_evicted(struct gt_correlate_counts *counts, const struct correlate_entry *entry)
{
	if (is_done(entry) ||
	    entry->operations) /* a graph: its later operations will have no call */
		return;
	counts->evicted++;
	counts->in_flight++;
}

void gt_correlate_put(struct gt_correlate *table, uint32_t correlation,
		      const struct gt_launch *launch, bool expects, bool many)
{
	struct correlate_entry *entry = slot_of(table->entries, table->size, correlation);

	while (entry->correlation && entry->correlation != correlation && !is_done(entry) &&
	       grow(table))
		entry = slot_of(table->entries, table->size, correlation);
	if (entry->correlation && entry->correlation != correlation)
		count_evicted(&table->counts, entry);
	*entry = (struct correlate_entry){
		.correlation = correlation, .expects = expects, .many = many, .launch = *launch};
	entry->launch.known = true;
}

bool gt_correlate_match(struct gt_correlate *table, uint32_t correlation,
			struct gt_launch *ret_launch)
{
	struct correlate_entry *entry = slot_of(table->entries, table->size, correlation);

	if (correlation == 0 || entry->correlation != correlation)
		return false;
	*ret_launch = entry->launch;
	ret_launch->first = entry->operations == 0;
	entry->operations++;
	return true;
}

struct gt_correlate_counts gt_correlate_count(const struct gt_correlate *table)
{
	struct gt_correlate_counts counts = table->counts;

	for (uint32_t i = 0; i < table->size; i++) {
		const struct correlate_entry *entry = &table->entries[i];

		if (entry->correlation && entry->expects && entry->operations == 0)
			counts.in_flight++;
	}
	return counts;
}

void gt_correlate_each(const struct gt_spool_view *view,
		       void (*found)(void *context, const struct gt_correlate_call *call),
		       void *context)
{
	const struct gt_correlate *table = gt_spool_view_root(view, GT_SPOOL_CALLS, sizeof(*table));
	const struct correlate_entry *entries =
		table ? gt_spool_view_at(view, gt_spool_address(table->entries),
					 (uint64_t)table->size * sizeof(*entries))
		      : NULL;

	for (uint32_t i = 0; entries && i < table->size; i++) {
		const struct correlate_entry *entry = &entries[i];

		if (entry->correlation)
			found(context,
			      &(struct gt_correlate_call){.correlation = entry->correlation,
							  .operations = entry->operations,
							  .expects = gt_spool_bool(&entry->expects),
							  .many = gt_spool_bool(&entry->many),
							  .launch = entry->launch});
	}
}

/* Keeps a call whose operations all came, too: those that the dead process had not written come
 * again. Calls arrive in table order, not in id order. */
void gt_correlate_restore(struct gt_correlate *table, const struct gt_correlate_call *call)
{
	struct correlate_entry *entry = slot_of(table->entries, table->size, call->correlation);

	while (entry->correlation && entry->correlation != call->correlation && grow(table))
		entry = slot_of(table->entries, table->size, call->correlation);
	gt_correlate_put(table, call->correlation, &call->launch, call->expects, call->many);
	slot_of(table->entries, table->size, call->correlation)->operations = call->operations;
}
