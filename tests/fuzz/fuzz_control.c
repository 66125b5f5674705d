/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies in a mailbox. The first byte says for whom: a request for the process, a file or an
 * answer for a command.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/control/boxes.h"
#include "cli/control/talk.h"
#include "core/control/mailbox.h"
#include "pipeline/verbs.h"
#include "tests/fuzz/fuzz.h"

static int mailbox = -1;

static void remove_mailbox(void)
{
	gt_mailbox_remove();
}

static void make_mailbox(void)
{
	struct gt_mailbox_options options = {.where = "/dev/shm"};
	char why[256];

	if (mailbox >= 0 || gt_mailbox_make(&options, why, sizeof(why)))
		return;
	mailbox = open(gt_mailbox_path(), O_RDWR | O_CLOEXEC);
	atexit(remove_mailbox);
}

/* As the drain thread does, but nothing is done. */
static void read_request(const uint8_t *data, size_t size)
{
	struct gt_mailbox_request request;
	char text[GT_MAILBOX_ANSWER_MAX];
	struct gt_reply reply = {text, sizeof(text), 0};
	const char *argument;
	gt_verb_fn verb;

	if (pwrite(mailbox, data, size, offsetof(struct gt_mailbox, request)) != (ssize_t)size ||
	    !gt_mailbox_take(&request))
		return;
	if (memchr(request.text, 0, sizeof(request.text)) == NULL)
		abort();
	verb = gt_verb_find(request.text, &argument, &reply);
	if (argument < request.text || argument > request.text + strlen(request.text) ||
	    (verb != NULL) == (reply.length != 0))
		abort();
	gt_mailbox_answer(request.number, verb ? 0 : -1, reply.text, reply.length);
}

static void read_answer(const uint8_t *data, size_t size)
{
	static const char *const keys[] = {"state", "kernels_per_second", "memory", "file"};
	char *text = malloc(size + 1), value[64];

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (gt_talk_value(text, keys[i], value, sizeof(value)) && strchr(value, '\n'))
			abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_mailbox_head head;

	make_mailbox();
	if (!size)
		return 0;
	if (data[0] == 'r' && mailbox >= 0 && size - 1 <= sizeof(struct gt_mailbox_request))
		read_request(data + 1, size - 1);
	else if (data[0] == 'a')
		read_answer(data + 1, size - 1);
	else if (!gt_box_read_head(data + 1, size - 1, &head) &&
		 (strlen(head.process) >= sizeof(head.process) || head.pid == 0))
		abort();
	return 0;
}
