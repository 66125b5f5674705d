/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeping the spool, see the header.
 */
#include "pipeline/spool/spooled.h"

#include <link.h>
#include <string.h>

#include "collectors/symbols/elf_image.h"
#include "collectors/symbols/modules.h"
#include "core/guest/forkgate.h"
#include "core/guest/memory.h"
#include "core/guest/text.h"
#include "core/identity.h"
#include "core/window/flight_plan.h"
#include "core/spool.h"
#include "core/thread.h"

/* Rings and buffers have --max-memory for themselves; a spool rarely needs more than a part of
 * it. */
#define SPOOL_MAX (256u << 20)

#define READ_KEYS 512u

struct own {
	uint64_t address; /* of our code */
	uint8_t id[GT_BUILD_ID_MAX];
	uint32_t size;
};

static int find_own(struct dl_phdr_info *info, size_t size, void *context)
{
	struct own *own = context;
	bool found = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;

		found |= phdr->p_type == PT_LOAD && own->address - start < phdr->p_memsz;
	}
	if (found)
		own->size = gt_elf_image_loaded_build_id(info, own->id);
	return found;
}

void gt_spooled_build_id(char *ret_text, uint32_t size)
{
	static const char digits[] = "0123456789abcdef";
	struct own own = {.address = (uint64_t)(uintptr_t)&gt_spooled_build_id};

	gt_forkgate_lock();
	dl_iterate_phdr(find_own, &own);
	gt_forkgate_unlock();
	for (uint32_t i = 0; i < own.size && 2 * i + 2 < size; i++) {
		*ret_text++ = digits[own.id[i] >> 4];
		*ret_text++ = digits[own.id[i] & 15];
	}
	*ret_text = 0;
}

/* What a killed process leaves on tmpfs takes memory until somebody removes it: gputrace run
 * does. */
static const char *find_place(const struct gt_config *config)
{
	const char *where = gt_config_text(config, GT_CONFIG_SPOOL);

	if (strcmp(where, "auto") != 0)
		return where;
	return gt_identity_env("GPUTRACE_RUN") ? "on" : "off";
}

static size_t most_bytes(const struct gt_config *config)
{
	int64_t most = gt_config_number(config, GT_CONFIG_MAX_RSS);
	struct gt_flight_plan recorder;

	gt_flight_plan_parse(gt_config_text(config, GT_CONFIG_FLIGHT_RECORDER), &recorder);
	/* which may have half of the room */
	return (most < SPOOL_MAX ? (size_t)most : SPOOL_MAX) + 2 * recorder.bytes;
}

/* In the spool, where recovery looks for it. NULL: that is not to be had. */
static struct gt_spooled *make_spooled(void)
{
	struct gt_spooled *spooled = gt_spool_map(sizeof(*spooled));

	if (gt_spool_holds(spooled))
		return spooled;
	gt_spool_remove();
	return NULL;
}

void gt_spooling_start(struct gt_spooling *spooling, const struct gt_config *config,
		       const char *folder)
{
	struct gt_metadata *metadata = spooling->metadata;
	char build_id[72], why[512];
	struct gt_spool_options options = {
		.where = find_place(config),
		.runtime = gt_identity_env("XDG_RUNTIME_DIR"),
		.build_id = build_id,
		.folder = folder,
		.max_bytes = most_bytes(config),
		.started = metadata->start / 1000000u,
	};

	if (!strcmp(gt_config_text(config, GT_CONFIG_FORMAT), "null") ||
	    !strcmp(options.where, "off"))
		return;
	gt_spooled_build_id(build_id, sizeof(build_id));
	if (gt_spool_start(&options, why, sizeof(why))) {
		gt_text_format(metadata->spool, sizeof(metadata->spool), "none: %s", why);
		return;
	}
	spooling->spooled = make_spooled();
	if (!spooling->spooled)
		return;
	gt_text_format(metadata->spool, sizeof(metadata->spool), "%s", gt_spool_path());
	gt_spooling_update(spooling, spooling->ledger);
	gt_spool_set_root(GT_SPOOL_SESSION, spooling->spooled);
	gt_kernel_names_start(&spooling->spooled->kernels);
}

