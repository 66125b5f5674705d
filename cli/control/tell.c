/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/control/tell.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/control/traced.h"
#include "core/guest/sys.h"
#include "readers/show.h"

#define BUSY_MS 30000 /* for other commands that speak to the process */

static void complain(const struct gt_cmdline *args, uint32_t pid, const char *text)
{
	gt_show_line(stderr, "gputrace %s: %u: %s", args->spec->command->name, pid, text);
}

static int print_plainly(const struct gt_talk *talk)
{
	size_t length = strlen(talk->text);

	if (memchr(talk->text, '\n', length) && talk->text[length - 1] == '\n')
		length--;
	gt_show_line(stdout, "%u: %.*s", talk->box->head.pid, (int)length, talk->text);
	return GT_EXIT_OK;
}

static int await(struct gt_talk *talk, const struct gt_tell *tell, int patience_ms)
{
	return tell->is_long ? gt_talk_await_all(talk, tell->verb, patience_ms)
			     : gt_talk_await(talk, patience_ms);
}

int gt_tell_boxes(const struct gt_cmdline *args, struct gt_talk *talks, size_t count,
		  const struct gt_tell *tell)
{
	int64_t timeout_ms = gt_cmdline_time(args, "timeout", 1000000000) / 1000000;
	int patience_ms = tell->patience_ms, busy_ms = BUSY_MS, rc = GT_EXIT_OK;

	if (timeout_ms)
		patience_ms = timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX;
	if (timeout_ms && patience_ms < busy_ms)
		busy_ms = patience_ms;
	for (size_t i = 0; i < count; i++)
		gt_talk_send(&talks[i], tell->verb, tell->argument, busy_ms);
	for (size_t i = 0; i < count; i++) {
		if (await(&talks[i], tell, patience_ms)) {
			complain(args, talks[i].box->head.pid, talks[i].text);
			rc = GT_EXIT_FAILED;
		} else if (tell->print ? tell->print(&talks[i], tell->context)
				       : print_plainly(&talks[i])) {
			rc = GT_EXIT_FAILED;
		}
		free(talks[i].whole);
	}
	return rc;
}

/* ---- which processes ---- */

static bool parse_pid(const char *word, uint32_t *ret_pid)
{
	char *end;
	unsigned long pid = strtoul(word, &end, 10);

	*ret_pid = (uint32_t)pid;
	return *word >= '1' && *word <= '9' && !*end && pid <= INT_MAX;
}

/* Why nobody can speak to the process that has no mailbox here. */
static void explain_missing(const struct gt_cmdline *args, uint32_t pid)
{
	enum gt_traced_place place = GT_TRACED_HERE;
	char path[64], text[256];
	const struct passwd *owner;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (stat(path, &st)) {
		complain(args, pid, "there is no such process");
		return;
	}
	if (st.st_uid != geteuid()) {
		owner = getpwuid(st.st_uid);
		snprintf(text, sizeof(text),
			 "it is a process of user %.64s: only that user can "
			 "control it",
			 owner ? owner->pw_name : "(unknown)");
		complain(args, pid, text);
		return;
	}
	if (!gt_traced_carries_tracer(pid)) {
		complain(args, pid, "it is not traced: start the program with gputrace run");
		return;
	}
	if (!gt_boxes_folder(gt_cmdline_get(args, "control")))
		place = gt_traced_place(pid);
	gt_traced_explain(pid, place, text, sizeof(text));
	complain(args, pid,
		 *text ? text
		       : "its tracer has no mailbox: it has not used CUDA yet, has another "
			 "--control, or its recording is over");
}

static const struct gt_box *find_box(const struct gt_boxes *boxes, uint32_t pid)
{
	const struct gt_box *found = NULL;

	for (size_t i = 0; i < boxes->list.count; i++) {
		const struct gt_box *box = &boxes->list.at[i];

		/* better one that can be used than one that only has its number */
		if (box->head.pid == pid && (!found || box->state < found->state))
			found = box;
	}
	return found;
}

/* A process that is named twice is meant once. */
static bool is_chosen(const struct gt_talk *talks, size_t count, const struct gt_box *box)
{
	for (size_t i = 0; i < count; i++)
		if (talks[i].box == box)
			return true;
	return false;
}

/* Makes a conversation for each process that is named. False: some cannot be spoken to. */
static bool choose(const struct gt_cmdline *args, size_t skip, const struct gt_boxes *boxes,
		   struct gt_talk *talks, size_t *ret_count)
{
	size_t count = 0;
	bool all = true;

	for (size_t i = skip; i < args->input_count; i++) {
		const struct gt_box *box;
		uint32_t pid;

		if (!parse_pid(args->inputs[i], &pid))
			continue;
		box = find_box(boxes, pid);
		if (!box)
			explain_missing(args, pid);
		else if (!is_chosen(talks, count, box))
			talks[count++].box = box;
		all &= box != NULL;
	}
	*ret_count = count;
	return all;
}

/* A container's processes, and files that are none, have not been meant. */
static size_t choose_all(const struct gt_boxes *boxes, struct gt_talk *talks)
{
	size_t count = 0;

	for (size_t i = 0; i < boxes->list.count; i++)
		if (boxes->list.at[i].state <= GT_BOX_STOPPED)
			talks[count++].box = &boxes->list.at[i];
	return count;
}

static int check_words(const struct gt_cmdline *args, size_t skip, bool *ret_all)
{
	uint32_t pid;

	*ret_all = args->input_count == skip + 1 && !strcmp(args->inputs[skip], "all");
	for (size_t i = skip; i < args->input_count && !*ret_all; i++)
		if (!parse_pid(args->inputs[i], &pid))
			return gt_cmdline_wrong(args, "'%s' is no process id; see gputrace ps",
						args->inputs[i]);
	return GT_EXIT_OK;
}

int gt_tell(const struct gt_cmdline *args, size_t skip, const struct gt_tell *tell)
{
	struct gt_talk *talks = NULL;
	struct gt_boxes boxes;
	size_t count = 0;
	bool all, found = true;
	int rc = check_words(args, skip, &all);

	if (rc)
		return rc;
	if (!gt_boxes_find(&boxes, gt_boxes_folder(gt_cmdline_get(args, "control"))))
		talks = calloc(boxes.list.count + args->input_count + 1, sizeof(*talks));
	if (talks && all)
		count = choose_all(&boxes, talks);
	else if (talks)
		found = choose(args, skip, &boxes, talks, &count);
	if (all && !count) {
		gt_show_line(stderr, "gputrace %s: there is no traced process of this user",
			     args->spec->command->name);
		found = false;
	}
	rc = gt_tell_boxes(args, talks, count, tell);
	free(talks);
	gt_boxes_fini(&boxes);
	return found ? rc : GT_EXIT_FAILED;
}
