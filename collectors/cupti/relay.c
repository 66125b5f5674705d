/* SPDX-License-Identifier: Apache-2.0
 *
 * Records for other tools, see the header.
 *
 * A kind that the tool disabled is copied on for a while, as CUPTI delivers what was launched
 * before: until the tool's next flush has returned, or to records that begin LATE_NS later.
 */
#include "collectors/cupti/relay.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/internal.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/guest/futex.h"
#include "core/guest/peek.h"

#define KINDS      64
#define MS_NS      1000000ull
#define LATE_NS    (1000 * MS_NS)
#define PAUSE_NS   (10 * MS_NS)
#define STUCK_NS   (5000 * MS_NS) /* a flush does not wait longer without progress */
#define LEAVING_NS (1000 * MS_NS)

/* What the tool asked for. */
static struct {
	_Atomic(CUpti_BuffersCallbackRequestFunc) requested; /* NULL: no tool */
	_Atomic(CUpti_BuffersCallbackCompleteFunc) completed;
	_Atomic(CUpti_TimestampCallbackFunc) clock; /* NULL: CUPTI's own */
	_Atomic uint64_t enabled;                   /* a bit per kind */
	_Atomic uint64_t ending;                    /* disabled, records may come */
	_Atomic uint64_t only;                      /* ever on for the tool, and not for us */
	_Atomic uint64_t first[KINDS];              /* order of its first buffer */
	_Atomic uint64_t begin[KINDS], end[KINDS];  /* stamps */
	_Atomic uint64_t dropped;
	_Atomic uint32_t
		generation; /* changed by cuptiFinalize: buffers are no longer the tool's */
	_Atomic bool paused, closed;
} tool;

/* Between a tool's flush and the drain thread. */
static struct {
	_Atomic uint64_t order;    /* buffers before this one are to be read */
	_Atomic uint32_t asked;    /* flushes so far */
	_Atomic uint32_t answered; /* futex: of them */
	_Atomic uint32_t inside;   /* futex: 1: somebody has the buffer, or is in a callback */
	_Atomic uint64_t progress;
} rendezvous;

/* The tool's buffer that is being filled. Whoever is inside. */
static struct {
	uint8_t *data; /* NULL: none */
	size_t size, used, most, records;
	CUpti_BuffersCallbackCompleteFunc completed; /* of who handed it out */
	uint32_t generation;
} buffer;

static __thread bool is_inside;

/* ---- whether ---- */

bool gt_cupti_relay_may_serve(const struct gt_config *config)
{
	const char *coexist = gt_config_text(config, GT_CONFIG_COEXIST);
	bool nodes = !strcmp(gt_config_text(config, GT_CONFIG_GRAPHS), "node");

	return !strcmp(coexist, "share") || (!strcmp(coexist, "auto") && nodes);
}

bool gt_cupti_relay_is_on(void)
{
	return gt_forkguard_holds() && atomic_load(&gt_cupti.serves) &&
	       atomic_load(&gt_cupti.subscribed) && !atomic_load(&gt_cupti.away) &&
	       !atomic_load(&gt_cupti.dead) && !atomic_load(&tool.closed);
}

bool gt_cupti_relay_serves(const void *target)
{
	uintptr_t address = (uintptr_t)target;

	return address >= gt_cupti.api.start && address < gt_cupti.api.end;
}

static bool has_tool(void)
{
	return atomic_load(&tool.requested) != NULL;
}

/* ---- its buffer ---- */

/* False: the tool must not be called, nor its buffer be used. Else undo with leave. */
static bool enter(void)
{
	uint32_t expected = 0;

	if (atomic_load(&tool.paused) ||
	    !atomic_compare_exchange_strong(&rendezvous.inside, &expected, 1))
		return false;
	is_inside = true;
	if (buffer.generation != atomic_load(&tool.generation)) {
		buffer.generation = atomic_load(&tool.generation);
		buffer.data = NULL; /* the tool uses its memory for something else */
	}
	return true;
}

static void leave(void)
{
	is_inside = false;
	atomic_store(&rendezvous.inside, 0);
	gt_futex_wake(&rendezvous.inside);
}

static void hand_back(void)
{
	uint8_t *data = buffer.data;

	buffer.data = NULL;
	if (data && gt_peek_is_readable((const void *)(uintptr_t)buffer.completed))
		buffer.completed(NULL, 0, data, buffer.size, buffer.used);
}

