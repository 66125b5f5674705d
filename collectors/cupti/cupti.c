/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting, reading and stopping CUPTI, see the header.
 */
#include "collectors/cupti/cupti.h"

#include <errno.h>
#include <string.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/capture.h"
#include "collectors/cupti/contexts.h"
#include "collectors/cupti/foreign.h"
#include "collectors/cupti/internal.h"
#include "collectors/cupti/library/driver.h"
#include "collectors/cupti/library/lengths.h"
#include "collectors/cupti/library/timestamp.h"
#include "collectors/cupti/library/quirks.h"
#include "collectors/cupti/relay.h"
#include "collectors/cupti/records/translate.h"
#include "core/guest/forkguard.h"
#include "core/guest/futex.h"
#include "core/guest/text.h"
#include "core/window/attached.h"

/* Some tenths of a millisecond of work; a ring of 2 MiB fills in ten times that. */
#define PART_RECORDS  1024

#define PAUSE_NS      5000000u
#define FLUSH_TURN_NS 1000000000u

struct gt_cupti gt_cupti;

/* Of records that were read, by kind; 0: there was none. Drain thread. */
static uint16_t lengths[GT_TRANSLATE_KINDS];

/* With one that CUPTI did not see the driver is up, by the program's own call. Another tool may
 * record that it is asked. */
static bool graphs_may_exist(enum gt_cupti_moment moment)
{
	return gt_attached_is_on() || moment == GT_CUPTI_IN_USE ||
	       (moment == GT_CUPTI_BEFORE_INIT && !gt_cupti.api.started_driver &&
		gt_cupti_driver_is_up());
}

int gt_cupti_start(const struct gt_config *config, bool in_init, bool waits,
		   const struct gt_cupti_user *user, struct gt_cupti_status *ret_status)
{
	enum gt_cupti_moment moment = in_init ? GT_CUPTI_IN_INIT : GT_CUPTI_BEFORE_INIT;
	struct gt_cupti_status *status = ret_status;
	int error;

	memset(status, 0, sizeof(*status));
	memset(&gt_cupti, 0, sizeof(gt_cupti));
	memset(lengths, 0, sizeof(lengths));
	if (gt_cupti_foreign_get().changes)
		moment = GT_CUPTI_IN_USE;
	error = gt_cupti_load(gt_config_text(config, GT_CONFIG_CUPTI), moment, &gt_cupti.api,
			      status->why, sizeof(status->why));
	if (error)
		return error;
	status->version = gt_cupti.api.version;
	memcpy(status->path, gt_cupti.api.path, sizeof(status->path));
	if (gt_cupti_has_quirk(status->version, GT_QUIRK_LAYOUT_TOO_OLD)) {
		gt_text_format(status->why, sizeof(status->why), "%s: %s", status->path,
			       gt_cupti_quirk_text(GT_QUIRK_LAYOUT_TOO_OLD));
		return -ENOTSUP;
	}
	gt_cupti.config = config;
	gt_cupti.user = *user;
	gt_cupti.waits = waits;
	gt_cupti.may_have_graphs = graphs_may_exist(moment);
	gt_cupti.driver_was_up = gt_cupti.may_have_graphs && !in_init;
	gt_cupti_capture_start(status->version);
	error = gt_cupti_attach(status);
	gt_cupti.hears_init = !error && !gt_cupti.driver_was_up;
	gt_cupti.is_late = true;
	return error;
}

/* Not before CUPTI has requested a buffer: FlushAll has been seen to hang then (REQ-25). Not while
 * another tool collects: flushes and drop counts are process-wide. */
bool gt_cupti_is_usable(void)
{
	return gt_forkguard_holds() && atomic_load(&gt_cupti.active) &&
	       !atomic_load(&gt_cupti.dead) && !atomic_load(&gt_cupti.away) &&
	       gt_cupti_buffers_count().requested != 0;
}

/* A record's length follows from the next record. */
static void note_length(const CUpti_Activity *record, const uint8_t *end,
			struct gt_translate_notes *notes)
{
	uint32_t kind = (uint32_t)record->kind;
	size_t bytes = (size_t)(end - (const uint8_t *)record);

	if (kind >= GT_TRANSLATE_KINDS || bytes > UINT16_MAX)
		return;
	lengths[kind] = (uint16_t)bytes;
	if (notes)
		notes->bytes[kind] = (uint16_t)bytes;
}