struct gt_translate_notes *gt_spooling_notes(const struct gt_spooling *spooling)
{
	return spooling && spooling->spooled ? &spooling->spooled->notes : NULL;
}

static void update_metadata(struct gt_spooled *spooled, const struct gt_metadata *metadata)
{
	if (spooled->metadata_generation == metadata->generation + 1)
		return;
	spooled->metadata = *metadata;
	spooled->metadata_generation = metadata->generation + 1;
	if (metadata->unwinder)
		gt_text_format(spooled->unwinder, sizeof(spooled->unwinder), "%s",
			       metadata->unwinder);
}

/* A record of a buffer is counted by the dead process once the buffer is marked as read, and before
 * by recovery. What becomes of one that waits for its call is counted later: it is listed, and
 * recovery counts it. */
static const enum gt_ledger_key of_buffers[] = {
	GT_LEDGER_RECORDS_KERNEL,    GT_LEDGER_RECORDS_MEMCPY,
	GT_LEDGER_RECORDS_MEMSET,    GT_LEDGER_RECORDS_SYNC,
	GT_LEDGER_RECORDS_OVERHEAD,  GT_LEDGER_RECORDS_FACT,
	GT_LEDGER_RECORDS_API,       GT_LEDGER_RECORDS_UNKNOWN,
	GT_LEDGER_RECORDS_INSANE,    GT_LEDGER_RECORDS_UNREADABLE_BYTES,
	GT_LEDGER_KERNELS_UNTIMED,   GT_LEDGER_MEMCPYS_UNTIMED,
	GT_LEDGER_MEMSETS_UNTIMED,   GT_LEDGER_TIME_REVERSED,
	GT_LEDGER_TIME_AHEAD,        GT_LEDGER_TIME_UNKNOWN,
	GT_LEDGER_TIME_FOREIGN,      GT_LEDGER_OPS_UNLINKED,
	GT_LEDGER_GPU_BEFORE_LAUNCH, GT_LEDGER_EARLY_WORK,
	GT_LEDGER_RECORDS_GRAPH,     GT_LEDGER_GRAPHS_UNTIMED,
	GT_LEDGER_GRAPHS_LEFT_OUT,   GT_LEDGER_KERNELS_OUTSIDE,
	GT_LEDGER_MEMCPYS_OUTSIDE,   GT_LEDGER_MEMSETS_OUTSIDE,
	GT_LEDGER_KERNELS_FILTERED,  GT_LEDGER_MEMCPYS_FILTERED,
	GT_LEDGER_MEMSETS_FILTERED,  GT_LEDGER_GRAPHS_FILTERED,
	GT_LEDGER_SYNCS_FILTERED,    GT_LEDGER_KERNELS_GOVERNED,
	GT_LEDGER_MEMCPYS_GOVERNED,  GT_LEDGER_MEMSETS_GOVERNED,
	GT_LEDGER_GRAPHS_GOVERNED,   GT_LEDGER_SYNCS_GOVERNED,
	GT_LEDGER_OPS_OUTSIDE,       GT_LEDGER_RECORDS_UNIFIED,
	GT_LEDGER_RECORDS_MEMORY,    GT_LEDGER_LIBRARY_KERNELS,
	GT_LEDGER_LAUNCHES_UNLINKED, GT_LEDGER_RECORDS_UNFINISHED,
};

/* For each record of a buffer that is not in the spool: a loop takes three times as long. */
void gt_spooled_copy_read(struct gt_ledger *to, const struct gt_ledger *from)
{
#pragma GCC unroll 64
	for (size_t i = 0; i < sizeof(of_buffers) / sizeof(of_buffers[0]); i++)
		to->count[of_buffers[i]] = from->count[of_buffers[i]];
}

void gt_spooled_add_read(struct gt_ledger *to, const struct gt_ledger *from)
{
	for (size_t i = 0; i < sizeof(of_buffers) / sizeof(of_buffers[0]); i++)
		to->count[of_buffers[i]] += from->count[of_buffers[i]];
}