static void request(void)
{
	CUpti_BuffersCallbackRequestFunc requested = atomic_load(&tool.requested);

	buffer.completed = atomic_load(&tool.completed);
	buffer.size = buffer.used = buffer.most = buffer.records = 0;
	if (requested && buffer.completed &&
	    gt_peek_is_readable((const void *)(uintptr_t)requested))
		requested(&buffer.data, &buffer.size, &buffer.most);
}

static bool has_room(size_t size)
{
	return buffer.data && buffer.size - buffer.used >= size &&
	       (!buffer.most || buffer.records < buffer.most);
}

/* CUPTI asks for a buffer when the first record is foreseen, and libkineto flushes only if it was
 * asked for one. */
static void request_early(void)
{
	if (!buffer.data && atomic_load(&tool.enabled))
		request();
}

/* ---- what the tool asks for ---- */

/* As in CUPTI's records. */
static uint64_t stamp_now(void)
{
	CUpti_TimestampCallbackFunc clock = atomic_load(&tool.clock);
	struct timespec now;

	if (clock)
		return clock();
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool gt_cupti_relay_has_clock(CUpti_TimestampCallbackFunc timestamp)
{
	return timestamp && gt_cupti_relay_is_on() && atomic_load(&tool.clock) == timestamp;
}

void gt_cupti_relay_clock(CUpti_TimestampCallbackFunc timestamp)
{
	atomic_store(&tool.clock, timestamp);
}

static uint64_t bit_of(CUpti_ActivityKind kind)
{
	return (uint32_t)kind < KINDS ? (uint64_t)1 << kind : 0;
}

static void begin(uint32_t kind)
{
	atomic_store(&tool.first[kind], gt_cupti_buffers_order());
	atomic_store(&tool.begin[kind], stamp_now());
}

bool gt_cupti_relay_take(CUpti_BuffersCallbackRequestFunc requested,
			 CUpti_BuffersCallbackCompleteFunc completed)
{
	uint64_t early = has_tool() ? 0 : atomic_load(&tool.enabled);

	if (!gt_cupti_relay_is_on())
		return false;
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		if (early >> kind & 1)
			begin(kind);
	}
	atomic_store(&tool.completed, completed);
	atomic_store(&tool.requested, requested);
	return true;
}

bool gt_cupti_relay_register(CUpti_BuffersCallbackRequestFunc requested,
			     CUpti_BuffersCallbackCompleteFunc completed)
{
	if (gt_cupti_relay_is_on())
		gt_cupti_flush(false); /* what is complete by now is not for the tool */
	return gt_cupti_relay_take(requested, completed);
}

bool gt_cupti_relay_keeps_kind(CUpti_ActivityKind kind)
{
	return gt_cupti_relay_is_on() && atomic_load(&gt_cupti.kinds) & bit_of(kind);
}

static void enable(CUpti_ActivityKind kind, uint64_t bit)
{
	if (!((atomic_load(&tool.enabled) | atomic_load(&tool.ending)) & bit))
		begin(kind);
	if (!(atomic_load(&gt_cupti.kinds) & bit))
		atomic_fetch_or(&tool.only, bit);
	atomic_fetch_and(&tool.ending, ~bit);
	atomic_fetch_or(&tool.enabled, bit);
}

static void disable(CUpti_ActivityKind kind, uint64_t bit)
{
	atomic_store(&tool.end[kind], stamp_now());
	if (atomic_load(&tool.enabled) & bit)
		atomic_fetch_or(&tool.ending, bit);
	atomic_fetch_and(&tool.enabled, ~bit);
}

/* The drain thread may be inside the tool's callback: then it has a buffer. */
static void request_now(void)
{
	if (!has_tool() || !enter())
		return;
	request_early();
	leave();
}

bool gt_cupti_relay_kind(CUpti_ActivityKind kind, bool enabled)
{
	uint64_t bit = bit_of(kind);

	if (bit && !enabled)
		disable(kind, bit);
	if (!gt_cupti_relay_is_on())
		return false;
	if (bit && enabled) {
		enable(kind, bit);
		request_now();
	}
	return true;
}

