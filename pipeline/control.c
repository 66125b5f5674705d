/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/control.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/config.h"
#include "core/control/mailbox.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/identity.h"
#include "core/schema/metadata.h"
#include "pipeline/verbs.h"

#define MS_NS   1000000ull
#define LOOK_NS (10 * MS_NS)
#define RATE_NS (1000 * MS_NS)

static struct {
	_Atomic bool is_on; /* there is a mailbox */
	bool is_deaf;       /* a request does not end a wait */
	uint64_t next_look, next_rate;
	uint64_t counted, kernels; /* when, how many */
	double per_second;
	struct gt_mailbox_request request;
	gt_verb_fn verb; /* of the request that is being answered, NULL: none */
	const char *argument;
	uint64_t began; /* 0: not yet */
	_Atomic bool has_request;
	char text[GT_MAILBOX_ANSWER_MAX];
	struct gt_reply reply;
} control;

/* As --spool=auto: a killed process leaves its mailbox, which gputrace run removes. */
static const char *find_place(const struct gt_config *config)
{
	const char *where = gt_config_text(config, GT_CONFIG_CONTROL);

	if (strcmp(where, "auto") != 0)
		return where;
	return gt_identity_env("GPUTRACE_RUN") ? "on" : "off";
}

void gt_control_start(const struct gt_config *config, const struct gt_metadata *metadata)
{
	struct gt_mailbox_options options = {
		.where = find_place(config),
		.runtime = gt_identity_env("XDG_RUNTIME_DIR"),
		.head = {.rank = metadata->has_rank ? metadata->rank : -1,
			 .started = metadata->start / MS_NS},
	};
	char why[512];

	memset(&control, 0, sizeof(control));
	gt_text_format(options.head.host, sizeof(options.head.host), "%s", metadata->host);
	gt_text_format(options.head.process, sizeof(options.head.process), "%s", metadata->process);
	gt_text_format(options.head.run, sizeof(options.head.run), "%s", metadata->run);
	if (!gt_mailbox_make(&options, why, sizeof(why)))
		atomic_store(&control.is_on, true);
	else if (!strcmp(gt_config_text(config, GT_CONFIG_CONTROL), "auto"))
		gt_log_verbose("nobody can control this process: %s", why);
	else if (strcmp(options.where, "off") != 0)
		gt_log_say("--control: nobody can control this process: %s", why);
}

bool gt_control_is_on(void)
{
	return atomic_load(&control.is_on);
}

static void look(uint64_t now)
{
	if (control.has_request || now < control.next_look)
		return;
	control.next_look = now + LOOK_NS;
	control.has_request = gt_mailbox_take(&control.request);
}

bool gt_control_is_busy(void)
{
	return control.has_request;
}

bool gt_control_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	enum gt_mailbox_wait woken;

	if (control.is_deaf || !atomic_load(&control.is_on))
		return false;
	woken = gt_mailbox_wait(word, value, timeout_ns);
	control.is_deaf = woken == GT_MAILBOX_UNKNOWN;
	if (woken == GT_MAILBOX_REQUEST)
		control.next_look = 0;
	return !control.is_deaf;
}

bool gt_control_is_deaf(void)
{
	return control.is_deaf && atomic_load(&control.is_on);
}

static void measure(const struct gt_pipeline *p, uint64_t now)
{
	uint64_t kernels = gt_verb_kernels(p);

	if (now < control.next_rate)
		return;
	if (control.counted)
		control.per_second =
			(double)(kernels - control.kernels) * 1e9 / (double)(now - control.counted);
	control.counted = now;
	control.kernels = kernels;
	control.next_rate = now + RATE_NS;
}

static void answer(int status)
{
	gt_mailbox_answer(control.request.number, status, control.text, control.reply.length);
	control.has_request = false;
	control.began = 0;
}

static void begin_answer(uint64_t now)
{
	control.began = now;
	control.reply = (struct gt_reply){control.text, sizeof(control.text), 0};
	*control.text = 0;
	control.verb = gt_verb_find(control.request.text, &control.argument, &control.reply);
}

void gt_control_turn(struct gt_pipeline *p, uint64_t now)
{
	bool is_first = !control.began;
	int status;

	if (!atomic_load(&control.is_on))
		return;
	measure(p, now);
	look(now);
	if (!control.has_request)
		return;
	if (is_first)
		begin_answer(now);
	status = control.verb ? control.verb(p, &(struct gt_verb_call){.argument = control.argument,
								       .is_first = is_first,
								       .now = now,
								       .began = control.began,
								       .kernels_per_second =
									       control.per_second,
								       .reply = &control.reply})
			      : -EINVAL;
	if (status != GT_VERB_GOES_ON)
		answer(status);
}

void gt_control_end(void)
{
	if (!atomic_exchange(&control.is_on, false))
		return;
	if (control.has_request) {
		control.reply = (struct gt_reply){control.text, sizeof(control.text), 0};
		gt_reply_say(&control.reply, "the process has ended, or its recording");
		answer(-ESHUTDOWN);
	}
	gt_mailbox_remove();
}
