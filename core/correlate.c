/* SPDX-License-Identifier: Apache-2.0
 *
 * A direct-mapped table of calls by correlation id, see the header. Drain thread only.
 */
#include "core/correlate.h"

#include <string.h>

#include "core/guest/memory.h"
#include "core/spool_view.h"

#define FIRST_ENTRIES 4096u

/* Ids with a bit of their own; later ones share them. */
#define EVICTED_IDS   (1u << 25)
#define EVICTED_BYTES ((size_t)EVICTED_IDS / 8)

struct correlate_entry {
	uint32_t correlation; /* 0: empty */
	uint32_t operations;  /* seen so far */
	bool expects;
	bool many;
	bool aimed; /* as in struct gt_correlate_aim */
	uint8_t domain;
	uint16_t context, cbid;
	uint64_t stream, symbol;
	struct gt_launch launch; /* first: none of its operations had it */
};

struct gt_correlate {
	struct correlate_entry *entries;
	uint32_t size; /* power of two */
	uint32_t max;
	uint32_t wait; /* so often it does not try to grow: memory was refused */
	struct gt_correlate_counts counts;
	uint8_t *evicted;  /* bit per id; NULL: none was, or there is no memory */
	uint8_t *answered; /* of those, the ones that an operation came of */
	uint64_t late; /* calls whose first operation came after they were evicted, listed ones */
	struct gt_correlate_answers answers;
	uint64_t stored, left; /* calls with GPU work; of these, those that are in no ring */
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
	if (table->evicted)
		gt_memory_unmap(table->evicted, 2 * EVICTED_BYTES);
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

static bool has_bit(const uint8_t *bits, uint32_t id)
{
	return bits[id % EVICTED_IDS / 8] >> id % 8 & 1;
}

static void set_bit(uint8_t *bits, uint32_t id, bool value)
{
	uint8_t *byte = &bits[id % EVICTED_IDS / 8];

	*byte = (uint8_t)((*byte & ~(1u << id % 8)) | (unsigned int)value << id % 8);
}

static bool is_waiting(const struct correlate_entry *entry)
{
	return entry->correlation && entry->expects && !entry->operations;
}

/* It still counts as in flight while none of its operations came, listed if there is a bit for it.
 * Of a graph more may come. */
static void evict(struct gt_correlate *table, const struct correlate_entry *entry)
{
	if (is_done(entry))
		return;
	table->counts.evicted += is_waiting(entry);
	if (!table->evicted) {
		table->evicted = gt_spool_map(2 * EVICTED_BYTES);
		table->answered = table->evicted ? table->evicted + EVICTED_BYTES : NULL;
	}
	if (!table->evicted) {
		table->counts.in_flight -= is_waiting(entry);
		table->counts.unlisted += is_waiting(entry);
		return;
	}
	set_bit(table->evicted, entry->correlation, true);
	set_bit(table->answered, entry->correlation, entry->operations > 0);
}

/* Its operations were written before it came, if it comes: gt_correlate_early. */
static bool is_early(const struct correlate_entry *entry)
{
	return entry->correlation && !entry->launch.known;
}

bool gt_correlate_early(struct gt_correlate *table, uint32_t correlation)
{
	struct correlate_entry *entry = slot_of(table->entries, table->size, correlation);

	if (entry->correlation == correlation && is_early(entry))
		entry->operations++;
	else if (entry->correlation == correlation || !is_done(entry))
		return false;
	else
		*entry = (struct correlate_entry){.correlation = correlation, .operations = 1};
	return true;
}

uint32_t gt_correlate_put(struct gt_correlate *table, uint32_t correlation,
			  const struct gt_launch *launch, bool expects, bool many)
{
	struct correlate_entry *entry = slot_of(table->entries, table->size, correlation);
	uint32_t early;

	while (entry->correlation && entry->correlation != correlation && !is_done(entry) &&
	       grow(table))
		entry = slot_of(table->entries, table->size, correlation);
	early = entry->correlation == correlation && is_early(entry) ? entry->operations : 0;
	if (entry->correlation == correlation) {
		table->counts.in_flight -= is_waiting(entry);
		table->stored -= is_waiting(entry);
	} else if (entry->correlation) {
		evict(table, entry);
	}
	if (table->evicted)
		set_bit(table->evicted, correlation, false);
	*entry = (struct correlate_entry){.correlation = correlation,
					  .operations = early,
					  .expects = expects,
					  .many = many,
					  .launch = *launch};
	entry->launch.known = entry->launch.first = true;
	table->counts.in_flight += is_waiting(entry);
	table->stored += is_waiting(entry);
	return early;
}

void gt_correlate_aim(struct gt_correlate *table, uint32_t correlation,
		      const struct gt_correlate_aim *aim)
{
	struct correlate_entry *entry = slot_of(table->entries, table->size, correlation);

	if (entry->correlation != correlation)
		return;
	entry->aimed = aim->aimed;
	entry->domain = aim->domain;
	entry->cbid = aim->cbid;
	entry->context = aim->context;
	entry->stream = aim->stream;
	entry->symbol = aim->symbol;
}

static struct gt_correlate_aim aim_of(const struct correlate_entry *entry)
{
	return (struct gt_correlate_aim){.stream = entry->stream,
					 .symbol = entry->symbol,
					 .context = entry->context,
					 .cbid = entry->cbid,
					 .domain = entry->domain,
					 .aimed = entry->aimed};
}

bool gt_correlate_aim_of(const struct gt_correlate *table, uint32_t correlation,
			 struct gt_correlate_aim *ret_aim)
{
	const struct correlate_entry *entry = slot_of(table->entries, table->size, correlation);

