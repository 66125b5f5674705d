/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header: the table, and the verbs that only look.
 */
#include "pipeline/verbs.h"

#include <string.h>

#include "core/guest/memory.h"
#include "pipeline/flusher.h"
#include "pipeline/output/output.h"
#include "pipeline/pipeline.h"

#define MS_NS 1000000u

enum argument { NONE, SOME };

static const struct {
	const char *name;
	enum argument argument;
	gt_verb_fn run;
} verbs[] = {
#define GT_VERB(name, argument) {#name, argument, gt_verb_##name},
#include "pipeline/verbs.def"
#undef GT_VERB
};

gt_verb_fn gt_verb_find(const char *text, const char **ret_argument, struct gt_reply *reply)
{
	size_t length = strcspn(text, " ");
	const char *argument = text + length + (text[length] == ' ');

	*ret_argument = argument;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strlen(verbs[i].name) != length || memcmp(verbs[i].name, text, length) != 0)
			continue;
		if ((*argument != 0) == (verbs[i].argument == SOME))
			return verbs[i].run;
		gt_reply_say(reply, "'%s' takes %s argument", verbs[i].name,
			     verbs[i].argument == SOME ? "an" : "no");
		return NULL;
	}
	gt_reply_say(reply, "the tracer in the process, gputrace %s, does not know this request",
		     GT_VERSION);
	return NULL;
}

uint64_t gt_verb_kernels(const struct gt_pipeline *p)
{
	const uint64_t *count = p->ledger.count;

	return p->gpu.has_cupti ? count[GT_LEDGER_RECORDS_KERNEL] : count[GT_LEDGER_LAUNCHES_SEEN];
}

static const char *state_of(const struct gt_pipeline *p)
{
	if (gt_window_waits(&p->window))
		return p->window.is_warm ? "warming up" : "waiting";
	return p->window.ended ? "closing" : "recording";
}

/* Lines of "key value". A key may come more often, or not at all; commands skip what they do not
 * know. */
int gt_verb_status(struct gt_pipeline *p, const struct gt_verb_call *call)
{
	struct gt_memory_counts memory = gt_memory_count();
	uint64_t flush = gt_flusher_busy_ns(call->now);

	gt_reply_say(call->reply, "version %s\nstate %s\nmode %s\n", GT_VERSION, state_of(p),
		     p->metadata.mode ? p->metadata.mode : "");
	gt_reply_say(call->reply, "kernels %lu\nkernels_per_second %lu\n",
		     (unsigned long)gt_verb_kernels(p),
		     (unsigned long)(call->kernels_per_second + 0.5));
	gt_reply_say(call->reply, "memory %lu\nmemory_peak %lu\n", (unsigned long)memory.now,
		     (unsigned long)memory.peak);
	gt_reply_say(call->reply, "folder %s\nfile %s\n", p->output.folder, gt_output_name());
	if (*p->metadata.window)
		gt_reply_say(call->reply, "window %s\n", p->metadata.window);
	if (*p->metadata.options)
		gt_reply_say(call->reply, "options %s\n", p->metadata.options);
	if (flush)
		gt_reply_say(call->reply, "flush_ms %lu\n", (unsigned long)(flush / MS_NS));
	return 0;
}