/* The last one before an invalid one is as long as others of its kind. 0: there was none. */
static size_t known_length(const CUpti_Activity *record, const uint8_t *end, uint32_t version)
{
	uint32_t kind = (uint32_t)record->kind;
	size_t bytes = 0;

	if (kind < GT_TRANSLATE_KINDS)
		bytes = lengths[kind] ? lengths[kind] : gt_cupti_record_bytes(version, kind);
	return bytes <= (size_t)(end - (const uint8_t *)record) ? bytes : 0;
}

/* But for one that only another tool has enabled. */
static void translate_ours(const CUpti_Activity *record, struct gt_translate *translate)
{
	if (!((uint32_t)record->kind < GT_TRANSLATE_KINDS &&
	      gt_cupti_relay_kinds() >> record->kind & 1))
		gt_translate_record(translate, record);
}

/* Translates one record; @end is where the next one begins. */
static void read_record(const CUpti_Activity *record, const uint8_t *end,
			struct gt_translate *translate, uint64_t order)
{
	size_t size = (size_t)(end - (const uint8_t *)record);

	note_length(record, end, translate->notes);
	if (gt_cupti_capture_on())
		gt_cupti_capture_add(record, (uint32_t)size);
	translate->relayed = !translate->borrowed && gt_cupti_relay_wants(record, order);
	translate_ours(record, translate);
	if (translate->relayed)
		gt_cupti_relay_put(record, size);
}

bool gt_cupti_read_begin(struct gt_cupti_reading *ret_reading, struct gt_translate *translate)
{
	*ret_reading = (struct gt_cupti_reading){.last = NULL};
	gt_cupti_relay_serve();
	if (gt_cupti_buffers_next(&ret_reading->buffer)) {
		ret_reading->buffer.sampled = gt_clock_newest(translate->clock);
		gt_cupti_buffers_begin(&ret_reading->buffer, translate->now);
		translate->outside = gt_cupti_buffers_are_outside(&ret_reading->buffer);
		return true;
	}
	gt_cupti_buffers_prepare(translate->spill, translate->context);
	return false;
}

/* Returns where it ends; where that is not known, where it begins. */
static const uint8_t *read_last(const CUpti_Activity *record, const uint8_t *end, bool is_whole,
				struct gt_translate *translate, uint64_t order)
{
	size_t bytes = is_whole ? (size_t)(end - (const uint8_t *)record)
				: known_length(record, end, translate->version);
	const uint8_t *behind = (const uint8_t *)record + bytes;

	if (bytes)
		read_record(record, behind, translate, order);
	else
		translate_ours(record, translate);
	return behind;
}

/* Bytes from an invalid record on cannot be read (REQ-33). */
static void end_buffer(struct gt_cupti_reading *reading, struct gt_translate *translate,
		       CUptiResult why)
{
	struct gt_cupti_buffer *buffer = &reading->buffer;
	const uint8_t *end = buffer->data + buffer->valid;
	const uint8_t *behind = buffer->data;
	bool is_whole = why == CUPTI_ERROR_MAX_LIMIT_REACHED;

	if (reading->last)
		behind = read_last(reading->last, end, is_whole, translate, buffer->order);
	if (!is_whole) {
		gt_ledger_add(translate->ledger, GT_LEDGER_RECORDS_UNREADABLE_BYTES,
			      (uint64_t)(end - behind));
		if (behind != (const uint8_t *)reading->last) /* else it would be gone, too */
			buffer->valid = (size_t)(behind - buffer->data);
	}
	if (translate->read)
		translate->read(translate->context);
	gt_cupti_buffers_recycle(buffer, translate->now);
	gt_cupti_buffers_prepare(translate->spill, translate->context);
}

#define AHEAD_BYTES 832u /* four kernels */
#define LINE_BYTES  64u
#define AHEAD_LINES 4u

/* Another processor wrote the records a moment ago: what is read soon is fetched. */
static void fetch_ahead(const void *record)
{
	for (size_t i = 0; i < AHEAD_LINES; i++)
		__builtin_prefetch((const char *)record + AHEAD_BYTES + i * LINE_BYTES);
}