/* Unfinished work would be lost to us, too: a forced flush first waits for it. */
static CUptiResult flush_cupti(uint32_t flag)
{
	bool forced = flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;

	gt_cupti_fetch(forced ? GT_CUPTI_UNFINISHED_NS : 0, forced);
	return CUPTI_SUCCESS;
}

/* Asks the drain thread for all that was delivered until now. */
static uint32_t ask(void)
{
	uint64_t order = gt_cupti_buffers_order(), before = atomic_load(&rendezvous.order);

	while (before < order && !atomic_compare_exchange_weak(&rendezvous.order, &before, order))
		continue;
	return atomic_fetch_add(&rendezvous.asked, 1) + 1;
}

static bool is_answered(uint32_t ticket)
{
	return (int32_t)(atomic_load(&rendezvous.answered) - ticket) >= 0;
}

static void await(uint32_t ticket)
{
	uint64_t progress = atomic_load(&rendezvous.progress), since = gt_clock_now();

	while (!is_answered(ticket) && !atomic_load(&tool.closed)) {
		uint32_t seen = atomic_load(&rendezvous.answered);
		uint64_t now = gt_clock_now();

		if (atomic_load(&rendezvous.progress) != progress) {
			progress = atomic_load(&rendezvous.progress);
			since = now;
		}
		if (now >= since + STUCK_NS)
			return;
		if (!is_answered(ticket))
			gt_futex_wait(&rendezvous.answered, seen, PAUSE_NS);
	}
}

bool gt_cupti_relay_flush(uint32_t flag, CUptiResult *ret_result)
{
	uint64_t ending = atomic_load(&tool.ending);

	if (!has_tool() || !gt_cupti_relay_is_on())
		return false;
	*ret_result = CUPTI_SUCCESS;
	if (is_inside) /* its callback on the drain thread, where CUPTI forbids it */
		return true;
	*ret_result = flush_cupti(flag);
	await(ask());
	atomic_fetch_and(&tool.ending, ~ending);
	if (ending && !atomic_load(&tool.enabled)) /* a late record may have taken a new buffer */
		await(ask());
	return true;
}

bool gt_cupti_relay_dropped(size_t *ret_dropped, CUptiResult *ret_result)
{
	if (!has_tool() || !gt_cupti_relay_is_on())
		return false;
	*ret_result = ret_dropped ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
	if (ret_dropped)
		*ret_dropped = atomic_exchange(&tool.dropped, 0);
	return true;
}

void gt_cupti_relay_add_dropped(size_t dropped)
{
	if (atomic_load_explicit(&tool.enabled, memory_order_relaxed))
		atomic_fetch_add(&tool.dropped, dropped);
}

/* Kinds that are on for the tool alone. */
static void disable_own_kinds(uint64_t kinds)
{
	kinds &= ~atomic_load(&gt_cupti.kinds);
	for (uint32_t kind = 0; kind < KINDS && gt_cupti_relay_is_on(); kind++) {
		if (kinds >> kind & 1)
			gt_cupti.api.cuptiActivityDisable((CUpti_ActivityKind)kind);
	}
}

/* The drain thread may be inside the tool's callback and that wait for a lock of the caller's: so
 * not for ever. */
void gt_cupti_relay_forget(void)
{
	uint64_t until = gt_clock_now() + LEAVING_NS;

	gt_cupti_relay_forget_callbacks();
	atomic_store(&tool.requested, NULL);
	atomic_store(&tool.completed, NULL);
	atomic_store(&tool.clock, NULL);
	atomic_store(&tool.ending, 0);
	disable_own_kinds(atomic_exchange(&tool.enabled, 0));
	atomic_fetch_add(&tool.generation, 1);
	while (!is_inside && gt_forkguard_holds() && atomic_load(&rendezvous.inside) &&
	       gt_clock_now() < until)
		gt_futex_wait(&rendezvous.inside, 1, PAUSE_NS);
}

/* ---- our side ---- */

void gt_cupti_relay_restore(void)
{
	uint64_t kinds = atomic_load(&tool.enabled) & ~atomic_load(&gt_cupti.kinds);

	if (!gt_cupti_relay_is_on())
		return;
	gt_cupti_relay_restore_callbacks();
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		if (kinds >> kind & 1)
			gt_cupti.api.cuptiActivityEnable((CUpti_ActivityKind)kind);
	}
}

void gt_cupti_relay_pause(bool paused)
{
	atomic_store(&tool.paused, paused);
}