	if (!correlation || entry->correlation != correlation)
		return false;
	*ret_aim = aim_of(entry);
	return true;
}

void gt_correlate_each_waiting(const struct gt_correlate *table,
			       void (*found)(void *context,
					     const struct gt_correlate_waiting *call),
			       void *context)
{
	for (uint32_t i = 0; i < table->size; i++) {
		const struct correlate_entry *entry = &table->entries[i];

		if (is_waiting(entry) || (entry->correlation && entry->expects && entry->many))
			found(context,
			      &(struct gt_correlate_waiting){.operations = entry->operations,
							     .many = entry->many,
							     .launch = &entry->launch,
							     .aim = aim_of(entry)});
	}
}

/* Of a call that is not in the table any more. */
static enum gt_correlate_found find_evicted(struct gt_correlate *table, uint32_t correlation)
{
	if (!table->evicted || !has_bit(table->evicted, correlation))
		return GT_CORRELATE_UNKNOWN;
	if (!has_bit(table->answered, correlation)) {
		table->counts.in_flight--;
		table->late++;
		table->answers.evicted++;
	}
	set_bit(table->answered, correlation, true);
	return GT_CORRELATE_EVICTED;
}

enum gt_correlate_found gt_correlate_match(struct gt_correlate *table, uint32_t correlation,
					   struct gt_launch *ret_launch)
{
	struct correlate_entry *entry = slot_of(table->entries, table->size, correlation);

	if (correlation == 0)
		return GT_CORRELATE_UNKNOWN;
	if (entry->correlation != correlation)
		return find_evicted(table, correlation);
	if (is_early(entry))
		return GT_CORRELATE_UNKNOWN;
	table->counts.in_flight -= is_waiting(entry);
	table->answers.listed += is_waiting(entry);
	*ret_launch = entry->launch;
	entry->launch.first = false;
	entry->operations++;
	return GT_CORRELATE_KNOWN;
}

/* Calls that were evicted before their first operation, and have a bit. */
static uint64_t listed_evicted(const struct gt_correlate *table)
{
	return table->counts.evicted - table->counts.unlisted;
}

uint64_t gt_correlate_give_up(struct gt_correlate *table)
{
	uint64_t in_flight = table->counts.in_flight;

	for (uint32_t i = 0; in_flight && i < table->size; i++)
		table->entries[i].expects = false;
	if (in_flight && table->evicted)
		memset(table->answered, 0xff, EVICTED_BYTES);
	table->late = listed_evicted(table);
	table->counts.in_flight = 0;
	return in_flight;
}

struct gt_correlate_counts gt_correlate_count(const struct gt_correlate *table)
{
	return table->counts;
}

struct gt_correlate_answers gt_correlate_answered(const struct gt_correlate *table)
{
	return table->answers;
}

void gt_correlate_leave_rings(struct gt_correlate *table)
{
	table->left = table->stored;
}

static struct gt_correlate_aim aim_in_spool(const struct correlate_entry *entry)
{
	bool aimed = gt_spool_bool(&entry->aimed);