bool gt_cupti_read_part(struct gt_cupti_reading *reading, struct gt_translate *translate,
			uint64_t *records)
{
	CUpti_Activity *record = reading->last;

	translate->now = gt_clock_from_monotonic(translate->clock, gt_clock_now());
	translate->borrowed = reading->buffer.foreign;
	translate->clock_changed = !translate->borrowed &&
				   reading->buffer.request <= atomic_load(&gt_cupti.clock_changed);
	gt_cupti_relay_serve();
	if (translate->notes)
		translate->notes->others = gt_cupti_relay_kinds();
	for (int i = 0; i < PART_RECORDS; i++) {
		CUptiResult result = gt_cupti.api.cuptiActivityGetNextRecord(
			reading->buffer.data, reading->buffer.valid, &record);

		if (result != CUPTI_SUCCESS) {
			end_buffer(reading, translate, result);
			return false;
		}
		fetch_ahead(record);
		if (reading->last)
			read_record(reading->last, (const uint8_t *)record, translate,
				    reading->buffer.order);
		reading->last = record;
		++*records;
	}
	return true;
}

static bool try_begin_flush(void)
{
	uint32_t nobody = 0;

	return atomic_compare_exchange_strong(&gt_cupti.flushing, &nobody, 1);
}

/* One flush at a time: two at once have been seen to deadlock. False: the other one takes long. */
static bool begin_flush(void)
{
	uint64_t until = gt_clock_now() + FLUSH_TURN_NS, now;

	while (!try_begin_flush()) {
		now = gt_clock_now();
		if (now >= until)
			return false;
		gt_futex_wait(&gt_cupti.flushing, 1, until - now);
	}
	return true;
}

static void end_flush(void)
{
	atomic_store(&gt_cupti.flushing, 0);
	gt_futex_wake(&gt_cupti.flushing);
}

static void note_flush(uint64_t ns)
{
	uint64_t longest = atomic_load(&gt_cupti.flush_longest);

	while (ns > longest && !atomic_compare_exchange_weak(&gt_cupti.flush_longest, &longest, ns))
		;
}

bool gt_cupti_flush_all(bool forced)
{
	uint64_t began;

	if (!begin_flush())
		return false;
	began = gt_clock_now();
	gt_cupti.api.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
	note_flush(gt_clock_now() - began);
	end_flush();
	return true;
}

static void pause_once(void)
{
	_Atomic uint32_t nobody = 0;

	gt_futex_wait(&nobody, 0, PAUSE_NS);
}

/* CUPTI may have been finalized since the last one. */
static bool flush_once(bool forced)
{
	return !gt_cupti_is_usable() || gt_cupti_flush_all(forced);
}

/* Again while CUPTI keeps buffers. A sum of pauses, not a time: on a slow machine the work gets as
 * many chances. */
static bool flush_until_returned(bool forced, uint64_t requests, uint64_t patience_ns)
{
	bool is_over = flush_once(forced);

	for (uint64_t waited = 0;
	     is_over && waited < patience_ns && gt_cupti_buffers_held(requests);
	     waited += PAUSE_NS) {
		pause_once();
		is_over = flush_once(forced);
	}
	return is_over;
}

/* A call that is launching work while its buffer is forced out keeps it, until the call is over.
 * Without force CUPTI may keep one with work in progress, and returns it later. */
bool gt_cupti_flush(bool forced)
{
	uint64_t requests = gt_cupti_buffers_count().requested;
	bool is_over;

	if (!forced || !gt_cupti_is_usable())
		return flush_once(forced);
	is_over = flush_until_returned(true, requests, GT_CUPTI_PATIENCE_NS);
	if (is_over)
		gt_cupti_buffers_demanded(requests);
	return is_over;
}

void gt_cupti_flush_regularly(void)
{
	if (!gt_cupti_has_quirk(gt_cupti.api.version, GT_QUIRK_FLUSH_CRASHES))
		gt_cupti_flush(false);
}

int gt_cupti_read_clock(struct gt_cupti_timestamp *ret_stamp)
{
	if (!gt_cupti_is_usable())
		return -ENOSYS;
	return gt_cupti_timestamp_read(&gt_cupti.api, ret_stamp);
}

uint64_t gt_cupti_flush_longest(void)
{
	return atomic_load(&gt_cupti.flush_longest);
}

static bool never(void)
{
	return false;
}

static bool always(void)
{
	return true;
}

/* A context may have been created since a call that ends the last one asked. */
static bool while_alone(void)
{
	return atomic_load(&gt_cupti.detaching) || !gt_cupti_contexts_several();
}