/* ---- drain thread ---- */

static bool append(const void *record, size_t size)
{
	if (!has_room(size)) {
		hand_back();
		request();
	}
	if (!has_room(size))
		return false;
	memcpy(buffer.data + buffer.used, record, size);
	buffer.used += size;
	buffer.records++;
	return true;
}

void gt_cupti_relay_put(const CUpti_Activity *record, size_t size)
{
	bool entered = enter();

	if (!entered || !append(record, size))
		atomic_fetch_add(&tool.dropped, 1);
	if (entered)
		leave();
}

static void hand_back_now(void)
{
	if (!enter())
		return;
	hand_back();
	if (!atomic_load(&tool.closed))
		request_early();
	leave();
}

void gt_cupti_relay_serve(void)
{
	uint32_t asked = atomic_load(&rendezvous.asked);

	atomic_fetch_add_explicit(&rendezvous.progress, 1, memory_order_relaxed);
	if (asked == atomic_load(&rendezvous.answered) ||
	    gt_cupti_buffers_wait_before(atomic_load(&rendezvous.order)))
		return;
	hand_back_now();
	atomic_store(&rendezvous.answered, asked);
	gt_futex_wake(&rendezvous.answered);
}

void gt_cupti_relay_close(void)
{
	if (!atomic_exchange(&tool.closed, true))
		hand_back_now();
	gt_futex_wake(&rendezvous.answered);
}

/* ---- which records ---- */

/* Where the stamps of a record are; 0: it has none. */
#define TIMES(type)                                                                                \
	{                                                                                          \
		offsetof(type, start), offsetof(type, end)                                         \
	}
static const struct {
	uint16_t start, end;
} times_at[KINDS] = {
	[CUPTI_ACTIVITY_KIND_KERNEL] = TIMES(CUpti_ActivityKernel8),
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = TIMES(CUpti_ActivityKernel8),
	[CUPTI_ACTIVITY_KIND_MEMCPY] = TIMES(CUpti_ActivityMemcpy5),
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = TIMES(CUpti_ActivityMemcpyPtoP4),
	[CUPTI_ACTIVITY_KIND_MEMSET] = TIMES(CUpti_ActivityMemset4),
	[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = TIMES(CUpti_ActivityGraphTrace),
	[CUPTI_ACTIVITY_KIND_DRIVER] = TIMES(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_RUNTIME] = TIMES(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API] = TIMES(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = TIMES(CUpti_ActivityOverhead),
	[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = TIMES(CUpti_ActivitySynchronization),
};

static uint64_t stamp_at(const void *record, uint16_t offset)
{
	uint64_t stamp;

	memcpy(&stamp, (const uint8_t *)record + offset, sizeof(stamp));
	return stamp;
}

/* Work that ended before the kind was enabled, or began long after it was disabled, is not the
 * tool's. */
static bool is_in_time(const void *record, uint32_t kind, bool ending)
{
	uint16_t start = times_at[kind].start, end = times_at[kind].end;

	if (!start || !stamp_at(record, end))
		return true;
	if (stamp_at(record, end) < atomic_load(&tool.begin[kind]))
		return false;
	return !ending || stamp_at(record, start) < atomic_load(&tool.end[kind]) + LATE_NS;
}

/* An external id that a hook of ours pushed. */
static bool is_our_id(const void *record, uint32_t kind)
{
	const CUpti_ActivityExternalCorrelation *id = record;

	return kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION &&
	       id->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;
}

bool gt_cupti_relay_wants(const CUpti_Activity *record, uint64_t order)
{
	uint32_t kind = (uint32_t)record->kind;
	uint64_t bit = bit_of(record->kind);
	bool ending = atomic_load_explicit(&tool.ending, memory_order_relaxed) & bit;

	if (!ending && !(atomic_load_explicit(&tool.enabled, memory_order_relaxed) & bit))
		return false;
	return has_tool() && order >= atomic_load(&tool.first[kind]) && !is_our_id(record, kind) &&
	       is_in_time(record, kind, ending);
}

uint64_t gt_cupti_relay_kinds(void)
{
	uint64_t only = atomic_load_explicit(&tool.only, memory_order_relaxed);

	return only & ~atomic_load_explicit(&gt_cupti.kinds, memory_order_relaxed);
}
