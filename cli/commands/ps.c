/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace ps: the traced processes of this user.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/control/tell.h"
#include "cli/control/traced.h"
#include "core/guest/descriptor.h"

#define PATIENCE_MS 5000
#define BUSY_MS     2000

static const struct gt_cmdline_option options[] = {
	GT_CMDLINE_FORMAT_OPTION,
	GT_TELL_OPTIONS,
	{NULL, NULL, NULL, NULL},
};

static const struct gt_column columns[] = {
	{"pid", "PID", "pid", GT_COLUMN_COUNT},
	{"rank", "Rank", "rank", GT_COLUMN_COUNT},
	{"host", "Host", "host", GT_COLUMN_TEXT},
	{"state", "State", "state", GT_COLUMN_TEXT},
	{"rate", "Kernels/s", "kernels/s", GT_COLUMN_COUNT},
	{"memory", "Memory (MB)", "memory", GT_COLUMN_BYTES},
	{"command", "Command", "command", GT_COLUMN_TEXT},
	{"file", "File", "file", GT_COLUMN_TEXT},
};

/* Where it cannot be asked. */
static const char *const states[] = {
	[GT_BOX_LIVE] = "no answer",
	[GT_BOX_STOPPED] = "stopped",
	[GT_BOX_ELSEWHERE] = "other pid namespace",
	[GT_BOX_STRANGE] = "other version",
	[GT_BOX_SQUATTED] = "no mailbox",
};

/* The arguments of a process of this pid namespace, else the name that it gave. */
static void add_command(struct gt_table *table, const struct gt_box *box)
{
	char path[64], text[512];
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", box->head.pid);
	if (box->state <= GT_BOX_STOPPED)
		n = gt_descriptor_read_file(path, text, sizeof(text) - 1);
	while (n && !text[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	text[n] = 0;
	gt_table_text(table, n ? text : box->head.process);
}

static void add_value(struct gt_table *table, const struct gt_talk *talk, const char *key)
{
	char value[64];

	if (!talk->error && gt_talk_value(talk->text, key, value, sizeof(value)))
		gt_table_number(table, strtod(value, NULL));
	else
		gt_table_absent(table, "-");
}

static void add_row(struct gt_table *table, const struct gt_talk *talk)
{
	const struct gt_mailbox_head *head = &talk->box->head;
	char text[1100];

	gt_table_number(table, head->pid);
	if (head->rank >= 0)
		gt_table_number(table, head->rank);
	else
		gt_table_absent(table, "-");
	gt_table_text(table, head->host);
	if (talk->error || !gt_talk_value(talk->text, "state", text, sizeof(text)))
		snprintf(text, sizeof(text), "%s", states[talk->box->state]);
	gt_table_text(table, text);
	add_value(table, talk, "kernels_per_second");
	add_value(table, talk, "memory");
	add_command(table, talk->box);
	if (talk->error || !gt_talk_value(talk->text, "file", text, sizeof(text)))
		*text = 0;
	gt_table_text(table, text);
}

static void ask(struct gt_talk *talks, const struct gt_boxes *boxes, int patience_ms)
{
	for (size_t i = 0; i < boxes->list.count; i++) {
		talks[i].box = &boxes->list.at[i];
		gt_talk_send(&talks[i], "status", "", BUSY_MS);
	}
	for (size_t i = 0; i < boxes->list.count; i++)
		gt_talk_await(&talks[i], patience_ms);
}

/* The table, and the mailboxes that are in it. */
struct listing {
	struct gt_table *table;
	const struct gt_boxes *boxes;
};

/* What its mailbox would tell is not known, and its rank and file neither. */
static void add_apart(void *context, uint32_t pid, enum gt_traced_place place)
{
	const struct listing *listing = context;
	struct gt_box box = {.head = {.pid = pid}};

	for (size_t i = 0; i < listing->boxes->list.count; i++)
		if (listing->boxes->list.at[i].head.pid == pid)
			return;
	gt_table_number(listing->table, pid);
	gt_table_absent(listing->table, "-");
	gt_table_absent(listing->table, "-");
	gt_table_text(listing->table, gt_traced_place_name(place));
	gt_table_absent(listing->table, "-");
	gt_table_absent(listing->table, "-");
	add_command(listing->table, &box);
	gt_table_text(listing->table, "");
}

static int run_ps(const struct gt_cmdline *args)
{
	const char *folder = gt_boxes_folder(gt_cmdline_get(args, "control"));
	struct gt_print how = gt_cmdline_print(args);
	struct gt_talk *talks;
	struct gt_boxes boxes;
	struct gt_table table;

	gt_boxes_find(&boxes, folder);
	talks = calloc(boxes.list.count + 1, sizeof(*talks));
	if (!talks) {
		gt_boxes_fini(&boxes);
		return GT_EXIT_FAILED;
	}
	ask(talks, &boxes, (int)gt_cmdline_number(args, "timeout", PATIENCE_MS / 1000) * 1000);
	gt_table_init(&table, "processes", "Traced processes of this user", columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < boxes.list.count; i++)
		add_row(&table, &talks[i]);
	if (!folder)
		gt_traced_apart(add_apart, &(struct listing){.table = &table, .boxes = &boxes});
	gt_table_print(&table, 1, &how, stdout);
	gt_table_fini(&table);
	free(talks);
	gt_boxes_fini(&boxes);
	return GT_EXIT_OK;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_ps,
	.details = "Lists the processes of this user that carry the tracer and have used CUDA: "
		   "what they are, whether they are recorded (recording, waiting for their "
		   "window, closing a file), how many kernels the GPU runs for them per second, "
		   "the memory of the tracer in them, and the trace that is being written. A "
		   "process that does not answer is listed, too, as is one with another /dev/shm "
		   "(chroot, container): gputrace status says how to reach it. Only processes are "
		   "found that were started by gputrace run, or with --control=on.",
	.example = "gputrace ps\ngputrace ps --format=json",
	.options = options,
	.max_inputs = 0,
	.run = run_ps,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_ps = {
	.name = "ps",
	.arguments = "",
	.help = "list the traced processes of this user",
	.run = run,
};
