/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace convert: a trace in the other form. The events are read back (analysis/events.h) and given
 * to the same writer that the tracer uses, so the result is the file that the tracer would have written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/events.h"
#include "analysis/input.h"
#include "cli/cmdline.h"
#include "core/log.h"
#include "writers/sink.h"
#include "writers/writer.h"

static const struct gt_cmdline_option options[] = {
	{"stacks", "short|full", "short", "full: JSON with the frames on every slice"},
	{NULL, NULL, NULL, NULL},
};

struct conversion {
	const char *from, *to;
	const char *suffix; /* of what is written */
	struct gt_writer *writer;
	struct gt_sink *sink;
	struct gt_writer_options options;
	int error; /* of the output; it has been told */
};

/* ---- the output ---- */

static int complain_of(const char *path, const char *what)
{
	char text[8192];

	snprintf(text, sizeof(text), "%s: %s", path, what);
	gt_cmdline_complain(text);
	return -EIO;
}

/* Which writer makes such a file; NULL: none. */
static const char *format_of(const char *path, const char **ret_suffix)
{
	static const char *const forms[][2] = {
		{".pftrace", "perfetto"}, {".pt.trace.json", "chrome"}, {".json", "chrome"}};
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t tail = strlen(forms[i][0]);

		if (length > tail && !strcmp(path + length - tail, forms[i][0])) {
			*ret_suffix = path + length - tail;
			return forms[i][1];
		}
	}
	return NULL;
}

/* The sink takes folder, name and suffix apart; a folder that cannot be written is no reason to
 * write elsewhere, so the fallback is the same. */
static int open_sink(struct conversion *c)
{
	const char *slash = strrchr(c->to, '/');
	const char *base = slash ? slash + 1 : c->to;
	char folder[4096], name[256];
	struct gt_sink_options sink = {
		.directory = folder, .fallback = folder, .name = name, .suffix = c->suffix};
	int error = 0;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - c->to) : 1,
		 slash ? c->to : ".");
	if (slash == c->to)
		snprintf(folder, sizeof(folder), "/");
	snprintf(name, sizeof(name), "%.*s", (int)(c->suffix - base), base);
	if (access(folder, W_OK) < 0)
		return complain_of(folder, strerror(errno));
	c->sink = gt_sink_open(&sink, &error);
	return c->sink ? 0 : complain_of(c->to, strerror(-error));
}

static int open_output(struct conversion *c, const struct gt_facts *facts)
{
	int error = open_sink(c);

	if (!error) {
		error = c->writer->ops->open(c->writer, c->sink, facts, &c->options);
		if (error)
			complain_of(c->to, strerror(-error));
	}
	c->error = error;
	return error;
}

static int take_facts(const struct gt_facts *facts, void *data)
{
	struct conversion *c = data;

	if (!c->sink) {
		c->options.few_details = strstr(facts->options, "details=few") != NULL;
		return open_output(c, facts);
	}
	c->writer->ops->facts(c->writer, facts);
	return 0;
}

static int take_event(const struct gt_event *event, void *data)
{
	struct conversion *c = data;
	int error = c->writer->ops->event(c->writer, event);

	if (error)
		c->error = complain_of(c->to, strerror(-error));
	return error;
}

/* What the writer counts is counted anew. */
static void forget_written(struct gt_ledger *ledger)
{
	static const enum gt_ledger_key keys[] = {
		GT_LEDGER_CALLS_WRITTEN,   GT_LEDGER_KERNELS_WRITTEN, GT_LEDGER_MEMCPYS_WRITTEN,
		GT_LEDGER_MEMSETS_WRITTEN, GT_LEDGER_SYNCS_WRITTEN,   GT_LEDGER_OVERHEADS_WRITTEN,
		GT_LEDGER_RANGES_WRITTEN,  GT_LEDGER_ARROWS_WRITTEN,  GT_LEDGER_STACKS_WRITTEN,
		GT_LEDGER_FRAMES_WRITTEN,  GT_LEDGER_BYTES_WRITTEN,
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		ledger->count[keys[i]] = 0;
}

/* ---- the input ---- */

/* JSON begins with a bracket behind blanks. 1, 0, or a negative errno. */
static int is_json(const char *path)
{
	struct gt_input in;
	int error = gt_input_open(&in, path);
	size_t blanks;

	if (error)
		return error;
	while (!in.size && gt_input_more(&in) > 0)
		;
	blanks = strspn(in.data, " \t\r\n");
	error = blanks < in.size && (in.data[blanks] == '{' || in.data[blanks] == '[');
	gt_input_close(&in);
	return error;
}

static int read_input(struct conversion *c, struct gt_events *events)
{
	int json = is_json(c->from);

	if (json < 0)
		return gt_events_fail(events, c->from, strerror(-json), json);
	return json ? gt_events_read_json(events, c->from)
		    : gt_events_read_pftrace(events, c->from);
}

static void tell_cut(const struct conversion *c, const struct gt_events *events)
{
	if (!events->closed)
		complain_of(c->from, "the file was cut; what stands before the cut is converted");
	if (events->strange)
		fprintf(stderr, "gputrace: %s: %lu parts are no events of gputrace, left out\n",
			c->from, (unsigned long)events->strange);
}

static int convert(struct conversion *c)
{
	struct gt_events events = {.take_facts = take_facts, .take_event = take_event, .data = c};
	int error = gt_events_init(&events);

	if (!error)
		error = read_input(c, &events);
	if (error && !c->error)
		gt_cmdline_complain(events.error[0] ? events.error : strerror(-error));
	if (!error && c->sink) {
		forget_written(&events.ledger);
		error = c->writer->ops->close(c->writer, &events.facts, &events.ledger);
		if (error)
			complain_of(c->to, strerror(-error));
		tell_cut(c, &events);
	}
	gt_events_fini(&events);
	return error ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static void close_output(struct conversion *c, int rc)
{
	c->writer->ops->fini(c->writer);
	gt_writer_free(c->writer);
	if (c->sink && rc != GT_EXIT_OK)
		unlink(gt_sink_path(c->sink));
	gt_sink_close(c->sink);
}

static int run_convert(const struct gt_cmdline *args)
{
	struct conversion c = {.from = args->inputs[0], .to = args->inputs[1]};
	const char *format = format_of(c.to, &c.suffix);
	const char *stacks = gt_cmdline_get(args, "stacks");
	int rc;

	if (!format)
		return gt_cmdline_wrong(args,
					"the form of %s is not known: it must end in "
					".pftrace or .json",
					c.to);
	if (access(c.to, F_OK) == 0) {
		complain_of(c.to, "exists, and is not overwritten");
		return GT_EXIT_FAILED;
	}
	gt_log_set_level(GT_LOG_QUIET);
	c.options = (struct gt_writer_options){.sync_lanes = true,
					       .full_stacks = stacks && !strcmp(stacks, "full")};
	c.writer = gt_writer_new(format);
	if (!c.writer)
		return GT_EXIT_FAILED;
	rc = convert(&c);
	close_output(&c, rc);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_convert,
	.details =
		"FROM and TO: a .pftrace of gputrace's, or its JSON (also .json.gz as FROM); the "
		"name of TO says which form is written. TO must not exist.",
	.options = options,
	.min_inputs = 2,
	.max_inputs = 2,
	.run = run_convert,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_convert = {
	.name = "convert",
	.arguments = "FROM TO",
	.help = "write a trace in the other form: JSON, .pftrace",
	.run = run,
};
