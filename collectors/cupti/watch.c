/* SPDX-License-Identifier: Apache-2.0
 *
 * The watch over CUPTI, see the header. How each hold is left:
 *
 *   REFUSED, YIELDED, DETACHED   subscribe again, at growing intervals and whenever another tool
 *                                was seen to act; CUPTI refuses while that tool is subscribed
 *   BUFFERS_TAKEN                register again when the other tool was seen to be done; if it
 *                                cannot be seen, it is assumed so after PATIENCE_NS, but with
 *                                --coexist=yield
 *   KINDS_OFF                    enable again, at once
 *   SHARED                       subscribe again; until then GPU work is recorded, and the hooks
 *                                record the calls
 *   FAILED                       never
 *
 * SHARED: another tool is subscribed but was seen not to collect, so only the buffers are ours.
 */
#include "collectors/cupti/watch.h"

#include <errno.h>
#include <string.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/foreign.h"
#include "collectors/cupti/internal.h"
#include "collectors/cupti/relay.h"
#include "collectors/cupti/whole_graphs.h"

#define SECOND_NS        1000000000ull
#define FIRST_PAUSE      (1 * SECOND_NS)
#define LONGEST_PAUSE    (16 * SECOND_NS)
#define PATIENCE_NS      (10 * SECOND_NS)

/* Consecutive polls with unrecorded work before CUPTI is tested; between any two there is a
 * flush. */
#define UNANSWERED_POLLS 2u

static const char *const texts[GT_CUPTI_HOLD_COUNT_] = {
	[GT_CUPTI_OURS] = "CUPTI is attached",
	[GT_CUPTI_SHARED] =
		"another tool is subscribed to CUPTI; gputrace has the activity buffers",
	[GT_CUPTI_REFUSED] = "another tool had subscribed to CUPTI first",
	[GT_CUPTI_YIELDED] = "CUPTI was yielded to another tool (--coexist=yield)",
	[GT_CUPTI_BUFFERS_TAKEN] = "another tool took CUPTI's activity buffers",
	[GT_CUPTI_KINDS_OFF] = "another tool disabled activity kinds",
	[GT_CUPTI_DETACHED] = "another tool detached CUPTI (cuptiFinalize), or CUPTI failed",
	[GT_CUPTI_FAILED] = "CUPTI reported a fatal error",
};

const char *gt_cupti_hold_text(enum gt_cupti_hold hold)
{
	return texts[hold];
}

bool gt_cupti_watch_start(struct gt_cupti_watch *watch, const struct gt_config *config,
			  struct gt_cupti_status *status, int started, uint64_t now)
{
	struct gt_cupti_foreign others = gt_cupti_foreign_get();

	*watch = (struct gt_cupti_watch){
		.config = config,
		.status = status,
		.hold = started == 0 ? GT_CUPTI_OURS : GT_CUPTI_REFUSED,
		.reason = GT_CUPTI_REFUSED,
		.since = now,
		.gaps = started != 0,
		.pause = FIRST_PAUSE,
		.next_try = now + FIRST_PAUSE,
		.changes = others.changes,
		.disabled = others.disabled,
	};
	return started == 0 || started == -EBUSY;
}

bool gt_cupti_watch_has_calls(const struct gt_cupti_watch *watch)
{
	return watch->hold != GT_CUPTI_FAILED && atomic_load(&gt_cupti.subscribed);
}

bool gt_cupti_watch_has_records(const struct gt_cupti_watch *watch)
{
	return watch->hold == GT_CUPTI_OURS || watch->hold == GT_CUPTI_SHARED;
}

static void lose(struct gt_cupti_watch *watch, enum gt_cupti_hold hold, uint64_t now)
{
	watch->gaps += gt_cupti_watch_has_records(watch);
	watch->hold = watch->reason = hold;
	watch->since = now;
	watch->unseen = false;
	watch->pause = FIRST_PAUSE;
	watch->next_try = now + FIRST_PAUSE;
}

/* No tool was seen to do it: flushes continue, and a record that still arrives proves us wrong. */
static void lose_to_unknown(struct gt_cupti_watch *watch, uint64_t now)
{
	lose(watch, GT_CUPTI_BUFFERS_TAKEN, now);
	watch->unseen = true;
}

static void find_again(struct gt_cupti_watch *watch)
{
	watch->hold = gt_cupti_watch_has_calls(watch) ? GT_CUPTI_OURS : GT_CUPTI_SHARED;
	watch->unseen = false;
	watch->unanswered = 0;
}

/* Makes CUPTI write a record that needs no GPU work. True: it came to us, so the callbacks are
 * ours. */
static bool buffers_are_ours(void)
{
	uint64_t completed = gt_cupti_buffers_count().completed;

	if (!gt_cupti.api.cuptiActivityEnableAndDump)
		return false;
	gt_cupti.api.cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE);
	gt_cupti_flush(false);
	return gt_cupti_buffers_count().completed != completed;
}

/* No callback since the last poll: the program is idle, or callbacks no longer come. */
static bool is_detached(struct gt_cupti_watch *watch, const struct gt_cupti_signs *signs)
{
	bool quiet = signs->calls == watch->calls;

	watch->calls = signs->calls;
	return quiet && !gt_cupti_is_subscribed();
}

static void check_subscription(struct gt_cupti_watch *watch, const struct gt_cupti_signs *signs)
{
	if (watch->hold == GT_CUPTI_OURS && !atomic_load(&gt_cupti.subscribed))
		lose(watch, GT_CUPTI_YIELDED, signs->now);
	if (gt_cupti_watch_has_calls(watch) && is_detached(watch, signs)) {
		atomic_store(&gt_cupti.subscribed, false);
		atomic_store(&gt_cupti.away, true);
		gt_cupti_graphs_lost();
		gt_cupti_relay_clock(NULL);
		lose(watch, GT_CUPTI_DETACHED, signs->now);
	}
}

