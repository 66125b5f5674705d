/* SPDX-License-Identifier: Apache-2.0
 *
 * The verb that asks for a dump, see pipeline/dump.h.
 */
#include <errno.h>

#include "pipeline/dump.h"
#include "pipeline/pipeline.h"
#include "pipeline/verbs.h"
#include "writers/sink.h"

/* The answer is the path of the file. */
int gt_verb_dump(struct gt_pipeline *p, const struct gt_verb_call *call)
{
	static uint32_t before;
	char number[32], lack[128];
	int error;

	if (!p->outlet.recorder) {
		gt_reply_say(call->reply, "it has no --flight-recorder: there is nothing to dump");
		return -EINVAL;
	}
	if (call->is_first) {
		before = gt_dump_tries();
		gt_dump_ask("gputrace dump");
	}
	if (gt_dump_tries() == before)
		return GT_VERB_GOES_ON;
	if (!*gt_dump_last()) {
		gt_reply_say(call->reply, "no dump can be written into %s (%s): what is kept stays",
			     p->output.folder,
			     gt_sink_reason(p->output.lost.error, number, sizeof(number)));
		return -EIO;
	}
	error = gt_output_lack(p->output.ended.lost, p->output.ended.error, lack, sizeof(lack));
	gt_reply_say(call->reply, "%s%s", gt_dump_last(), lack);
	return error;
}
