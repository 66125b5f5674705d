/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows by command: start, stop, flush. The drain thread begins and ends them with its next step
 * (pipeline/window.h); the verb waits for that.
 */
#include <errno.h>

#include "core/guest/text.h"
#include "pipeline/flusher.h"
#include "pipeline/output/output.h"
#include "pipeline/pipeline.h"
#include "pipeline/turn.h"
#include "pipeline/verbs.h"
#include "writers/sink.h"

#define MS_NS       1000000u
#define PATIENCE_NS (2000ull * MS_NS) /* for a flush of CUPTI's that another one must wait for */
#define FLUSH_NS    (5000ull * MS_NS) /* for the one that the request has begun */

/* Of the request that is being answered. */
static struct {
	bool is_asked;
	bool has_failed;  /* there is no file */
	uint64_t flushes; /* once this many have ended, it is done */
	char file[1024];
} request;

static void begin_request(void)
{
	request.is_asked = request.has_failed = false;
	request.flushes = 0;
	gt_text_format(request.file, sizeof(request.file), "%s", gt_output_name());
}

static int refuse_flush(const struct gt_verb_call *call)
{
	gt_reply_say(call->reply, "CUPTI's flush has not returned for %lu ms: it may hang",
		     (unsigned long)(gt_flusher_busy_ns(call->now) / MS_NS));
	return -EBUSY;
}

int gt_verb_await_flush(const struct gt_verb_call *call)
{
	if (!gt_flusher_is_busy())
		return 0;
	return call->now - call->began < PATIENCE_NS ? GT_VERB_GOES_ON : refuse_flush(call);
}

/* 0: the request goes to the window now, or has. */
static int ask(struct gt_pipeline *p, const struct gt_verb_call *call, enum gt_window_request what)
{
	int rc = request.is_asked ? 0 : gt_verb_await_flush(call);

	if (rc || request.is_asked)
		return rc;
	request.is_asked = true;
	gt_turn_window_ask(p, what);
	return 0;
}

static int refuse_ranges(const struct gt_verb_call *call)
{
	gt_reply_say(call->reply, "its windows are the ranges of --capture-range and --schedule: "
				  "they begin and end with these");
	return -EPERM;
}

static int refuse_attached(const struct gt_verb_call *call)
{
	gt_reply_say(call->reply, "it was attached to: gputrace attach and gputrace detach begin "
				  "and end its windows");
	return -EPERM;
}

/* What is recorded meanwhile is counted in the next trace. */
static int refuse_unwritten(const struct gt_pipeline *p, const struct gt_verb_call *call)
{
	char why[GT_OUTPUT_WHERE_BYTES];

	gt_output_refusal(&p->output, why, sizeof(why));
	gt_reply_say(call->reply, "%s: what it records is lost", why);
	return p->output.lost.error ? p->output.lost.error : -EIO;
}

int gt_verb_start(struct gt_pipeline *p, const struct gt_verb_call *call)
{
	char where[GT_OUTPUT_WHERE_BYTES];
	int rc;

	if (call->is_first) {
		begin_request();
		if (p->window.is_attached)
			return refuse_attached(call);
		if (gt_window_is_of_ranges())
			return refuse_ranges(call);
		if (!gt_window_waits(&p->window) && !p->window.ended) {
			if (p->output.failed)
				return refuse_unwritten(p, call);
			gt_reply_say(call->reply, "is being recorded already");
			return 0;
		}
	}
	rc = ask(p, call, GT_WINDOW_ASKED_BEGIN);
	if (rc)
		return rc;
	if (gt_window_waits(&p->window))
		return GT_VERB_GOES_ON;
	if (p->output.failed)
		return refuse_unwritten(p, call);
	gt_output_where(&p->output, where, sizeof(where));
	gt_reply_say(call->reply, "recording%s%s", *where ? " into " : "", where);
	return 0;
}

static bool is_pipe(const struct gt_pipeline *p)
{
	return p->output.sink && !gt_sink_can_patch(p->output.sink);
}

