/* SPDX-License-Identifier: Apache-2.0
 *
 * The verb hang: the report of pipeline/hang.
 */
#include <errno.h>
#include <string.h>

#include "core/guest/text.h"
#include "core/json/json.h"
#include "pipeline/pipeline.h"
#include "pipeline/verbs.h"

static int refuse(struct gt_reply *reply, const char *why, int error)
{
	reply->length = gt_text_format(reply->text, reply->size, "hang: %s", why);
	return error;
}

int gt_verb_hang(struct gt_pipeline *p, const struct gt_verb_call *call)
{
	bool as_json = !strcmp(call->argument, "json");
	struct gt_reply *reply = call->reply;
	struct gt_json text;

	if (!as_json && strcmp(call->argument, "text") != 0)
		return refuse(reply, "text or json", -EINVAL);
	if (gt_json_init(&text, reply->size))
		return refuse(reply, "no memory for the report", -ENOMEM);
	gt_hang_print(&p->hang, call->now, as_json, reply->size - 1, &text);
	reply->length = text.length < reply->size ? text.length : reply->size - 1;
	memcpy(reply->text, text.text, reply->length);
	reply->text[reply->length] = 0;
	gt_json_fini(&text);
	return 0;
}