/* GPU work was waited for and flushed, and no record came. Reported once: if CUPTI has other
 * reasons to drop records, each poll would add a gap. */
static bool records_are_missing(struct gt_cupti_watch *watch, const struct gt_cupti_signs *signs)
{
	uint64_t requested = gt_cupti_buffers_count().requested;
	bool requested_us =
		requested !=
		watch->requested; /* CUPTI requested buffers from us: the callbacks are ours */

	watch->requested = requested;
	watch->unanswered = signs->unanswered && !requested_us ? watch->unanswered + 1 : 0;
	if (signs->records != watch->records)
		watch->doubted = false;
	watch->records = signs->records;
	if (watch->unanswered < UNANSWERED_POLLS || watch->doubted)
		return false;
	watch->doubted = true;
	return true;
}

static void check_records(struct gt_cupti_watch *watch, const struct gt_cupti_signs *signs,
			  const struct gt_cupti_foreign *others)
{
	bool came = signs->records != watch->records;
	bool missing = records_are_missing(watch, signs);
	bool disabled = others->disabled != watch->disabled;

	watch->disabled = others->disabled;
	if (watch->unseen && came)
		find_again(watch);
	if (!gt_cupti_watch_has_records(watch))
		return;
	if (others->collects)
		lose(watch, GT_CUPTI_BUFFERS_TAKEN, signs->now);
	else if (disabled)
		lose(watch, GT_CUPTI_KINDS_OFF, signs->now);
	else if (missing && buffers_are_ours())
		lose(watch, GT_CUPTI_KINDS_OFF, signs->now);
	else if (missing)
		lose_to_unknown(watch, signs->now);
}

/* CUPTI cannot be asked whether the other tool still collects: see the head of the file. */
static bool other_is_done(const struct gt_cupti_watch *watch, uint64_t now,
			  const struct gt_cupti_foreign *others)
{
	bool yields = !strcmp(gt_config_text(watch->config, GT_CONFIG_COEXIST), "yield");

	if (!watch->unseen && !others->collects)
		return true;
	return !yields && !others->has_kinds && now >= watch->since + PATIENCE_NS;
}

static bool subscription_is_due(struct gt_cupti_watch *watch, uint64_t now,
				const struct gt_cupti_foreign *others)
{
	bool something_happened = others->changes != watch->changes;

	watch->changes = others->changes;
	return !others->collects && (something_happened || now >= watch->next_try);
}

static void subscribe_again(struct gt_cupti_watch *watch, uint64_t now)
{
	if (gt_cupti_attach(watch->status) == 0) {
		watch->hold = GT_CUPTI_OURS;
		return;
	}
	watch->next_try = now + watch->pause;
	if (watch->pause < LONGEST_PAUSE)
		watch->pause *= 2;
}

/* Whether the buffers are available now, with or without the subscription. */
static bool buffers_are_free(const struct gt_cupti_watch *watch, uint64_t now,
			     const struct gt_cupti_foreign *others)
{
	if (watch->hold == GT_CUPTI_KINDS_OFF)
		return true;
	if (watch->hold == GT_CUPTI_BUFFERS_TAKEN)
		return other_is_done(watch, now, others);
	return !gt_cupti_watch_has_records(watch) && others->subscribed && !others->collects;
}

static void attach_buffers(struct gt_cupti_watch *watch)
{
	bool has_calls = gt_cupti_watch_has_calls(watch);

	if (gt_cupti_attach_buffers(watch->status))
		return;
	gt_cupti_share(!has_calls);
	watch->hold = has_calls ? GT_CUPTI_OURS : GT_CUPTI_SHARED;
}

/* What others do is seen again: one may have begun to collect meanwhile. */
static void take_back(struct gt_cupti_watch *watch, uint64_t now)
{
	bool held = gt_cupti_foreign_hold();
	struct gt_cupti_foreign others = gt_cupti_foreign_get();

	if (!gt_cupti_watch_has_calls(watch) && subscription_is_due(watch, now, &others))
		subscribe_again(watch, now);
	if (watch->hold != GT_CUPTI_OURS && buffers_are_free(watch, now, &others))
		attach_buffers(watch);
	gt_cupti_foreign_let_go(held);
}

static void recover(struct gt_cupti_watch *watch, uint64_t now,
		    const struct gt_cupti_foreign *others)
{
	take_back(watch, now);
	if (!gt_cupti_watch_has_records(watch))
		return;
	watch->since = now;
	watch->unanswered = 0;
	watch->disabled = others->disabled;
}

bool gt_cupti_watch_poll_failure(struct gt_cupti_watch *watch, uint64_t now)
{
	if (watch->hold == GT_CUPTI_FAILED || !atomic_load(&gt_cupti.dead))
		return false;
	lose(watch, GT_CUPTI_FAILED, now);
	return true;
}

void gt_cupti_watch_poll(struct gt_cupti_watch *watch, const struct gt_cupti_signs *signs)
{
	struct gt_cupti_foreign others = gt_cupti_foreign_get();

	gt_cupti_watch_poll_failure(watch, signs->now);
	if (watch->hold == GT_CUPTI_FAILED)
		return;
	check_subscription(watch, signs);
	check_records(watch, signs, &others);
	if (watch->hold != GT_CUPTI_OURS)
		recover(watch, signs->now, &others);
}