/* What was left out of the records of rings. */
static const enum gt_ledger_key of_rings[] = {
	GT_LEDGER_CALLS_OUTSIDE,   GT_LEDGER_CALLS_FILTERED_LATER, GT_LEDGER_CALLS_GOVERNED_LATER,
	GT_LEDGER_RANGES_OUTSIDE,  GT_LEDGER_RANGES_FILTERED,      GT_LEDGER_SAMPLES_OUTSIDE,
	GT_LEDGER_LIBRARY_UNKNOWN, GT_LEDGER_LIBRARY_FREED,        GT_LEDGER_LIBRARY_RANGE,
	GT_LEDGER_LIBRARY_VERSION, GT_LEDGER_LIBRARY_OVERFLOW,     GT_LEDGER_NCCL_TOLD,
	GT_LEDGER_NCCL_UNMATCHED,  GT_LEDGER_NCCL_NETWORK,         GT_LEDGER_CALLS_THINNED_LATER,
};

void gt_spooled_add_rings(struct gt_ledger *to, const struct gt_ledger *from)
{
	for (size_t i = 0; i < sizeof(of_rings) / sizeof(of_rings[0]); i++)
		to->count[of_rings[i]] += from->count[of_rings[i]];
}

static void copy_rings(struct gt_ledger *to, const struct gt_ledger *from)
{
	for (size_t i = 0; i < sizeof(of_rings) / sizeof(of_rings[0]); i++)
		to->count[of_rings[i]] = from->count[of_rings[i]];
}

void gt_spooling_rings(const struct gt_spooling *spooling)
{
	if (spooling->spooled)
		copy_rings(&spooling->spooled->ledger, spooling->ledger);
}

/* The smaller array stays in the spool: together they are as large as this one. */
static void make_room(struct gt_spooled_read *read, uint64_t count)
{
	uint64_t capacity = read->capacity ? read->capacity : READ_KEYS;
	uint64_t *keys;

	while (capacity < count)
		capacity *= 2;
	keys = gt_spool_map(capacity * sizeof(*keys));
	read->is_short = !gt_spool_holds(keys);
	if (read->is_short) {
		gt_memory_unmap(keys, capacity * sizeof(*keys));
		return;
	}
	read->keys = keys;
	read->capacity = capacity;
	read->count = read->seen = read->unlisted = 0;
}

/* Adds those that are not in the list yet. Where there is no room it is tried again in the next
 * round. Of a graph many may wait, for one launch. */
static void copy_waiting(struct gt_spooled_read *read, const struct gt_spooled_waiting *waiting)
{
	if (read->moves != waiting->moves) {
		read->count = read->seen = read->unlisted = 0;
		read->is_short = false;
	}
	read->moves = waiting->moves;
	if (waiting->count > read->capacity && !read->is_short)
		make_room(read, waiting->count);
	for (; read->seen < waiting->count; read->seen++) {
		uint64_t key = waiting->key(waiting->context, read->seen);

		if (read->count < read->capacity)
			read->keys[read->count++] = key;
		else
			read->unlisted += waiting->is_plain(key);
	}
}

void gt_spooling_read(const struct gt_spooling *spooling, const struct gt_spooled_waiting *waiting)
{
	struct gt_spooled *spooled = spooling ? spooling->spooled : NULL;
	struct gt_spooled_read *read;
	uint32_t other;

	if (!spooled)
		return;
	other = !atomic_load(&spooled->last_read);
	read = &spooled->read[other];
	gt_spooled_copy_read(&read->ledger, spooling->ledger);
	read->answered = waiting->answered;
	copy_waiting(read, waiting);
	atomic_store(&spooled->last_read, other);
}

const struct gt_spooled_read *gt_spooled_read(const struct gt_spooled *spooled)
{
	return &spooled->read[atomic_load(&spooled->last_read) & 1];
}

struct gt_spooled_ranges *gt_spooling_ranges(const struct gt_spooling *spooling)
{
	struct gt_spooled *spooled = spooling->spooled;

	return &spooled->ranges[!atomic_load(&spooled->last_ranges)];
}

