/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace convert: a trace in the other form. The events are read back (readers/events.h) and
 * given to the same writer that the tracer uses, so the result is the file that the tracer would
 * have written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmdline.h"
#include "cli/outfile.h"
#include "cli/progress.h"
#include "readers/chrome/scan.h"
#include "readers/show.h"
#include "transform/conversion.h"
#include "transform/job/pftrace.h"

static const struct gt_cmdline_option options[] = {
	{"stacks", "WHAT", "short|full",
	 "short (default), or full: JSON with frames on every slice"},
	{"details", "WHICH", "default|all",
	 "all: JSON with a flow of its own for each operation of a call, which chrome://tracing "
	 "needs to draw all arrows of CUDA graphs"},
	{NULL, NULL, NULL, NULL},
};

struct convert_request {
	const char *from, *to;
	const char *suffix; /* of what is written */
	bool is_json;       /* what is read */
	struct gt_as_json_wish wish;
};

/* ---- the output ---- */

static void complain_of(const char *path, const char *what)
{
	char text[8192];

	snprintf(text, sizeof(text), "%s: %s", path, what);
	gt_cmdline_complain(text);
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
static struct gt_sink *open_output(struct gt_conversion *c, int *ret_error)
{
	const struct convert_request *request = c->data;
	const char *slash = strrchr(request->to, '/');
	const char *base = slash ? slash + 1 : request->to;
	char folder[4096], name[256];
	struct gt_sink_options sink = {
		.directory = folder, .fallback = folder, .name = name, .suffix = request->suffix};

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - request->to) : 1,
		 slash ? request->to : ".");
	if (slash == request->to)
		snprintf(folder, sizeof(folder), "/");
	snprintf(name, sizeof(name), "%.*s", (int)(request->suffix - base), base);
	if (access(folder, W_OK) < 0) {
		*ret_error = -errno;
		snprintf(c->error, sizeof(c->error), "%.900s: %s", folder, strerror(errno));
		return NULL;
	}
	return gt_sink_open(&sink, ret_error);
}

/* ---- the input ---- */

/* JSON begins with a bracket behind blanks. */
static bool is_json(const struct gt_input *in)
{
	const char *p = gt_scan_blanks(in->data);

	return !gt_input_is_pftrace(in) && (*p == '{' || *p == '[');
}

static int read_open(struct convert_request *request, struct gt_input *in, struct gt_events *events)
{
	int rc = gt_input_more(in);

	if (rc < 0)
		return gt_events_fail(events, in->path, strerror(-rc), rc);
	request->is_json = is_json(in);
	if (!request->is_json)
		return gt_events_read_pftrace_input(events, in);
	gt_progress_expect_file(in->path); /* it is read twice */
	return gt_events_read_json(events, in->path);
}

static int read_input(struct gt_conversion *c, struct gt_events *events)
{
	struct convert_request *request = c->data;
	const char *from = request->from;
	struct gt_input in;
	int rc;

	gt_progress_expect_file(from);
	rc = gt_input_open(&in, from);
	if (rc)
		return gt_events_fail(events, from, strerror(-rc), rc);
	rc = read_open(request, &in, events);
	gt_input_close(&in);
	return rc;
}

static void report(const char *from, const struct gt_conversion *c)
{
	if (!c->closed)
		complain_of(from, "the file was cut; converting the part before the cut");
	if (c->doubt[0])
		complain_of(from, c->doubt);
	if (c->strange)
		gt_show_line(stderr,
			     "gputrace: %s: %lu part%s without the form of an event, left out",
			     from, (unsigned long)c->strange, gt_plural(c->strange));
}

/* Each process as if it were merged now. */
static int convert_merged(const struct convert_request *request, const char *format)
{
	char *path = (char *)request->from;
	const struct gt_merge_request all = {.force = true, .wish = request->wish};
	struct gt_merge_result result;
	struct gt_outfile out;
	int rc;

	if (!gt_cmdline_can_read_twice(path) || gt_outfile_open(&out, request->to))
		return GT_EXIT_FAILED;
	gt_progress_start("converting");
	if (!strcmp(format, "perfetto"))
		rc = gt_merge_pftrace(&path, 1, &all, out.fd, &result);
	else
		rc = gt_merge(&path, 1, &all, out.file, &result);
	gt_progress_stop();
	rc = gt_outfile_close(&out, rc, result.error);
	if (!rc && result.cut)
		complain_of(request->from, "the file was cut; converting the part before the cut");
	return rc;
}

static int convert(struct convert_request *request, const char *format)
{
	struct gt_conversion c = {.format = format,
				  .options = {.sync_tracks = true,
					      .full_stacks = request->wish.full_stacks,
					      .own_flows = request->wish.own_flows},
				  .open = open_output,
				  .from = request->from,
				  .to = request->to,
				  .data = request};
	int rc;

	gt_progress_start("converting");
	rc = gt_conversion_run(&c, read_input);
	gt_progress_stop();
	if (c.is_merged && (!request->is_json || !strcmp(format, "perfetto"))) {
		gt_conversion_fini(&c, true);
		return convert_merged(request, format);
	}
	if (rc)
		gt_cmdline_complain(c.error);
	else
		report(request->from, &c);
	gt_conversion_fini(&c, rc != 0);
	return rc ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int run_convert(const struct gt_cmdline *args)
{
	struct convert_request request = {.to = args->inputs[1]};
	const char *format = format_of(request.to, &request.suffix);
	const char *stacks = gt_cmdline_get(args, "stacks");
	const char *details = gt_cmdline_get(args, "details");
	char *from;
	int rc = GT_EXIT_FAILED;

	if (!format)
		return gt_cmdline_wrong(args,
					"the form of %s is not known: it must end in "
					".pftrace or .json (gputrace compress packs it then)",
					request.to);
	request.wish.full_stacks = stacks && !strcmp(stacks, "full");
	request.wish.own_flows = details && !strcmp(details, "all");
	if (gt_outfile_is_taken(request.to))
		return GT_EXIT_FAILED;
	request.from = from = gt_cmdline_trace(args, 0);
	if (from)
		rc = convert(&request, format);
	free(from);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_convert,
	.details =
		"FROM and TO are a .pftrace file of gputrace or its JSON (FROM also .json.gz, or "
		"the folder of one); the name of TO selects the form. TO must not exist. JSON that "
		"gputrace merge made of several processes becomes a .pftrace of them all, and such "
		"a "
		".pftrace the JSON of them all. A "
		"trace of PyTorch cannot be converted: gputrace and Perfetto read it as it is.",
	.example = "# a tenth of the size, for Perfetto and for gputrace\n"
		   "gputrace convert trace.json trace.pftrace\n"
		   "# for readers of PyTorch's traces\n"
		   "gputrace convert trace.pftrace trace.pt.trace.json",
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
	.help = "convert a trace between JSON and .pftrace",
	.run = run,
};
