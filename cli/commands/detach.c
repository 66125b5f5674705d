/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace detach: ends what gputrace attach began.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/attach/process.h"
#include "cli/attach/target.h"
#include "cli/attach/turn.h"
#include "cli/attach/wish.h"
#include "cli/cmdline.h"
#include "cli/run/say.h"

#define CLOSE_MS  60000u
#define SOON_MS   3000u
#define TURN_MS   2000u
#define WHY_BYTES 2048

static int fail(pid_t pid, int error)
{
	char why[WHY_BYTES];

	if (error == -ETIMEDOUT)
		gt_say("process %d has not closed its trace within a minute: it does so when CUPTI "
		       "answers",
		       (int)pid);
	else {
		gt_process_explain(pid, error, why, sizeof(why));
		gt_say("%s", why);
	}
	return GT_EXIT_FAILED;
}

static int await_close(pid_t pid, struct gt_attached *attached)
{
	int error = gt_attached_await(pid, attached, SOON_MS);

	if (error != -ETIMEDOUT)
		return error;
	gt_say("process %d: waiting for CUPTI or a disk, %u s more at most; recording has ended",
	       (int)pid, (CLOSE_MS - SOON_MS) / 1000);
	return gt_attached_await(pid, attached, CLOSE_MS - SOON_MS);
}

static int detach(pid_t pid, struct gt_attached *attached)
{
	const struct gt_attach_box *box = &attached->box;
	int error = gt_attached_wish(pid, attached, GT_ATTACH_REST);

	if (!error)
		error = await_close(pid, attached);
	if (error)
		return fail(pid, error);
	if (box->error && box->state != GT_ATTACH_RESTS)
		gt_say("process %d: %s", (int)pid, box->text);
	else if (box->error)
		gt_say("process %d is recorded no longer; closed %s", (int)pid, box->text);
	else if (*box->text)
		gt_say("process %d is recorded no longer; %s is closed", (int)pid, box->text);
	else
		gt_say("process %d is no longer waited for", (int)pid);
	return box->error ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int answer(pid_t pid, const struct gt_maps *maps)
{
	static struct gt_attached attached;
	int error = gt_attached_find(pid, maps, &attached);

	if (error)
		return fail(pid, error);
	if (!attached.is_there) {
		gt_say("process %d was not attached to", (int)pid);
		return GT_EXIT_FAILED;
	}
	if (!attached.address || attached.box.state == GT_ATTACH_PREPARED) {
		gt_say("process %d was started with gputrace: use gputrace stop %d", (int)pid,
		       (int)pid);
		return GT_EXIT_FAILED;
	}
	if (attached.box.state == GT_ATTACH_RESTS || attached.box.state == GT_ATTACH_FAILED) {
		gt_say("process %d is not being recorded", (int)pid);
		return GT_EXIT_OK;
	}
	return detach(pid, &attached);
}

static int detach_from(const struct gt_cmdline *args)
{
	struct gt_maps maps;
	char why[WHY_BYTES];
	pid_t pid;
	int rc = gt_attach_target(args, &pid);

	if (rc)
		return rc;
	gt_attach_turn(pid, TURN_MS); /* a wish that is not answered can be taken back */
	if (!gt_process_inspect(pid, &maps, why, sizeof(why))) {
		gt_say("%s", why);
		return GT_EXIT_FAILED;
	}
	rc = answer(pid, &maps);
	gt_maps_free(&maps);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_detach,
	.details = "Ends the recording that gputrace attach began, and returns when the trace is "
		   "closed. The library stays in the process and does nothing: CUPTI is not "
		   "subscribed to. gputrace attach begins again.",
	.example = "gputrace detach 12345",
	.min_inputs = 1,
	.max_inputs = 1,
	.run = detach_from,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_detach = {
	.name = "detach",
	.arguments = "PID",
	.help = "end what attach began",
	.run = run,
};