void gt_spooling_ranges_kept(const struct gt_spooling *spooling)
{
	struct gt_spooled *spooled = spooling->spooled;

	atomic_store(&spooled->last_ranges, !atomic_load(&spooled->last_ranges));
}

void gt_spooling_lost(const struct gt_spooling *spooling, const struct gt_losses *lost)
{
	if (spooling->spooled)
		spooling->spooled->lost = *lost;
}

/* At most: threads may have lost more since the ledger was counted. */
static uint64_t lost_elsewhere(const struct gt_ledger *ledger)
{
	uint64_t of_threads = gt_threads_sum(GT_THREAD_RANGES_LOST);
	uint64_t all = ledger->count[GT_LEDGER_RANGES_LOST];

	return all > of_threads ? all - of_threads : 0;
}

void gt_spooling_update(const struct gt_spooling *spooling, const struct gt_ledger *ledger)
{
	struct gt_spooled *spooled = spooling->spooled;
	struct gt_ledger now = *ledger;
	uint64_t lost;

	if (!spooled)
		return;
	lost = lost_elsewhere(ledger);
	if (lost > spooled->ranges_lost)
		spooled->ranges_lost = lost;
	spooled->has_cupti = *spooling->has_cupti;
	copy_rings(&now, &spooled->ledger);
	spooled->ledger = now;
	memcpy(spooled->context_device, spooling->context_device, sizeof(spooled->context_device));
	update_metadata(spooled, spooling->metadata);
}

void gt_spooling_range_ended(const struct gt_spooling *spooling, uint64_t time)
{
	if (spooling->spooled)
		atomic_store(&spooling->spooled->range_ended, time);
}

void gt_spooling_recorder(const struct gt_spooling *spooling,
			  const struct gt_recorder_store *recorder)
{
	if (spooling->spooled)
		spooling->spooled->recorder = recorder;
}

void gt_spooling_clock(const struct gt_spooling *spooling)
{
	if (spooling->spooled)
		spooling->spooled->clock = *spooling->clock;
}

void gt_spooling_cupti_clock(const struct gt_spooling *spooling)
{
	struct gt_metadata *kept = spooling->spooled ? &spooling->spooled->metadata : NULL;

	if (!kept)
		return;
	kept->cupti_clock_error = spooling->metadata->cupti_clock_error;
	kept->cupti_clock_offset = spooling->metadata->cupti_clock_offset;
}

void gt_spooling_begun(const struct gt_spooling *spooling)
{
	if (!spooling->spooled)
		return;
	gt_spooling_clock(spooling);
	spooling->spooled->metadata_generation = 0;
	gt_spooling_update(spooling, spooling->ledger);
}

/* Returns where. */
static uint32_t put_claim(struct gt_spooled *spooled, const uint64_t *segment,
			  const struct gt_ledger *claimed)
{
	uint32_t other = !atomic_load(&spooled->claim);

	memcpy(spooled->claims[other].segment, segment, sizeof(spooled->claims[other].segment));
	spooled->claims[other].ledger = *claimed;
	return other;
}

void gt_spooling_claim(const struct gt_spooling *spooling, const uint64_t *segment,
		       const struct gt_ledger *claimed)
{
	struct gt_spooled *spooled = spooling->spooled;

	if (spooled)
		atomic_store(&spooled->claim, put_claim(spooled, segment, claimed));
}

void gt_spooling_given_up(const struct gt_spooling *spooling, uint64_t launches)
{
	if (spooling->spooled)
		spooling->spooled->given_up = launches;
}

void gt_spooling_closing(const struct gt_spooling *spooling, const uint64_t *segment,
			 const struct gt_ledger *claimed)
{
	struct gt_spooled *spooled = spooling->spooled;

	if (!spooled)
		return;
	spooled->closing_claim = put_claim(spooled, segment, claimed);
	gt_spool_set_closing();
}

void gt_spooling_removed(const struct gt_spooling *spooling, uint64_t events)
{
	if (spooling->spooled)
		atomic_fetch_add(&spooling->spooled->removed_early, events);
}

void gt_spooling_removed_left(const struct gt_spooling *spooling)
{
	if (spooling->spooled)
		atomic_store(&spooling->spooled->removed_early, 0);
}