static int say_closed(const struct gt_pipeline *p, struct gt_reply *reply)
{
	const struct gt_output_end *ended = &p->output.ended;
	const uint64_t *count = p->closed.count;
	bool is_empty = !count[GT_LEDGER_CALLS_WRITTEN] && !count[GT_LEDGER_KERNELS_WRITTEN] &&
			!count[GT_LEDGER_MEMCPYS_WRITTEN] && !count[GT_LEDGER_MEMSETS_WRITTEN];
	uint64_t untimed = count[GT_LEDGER_KERNELS_UNTIMED] + count[GT_LEDGER_MEMCPYS_UNTIMED] +
			   count[GT_LEDGER_MEMSETS_UNTIMED] + count[GT_LEDGER_GRAPHS_UNTIMED];
	char lack[128], more[64] = "";
	int error = gt_output_lack(ended->lost, ended->error, lack, sizeof(lack));

	if (!*request.file) {
		gt_reply_say(reply, "stopped: there was nothing to write");
		return 0;
	}
	if (untimed)
		gt_text_format(more, sizeof(more), ": %lu operation%s not done, and without times",
			       (unsigned long)untimed, untimed == 1 ? " was" : "s were");
	gt_reply_say(reply, "closed %s%s%s%s", *ended->path ? ended->path : request.file, lack,
		     is_empty && !error ? ": there was no CUDA call in this window" : "", more);
	return error;
}

int gt_verb_stop(struct gt_pipeline *p, const struct gt_verb_call *call)
{
	int rc;

	if (call->is_first) {
		begin_request();
		if (p->window.is_attached)
			return refuse_attached(call);
		if (gt_window_is_of_ranges())
			return refuse_ranges(call);
		if (gt_window_waits(&p->window)) {
			gt_reply_say(call->reply, "is not being recorded");
			return 0;
		}
		if (p->outlet.recorder) {
			gt_reply_say(call->reply, "its --flight-recorder has no window: gputrace "
						  "dump writes what it has kept");
			return -EPERM;
		}
		if (is_pipe(p)) {
			gt_reply_say(call->reply,
				     "its trace goes into a pipe, which holds one: it ends with "
				     "the program");
			return -ENOTSUP;
		}
	}
	if (*gt_output_name()) /* it may have changed to the next file meanwhile */
		gt_text_format(request.file, sizeof(request.file), "%s", gt_output_name());
	request.has_failed |= p->output.failed;
	rc = ask(p, call, GT_WINDOW_ASKED_END);
	if (rc)
		return rc;
	if (!gt_window_waits(&p->window))
		return call->now - call->began < FLUSH_NS ? GT_VERB_GOES_ON : refuse_flush(call);
	if (request.has_failed)
		return refuse_unwritten(p, call);
	return say_closed(p, call->reply);
}

static int say_written(const struct gt_pipeline *p, struct gt_reply *reply)
{
	const struct gt_losses *lost = gt_output_lost(&p->output);
	char lack[128];

	if (!*gt_output_name()) {
		gt_reply_say(reply, "there was nothing to write");
		return 0;
	}
	gt_output_lack(lost->disk - p->output.earlier.disk, lost->error, lack, sizeof(lack));
	gt_reply_say(reply, "written into %s%s", gt_output_name(), lack);
	return *lack ? lost->error : 0;
}

int gt_verb_flush(struct gt_pipeline *p, const struct gt_verb_call *call)
{
	if (call->is_first) {
		begin_request();
		if (gt_window_waits(&p->window)) {
			gt_reply_say(call->reply, "is not being recorded");
			return 0;
		}
		request.flushes = gt_turn_flush_soon(p, gt_flusher_is_busy());
	}
	if (gt_turn_flushes(p) < request.flushes) {
		if (call->now - call->began < FLUSH_NS)
			return GT_VERB_GOES_ON;
		return refuse_flush(call);
	}
	gt_turn_write(p, false);
	if (p->output.failed)
		return refuse_unwritten(p, call);
	return say_written(p, call->reply);
}
