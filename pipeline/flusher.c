/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. One flush at a time: the drain thread sets `state` from IDLE to ASKED, the
 * flusher's to OVER, the drain thread takes it back to IDLE.
 */
#include "pipeline/flusher.h"

#include <stdatomic.h>
#include <string.h>

#include "core/guest/background.h"
#include "core/guest/clock.h"
#include "core/guest/futex.h"
#include "core/guest/seccomp.h"
#include "pipeline/sources/collector.h"

#define STACK_BYTES (256u * 1024u) /* CUPTI's, and our callback's */
#define SLEEP_NS    (3600ull * 1000000000ull)

enum flusher_state {
	FLUSHER_IDLE,
	FLUSHER_ASKED,
	FLUSHER_OVER, /* not yet taken */
	FLUSHER_STOPPED,
};

static struct {
	struct gt_collectors *collectors;
	void (*finished)(void);
	_Atomic uint32_t state; /* futex: enum flusher_state */
	uint64_t began;
	bool has_thread;
} flusher;

static void *run(void *argument)
{
	uint32_t state, asked;

	(void)argument;
	gt_background_enter("gputrace-f");
	gt_seccomp_unwatch();
	while ((state = atomic_load(&flusher.state)) != FLUSHER_STOPPED) {
		if (state != FLUSHER_ASKED) {
			gt_futex_wait(&flusher.state, state, SLEEP_NS);
			continue;
		}
		gt_collectors_flush(flusher.collectors, false);
		asked = FLUSHER_ASKED; /* unless it is STOPPED by now */
		atomic_compare_exchange_strong(&flusher.state, &asked, FLUSHER_OVER);
		gt_futex_wake(&flusher.state);
		flusher.finished();
	}
	return NULL;
}

int gt_flusher_start(struct gt_collectors *collectors, void (*finished)(void))
{
	int error;

	memset(&flusher, 0, sizeof(flusher));
	flusher.collectors = collectors;
	flusher.finished = finished;
	error = gt_background_start(run, NULL, STACK_BYTES);
	flusher.has_thread = error == 0;
	return error;
}

void gt_flusher_ask(void)
{
	if (atomic_load(&flusher.state) != FLUSHER_IDLE)
		return;
	flusher.began = gt_clock_now();
	if (!flusher.has_thread) {
		gt_collectors_flush(flusher.collectors, false);
		atomic_store(&flusher.state, FLUSHER_OVER);
		return;
	}
	atomic_store(&flusher.state, FLUSHER_ASKED);
	gt_futex_wake(&flusher.state);
}

bool gt_flusher_is_busy(void)
{
	return atomic_load(&flusher.state) == FLUSHER_ASKED;
}

bool gt_flusher_take(uint64_t *ret_began)
{
	if (atomic_load(&flusher.state) != FLUSHER_OVER)
		return false;
	*ret_began = flusher.began;
	atomic_store(&flusher.state, FLUSHER_IDLE);
	return true;
}

void gt_flusher_await(void)
{
	while (gt_flusher_is_busy())
		gt_futex_wait(&flusher.state, FLUSHER_ASKED, SLEEP_NS);
}

void gt_flusher_stop(void)
{
	atomic_store(&flusher.state, FLUSHER_STOPPED);
	gt_futex_wake(&flusher.state);
	flusher.has_thread = false;
}

uint32_t gt_flusher_threads(void)
{
	return flusher.has_thread;
}