	return (struct gt_correlate_aim){.stream = entry->stream,
					 .symbol = aimed ? entry->symbol : 0,
					 .context = entry->context,
					 .cbid = entry->cbid,
					 .domain = entry->domain,
					 .aimed = aimed};
}

static const struct correlate_entry *entries_in_spool(const struct gt_spool_view *view,
						      const struct gt_correlate *dead)
{
	return gt_spool_view_at(view, gt_spool_address(dead->entries),
				(uint64_t)dead->size * sizeof(struct correlate_entry));
}

void gt_correlate_each(const struct gt_spool_view *view,
		       void (*found)(void *context, const struct gt_correlate_call *call),
		       void *context)
{
	const struct gt_correlate *table = gt_spool_view_root(view, GT_SPOOL_CALLS, sizeof(*table));
	const struct correlate_entry *entries = table ? entries_in_spool(view, table) : NULL;

	for (uint32_t i = 0; entries && i < table->size; i++) {
		const struct correlate_entry *entry = &entries[i];

		if (entry->correlation)
			found(context,
			      &(struct gt_correlate_call){.correlation = entry->correlation,
							  .operations = entry->operations,
							  .expects = gt_spool_bool(&entry->expects),
							  .many = gt_spool_bool(&entry->many),
							  .launch = entry->launch,
							  .aim = aim_in_spool(entry)});
	}
}

/* Keeps a call whose operations all came, too: those that the dead process had not written come
 * again. Calls arrive in table order, not in id order. */
void gt_correlate_restore(struct gt_correlate *table, const struct gt_correlate_call *call)
{
	struct correlate_entry *entry = slot_of(table->entries, table->size, call->correlation);

	while (entry->correlation && entry->correlation != call->correlation && grow(table))
		entry = slot_of(table->entries, table->size, call->correlation);
	if (!call->launch.known) {
		if (gt_correlate_early(table, call->correlation))
			slot_of(table->entries, table->size, call->correlation)->operations =
				call->operations;
		return;
	}
	gt_correlate_put(table, call->correlation, &call->launch, call->expects, call->many);
	gt_correlate_aim(table, call->correlation, &call->aim);
	entry = slot_of(table->entries, table->size, call->correlation);
	table->counts.in_flight -= is_waiting(entry);
	entry->operations = call->operations;
	entry->launch.first = call->launch.first;
	table->counts.in_flight += is_waiting(entry);
}

static bool inherit_bits(struct gt_correlate *table, const struct gt_spool_view *view,
			 const struct gt_correlate *dead)
{
	const uint8_t *bits =
		gt_spool_view_at(view, gt_spool_address(dead->evicted), 2 * EVICTED_BYTES);

	table->evicted = bits ? gt_spool_map(2 * EVICTED_BYTES) : NULL;
	if (!table->evicted)
		return false;
	table->answered = table->evicted + EVICTED_BYTES;
	memcpy(table->evicted, bits, 2 * EVICTED_BYTES);
	return true;
}

/* A table that found no room in the spool is gone with its process: how many were in flight is
 * known. Calls that a ring still has are stored again, and operations that come again are of
 * unknown calls. */
static uint64_t unlisted_in(const struct gt_correlate *dead, uint64_t evicted,
			    const struct gt_correlate_answers *counted)
{
	int64_t unlisted = (int64_t)(dead->counts.in_flight - evicted - dead->stored + dead->left +
				     dead->answers.listed - counted->listed);

	return unlisted > 0 ? (uint64_t)unlisted : 0;
}

void gt_correlate_inherit(struct gt_correlate *table, const struct gt_spool_view *view,
			  const struct gt_correlate_answers *counted)
{
	const struct gt_correlate *dead = gt_spool_view_root(view, GT_SPOOL_CALLS, sizeof(*dead));
	uint64_t evicted;

	if (!dead)
		return;
	evicted = listed_evicted(dead) - dead->late;
	table->counts.evicted = dead->counts.evicted;
	table->counts.unlisted = dead->counts.unlisted;
	table->late = dead->late;
	if (!entries_in_spool(view, dead))
		table->counts.unlisted += unlisted_in(dead, evicted, counted);
	if (!dead->counts.evicted || inherit_bits(table, view, dead))
		table->counts.in_flight += evicted;
	else
		table->counts.unlisted += evicted + dead->answers.evicted - counted->evicted;
}
