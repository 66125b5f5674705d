/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/control/change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/control/boxes.h"
#include "cli/control/talk.h"

#define PATIENCE_MS 10000
#define WHY_BYTES   1024

/* NULL: not among the options. */
static const char *value_of(const char *options, enum gt_option_id id)
{
	size_t length = strlen(gt_options[id].env);

	for (; *options; options += strlen(options) + 1)
		if (!strncmp(options, gt_options[id].env, length) && options[length] == '=')
			return options + length + 1;
	return NULL;
}

/* 0, or what the process answers. */
static int tell(const struct gt_box *box, const char *setting, char *ret_why, size_t size)
{
	struct gt_talk *talk = calloc(1, sizeof(*talk));
	int error = -ENOMEM;

	snprintf(ret_why, size, "no memory");
	if (talk) {
		talk->box = box;
		gt_talk_send(talk, "set", setting, PATIENCE_MS);
		error = gt_talk_await(talk, PATIENCE_MS);
		snprintf(ret_why, size, "%s", talk->text);
	}
	free(talk);
	return error;
}

static const struct gt_box *find_box(const struct gt_boxes *boxes, pid_t pid)
{
	for (size_t i = 0; i < boxes->list.count; i++)
		if (boxes->list.at[i].head.pid == (uint32_t)pid &&
		    boxes->list.at[i].state == GT_BOX_LIVE)
			return &boxes->list.at[i];
	return NULL;
}

static int change(const struct gt_box *box, enum gt_option_id id, const char *value, char *ret_why,
		  size_t size)
{
	char setting[GT_MAILBOX_REQUEST_MAX];

	snprintf(setting, sizeof(setting), "%s=%s", gt_options[id].name,
		 value ? value : gt_options[id].initial);
	if (box)
		return tell(box, setting, ret_why, size);
	snprintf(ret_why, size, "--%s cannot change: the process has no mailbox (--control)",
		 gt_options[id].name);
	return -ENOTCONN;
}

static bool differ(const char *value, const char *old)
{
	return value && old ? strcmp(value, old) != 0 : value || old;
}

/* Those in front of @end are again what they were. */
static void take_back(const struct gt_box *box, int end, const char *now, const char *before)
{
	char ignored[WHY_BYTES];

	for (int id = 0; id < end; id++) {
		const char *old = value_of(before, (enum gt_option_id)id);

		if (id != GT_CONFIG_OUTPUT && differ(value_of(now, (enum gt_option_id)id), old))
			change(box, (enum gt_option_id)id, old, ignored, sizeof(ignored));
	}
}

int gt_change_options(pid_t pid, const char *now, const char *before,
		      void (*stays)(enum gt_option_id id, const char *value), char *ret_why,
		      size_t size)
{
	const char *folder = value_of(before, GT_CONFIG_CONTROL);
	const struct gt_box *box;
	struct gt_boxes boxes;
	int error = 0;

	if (gt_boxes_find(&boxes, folder && *folder == '/' ? folder : NULL)) {
		snprintf(ret_why, size, "no memory");
		return -1;
	}
	box = find_box(&boxes, pid);
	for (int id = 0; id < GT_CONFIG_COUNT_ && !error; id++) {
		const char *value = value_of(now, (enum gt_option_id)id);
		const char *old = value_of(before, (enum gt_option_id)id);

		if (id == GT_CONFIG_OUTPUT || !differ(value, old))
			continue;
		error = change(box, (enum gt_option_id)id, value, ret_why, size);
		if (!value && (error == -EPERM || error == -ERANGE)) {
			stays((enum gt_option_id)id, old);
			error = 0;
		}
		if (error)
			take_back(box, id, now, before);
	}
	gt_boxes_fini(&boxes);
	return error ? -1 : 0;
}
