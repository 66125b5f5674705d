/* SPDX-License-Identifier: Apache-2.0
 *
 * The verb hang: the report of pipeline/hang, in pieces as large as an answer. "text" or "json"
 * begins, "text summary" and "json summary" with core/control/hang_summary.h behind it, "more N"
 * gives the bytes from the Nth on.
 */
#include <errno.h>
#include <string.h>

#include "core/guest/text.h"
#include "core/json/json.h"
#include "pipeline/pipeline.h"
#include "pipeline/verbs.h"

#define MOST_BYTES ((size_t)1 << 20)
#define MORE       "more "

static const struct {
	const char *argument;
	struct gt_hang_form form;
} forms[] = {
	{"text", {.most = MOST_BYTES}},
	{"json", {.as_json = true, .most = MOST_BYTES}},
	{"text summary", {.summary = true, .most = MOST_BYTES}},
	{"json summary", {.as_json = true, .summary = true, .most = MOST_BYTES}},
};

/* The report that is being given. */
static struct gt_json report;

static int refuse(struct gt_reply *reply, const char *why, int error)
{
	reply->length = gt_text_format(reply->text, reply->size, "hang: %s", why);
	return error;
}

/* Kept until all of it is given, or another begins. */
static int give(struct gt_reply *reply, size_t from)
{
	size_t rest = report.length - from;

	reply->length = rest < reply->size ? rest : reply->size - 1;
	memcpy(reply->text, report.text + from, reply->length);
	reply->text[reply->length] = 0;
	if (reply->length == rest)
		gt_json_fini(&report);
	return 0;
}

static int begin(struct gt_pipeline *p, const struct gt_verb_call *call,
		 const struct gt_hang_form *form)
{
	gt_json_fini(&report);
	if (gt_json_init(&report, call->reply->size))
		return refuse(call->reply, "no memory for the report", -ENOMEM);
	gt_hang_print(&p->hang, call->now, form, &report);
	if (!report.failed)
		return give(call->reply, 0);
	gt_json_fini(&report);
	return refuse(call->reply, "no memory for the report", -ENOMEM);
}

static int go_on(struct gt_reply *reply, const char *argument)
{
	const char *end;
	uint64_t from;

	if (gt_text_parse_u64(argument, &end, &from) || *end || !from || from >= report.length)
		return refuse(reply, "there is no more", -EINVAL);
	return give(reply, from);
}

int gt_verb_hang(struct gt_pipeline *p, const struct gt_verb_call *call)
{
	if (!strncmp(call->argument, MORE, strlen(MORE)))
		return go_on(call->reply, call->argument + strlen(MORE));
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (!strcmp(call->argument, forms[i].argument))
			return begin(p, call, &forms[i].form);
	return refuse(call->reply, "text or json", -EINVAL);
}