static void fetch(uint64_t patience_ns, bool (*may_force)(void))
{
	uint64_t requests = gt_cupti_buffers_count().requested;

	if (flush_until_returned(false, requests, patience_ns) && gt_cupti_buffers_held(requests) &&
	    may_force())
		gt_cupti_flush(true);
}

void gt_cupti_fetch(uint64_t patience_ns, bool forced)
{
	fetch(patience_ns, forced ? always : never);
}

void gt_cupti_fetch_asked(bool forced)
{
	fetch(GT_CUPTI_PATIENCE_NS, forced ? while_alone : never);
}

void gt_cupti_fetch_aside(bool forced)
{
	if (gt_cupti_is_usable() && !gt_cupti.user.fetch(forced))
		atomic_fetch_add(&gt_cupti.fetches_late, 1);
}

void gt_cupti_fetch_detaching(void)
{
	atomic_fetch_add(&gt_cupti.detaching, 1);
	gt_cupti_fetch_aside(true);
	atomic_fetch_sub(&gt_cupti.detaching, 1);
}

void gt_cupti_clock_changing(void)
{
	bool crashes = gt_cupti_has_quirk(gt_cupti.api.version, GT_QUIRK_FLUSH_CRASHES);

	if (!gt_cupti_is_usable())
		return;
	gt_cupti_fetch(crashes ? 0 : GT_CUPTI_UNFINISHED_NS, false);
	atomic_store(&gt_cupti.clock_changed, UINT64_MAX);
}

void gt_cupti_clock_changed(void)
{
	if (atomic_load(&gt_cupti.clock_changed))
		atomic_store(&gt_cupti.clock_changed, gt_cupti_buffers_count().requested);
}

uint64_t gt_cupti_fetches_late(void)
{
	return atomic_load(&gt_cupti.fetches_late);
}

/* Not beside a flush: one may never return, and has been seen to hold a lock of CUPTI's that this
 * call wants. */
static void take_dropped(void)
{
	size_t dropped = 0;

	if (!gt_cupti_is_usable() || atomic_load(&gt_cupti.settled))
		return;
	/* resets to zero on reading */
	if (gt_cupti.api.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS) {
		atomic_fetch_add(&gt_cupti.dropped, dropped);
		gt_cupti_relay_add_dropped(dropped);
	}
}

void gt_cupti_settle_dropped(void)
{
	if (!begin_flush())
		return;
	take_dropped();
	end_flush();
	if (atomic_load(&gt_cupti.ceased))
		atomic_store(&gt_cupti.settled, true);
}

/* During a flush the next report has the drops. */
void gt_cupti_count(struct gt_ledger *ledger)
{
	gt_cupti_buffers_report_delivered(ledger);
	if (try_begin_flush()) {
		take_dropped();
		end_flush();
	}
	gt_ledger_add(ledger, GT_LEDGER_RECORDS_DROPPED, atomic_exchange(&gt_cupti.dropped, 0));
}

const char *gt_cupti_fatal(void)
{
	return atomic_exchange(&gt_cupti.fatal, NULL);
}

void gt_cupti_yield(void)
{
	gt_cupti_fetch_detaching();
	gt_cupti_unsubscribe();
}

void gt_cupti_stop(void)
{
	gt_cupti_relay_close();
	gt_cupti_end_graphs();
	atomic_store(&gt_cupti.active, false);
	gt_cupti_buffers_stop();
}

const char *gt_cupti_call_name(int domain, uint32_t cbid)
{
	const char *name = NULL;
	CUpti_CallbackDomain cupti_domain =
		domain == GT_API_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;

	if (!gt_cupti.api.cuptiGetCallbackName ||
	    gt_cupti.api.cuptiGetCallbackName(cupti_domain, cbid, &name) != CUPTI_SUCCESS)
		return NULL;
	return name;
}

int gt_cupti_find_stream(void *handle, uint32_t *ret_device, uint32_t *ret_stream)
{
	const struct gt_cupti_api *api = &gt_cupti.api;
	uint32_t device, stream;

	if (!atomic_load(&gt_cupti.active) || atomic_load(&gt_cupti.dead) ||
	    !api->cuptiGetDeviceId || !api->cuptiGetStreamIdEx ||
	    api->cuptiGetDeviceId(NULL, &device) != CUPTI_SUCCESS ||
	    api->cuptiGetStreamIdEx(NULL, handle, 0, &stream) != CUPTI_SUCCESS)
		return -ENOENT;
	*ret_device = device;
	*ret_stream = stream;
	return 0;
}
