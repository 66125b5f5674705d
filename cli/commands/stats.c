/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace stats: sums of what the GPU did and who asked for it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stats.h"
#include "analysis/stats_inside.h"
#include "analysis/usage/usage.h"
#include "cli/cmdline.h"
#include "cli/commands/report_names.h"
#include "cli/reduce/shares.h"
#include "cli/reduce/stats_parts.h"
#include "readers/show.h"
#include "readers/wrap.h"

#define MAX_TABLES 32

static const struct gt_cmdline_option options[] = {
	{"report", "NAME,...", NULL,
	 "reports by their nsys names: cuda_gpu_kern_sum, cuda_api_sum, "
	 "cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, nvtx_sum, nvtx_gpu_proj_sum, "
	 "cuda_kern_exec_sum, cuda_gpu_graph_sum; others: gpu_stream_use, gpu_step_use, "
	 "gpu_rank_use, gpu_kern_per_step, gpu_kern_per_rank, gpu_comm_sum, gpu_rate_sum, "
	 "gpu_queue_sum, gpu_queue_time, gpu_health_sum, osrt_sum, mpi_sum, mpi_peer_sum, "
	 "nn_module_sum "
	 "(docs/STATS.md); or all"},
	{"by", "WHAT", "kernel|stack|line|function|module|op|step|stream|device|rank|nvtx",
	 "GPU time by kernel, stack, line, function, module (of a frame with a source line: the "
	 "source file), op, step, stream, device, rank or nvtx"},
	{"sort", "COLUMN", NULL,
	 "total (default), count, mean, median, min, max, stddev, name, or another column of a "
	 "table"},
	{"percentiles", NULL, NULL, "add the columns P90 and P99 to tables that have a median"},
	{"histogram", NULL, NULL,
	 "add a table of GPU operations by powers of two of their durations, by kernel or by "
	 "what --by says"},
	{"energy", NULL, NULL,
	 "add a table of the energy that GPU work has used, by kernel or by what --by says (traces "
	 "of run --nvml)"},
	{"flops", NULL, NULL,
	 "add a table of what has been computed, TFLOP/s, share of the GPU's peak and FLOPs per "
	 "byte, by kernel or by what --by says (traces of run --libraries=cublas, or with the "
	 "shapes of PyTorch's operators)"},
	{"top", "N", "0..1000000000",
	 "rows per table (0: all; default 10, with --by or --report 30, with --summary 5, in csv "
	 "and json all)"},
	GT_CMDLINE_FRAME_OPTIONS("user|innermost",
				 "with --by=line, function or module " GT_CMDLINE_USER_FRAME),
	GT_CMDLINE_SYMBOLIZE_OPTION,
	GT_CMDLINE_FILTER_OPTION,
	GT_CMDLINE_COMMUNICATION_OPTION,
	GT_CMDLINE_FORMAT_OPTION,
	GT_CMDLINE_NAMES_OPTIONS,
	GT_CMDLINE_TABLES_OPTION,
	GT_SHARES_OPTION,
	{"summary", NULL, NULL, "print the short summary that `gputrace run` prints after a run"},
	{NULL, NULL, NULL, NULL},
};

struct output {
	struct gt_table tables[MAX_TABLES + 4]; /* reports, --by, --histogram, --energy, --flops */
	size_t count;
};

/* A table of the command line; no more than MAX_TABLES by name. */
static int want(const struct gt_cmdline *args, const struct gt_report *report,
		struct gt_stats_parts *parts)
{
	struct gt_report copy = *report;
	char line[96];

	if (gt_shares_are_many(args) && !report->map) {
		snprintf(line, sizeof(line), "--report=%s: not with --mpi", report->name);
		return gt_shares_refuse(args, line);
	}
	copy.percentiles = gt_cmdline_get(args, "percentiles");
	return gt_stats_parts_want(parts, &copy) ? GT_EXIT_FAILED : 0;
}

static int want_all(const struct gt_cmdline *args, struct gt_stats_parts *parts)
{
	int rc = 0;

	for (size_t i = 0; i < GT_REPORT_LISTS; i++)
		for (const struct gt_report *report = gt_report_lists[i]; !rc && report->name;
		     report++)
			rc = want(args, report, parts);
	return rc;
}

static int want_reports(const struct gt_cmdline *args, const char *list,
			struct gt_stats_parts *parts)
{
	int rc = 0;

	if (!strcmp(list, "all"))
		return want_all(args, parts);
	while (!rc && *list) {
		size_t n = strcspn(list, ",");

		if (parts->count == MAX_TABLES)
			return gt_cmdline_wrong(args, "--report: more than %d names", MAX_TABLES);
		rc = want(args, gt_report_called(list, n), parts);
		list += n + (list[n] == ',');
	}
	return rc;
}

static enum gt_key key_of(const char *by)
{
	enum gt_key key = GT_KEY_KERNEL;

	while (strcmp(gt_key_names[key], by))
		key++;
	return key;
}

/* What the command line asks for; --energy and --flops are made of the traces at once. */
static int want_tables(const struct gt_cmdline *args, struct gt_stats_parts *parts)
{
	const char *reports = gt_cmdline_get(args, "report"), *by = gt_cmdline_get(args, "by");
	struct gt_report report;
	int rc = 0;

	if (reports)
		rc = want_reports(args, reports, parts);
	if (!rc && by) {
		report = gt_stats_by(key_of(by), false);
		rc = want(args, &report, parts);
	}
	for (size_t i = 0; !rc && !reports && !by && i < GT_STATS_SHORT; i++)
		rc = want(args, &gt_stats_short[i], parts);
	if (!rc && gt_cmdline_get(args, "histogram")) {
		report = gt_usage_histogram(by ? key_of(by) : GT_KEY_KERNEL);
		rc = want(args, &report, parts);
	}
	if (!rc && gt_shares_are_many(args) && gt_cmdline_get(args, "energy"))
		rc = gt_shares_refuse(args, "--energy: not with --mpi");
	if (!rc && gt_shares_are_many(args) && gt_cmdline_get(args, "flops"))
		rc = gt_shares_refuse(args, "--flops: not with --mpi");
	return rc;
}

/* The short table of whole graphs is there where a trace has any. */
static bool is_shown(struct gt_stats_parts *parts, size_t part)
{
	return !parts->part[part].report.is_short || part + 1 < GT_STATS_SHORT ||
	       gt_stats_parts_fact(parts, GT_STATS_GRAPHS);
}

static int build_tables(const struct gt_cmdline *args, struct gt_stats_parts *parts,
			const struct gt_job *job, const struct gt_filter *filter,
			struct output *out)
{
	const char *by = gt_cmdline_get(args, "by");
	int rc = 0;

	for (size_t i = 0; !rc && i < parts->count; i++)
		if (is_shown(parts, i))
			rc = gt_stats_parts_fill(parts, i, job, filter, &out->tables[out->count++]);
	if (!rc && gt_cmdline_get(args, "energy"))
		rc = gt_usage_energy(job, filter, by ? key_of(by) : GT_KEY_KERNEL,
				     &out->tables[out->count++]);
	if (!rc && gt_cmdline_get(args, "flops"))
		rc = gt_usage_flops(job, filter, by ? key_of(by) : GT_KEY_KERNEL,
				    &out->tables[out->count++]);
	return rc;
}

/* Is a column of that name in a table before @table, or before @column in it? */
static bool is_listed(const struct output *out, const struct gt_table *table, size_t column)
{
	const char *id = table->columns[column].id;

	for (const struct gt_table *t = out->tables; t <= table; t++)
		for (size_t i = 0; i < (t == table ? column : t->width); i++)
			if (!strcmp(t->columns[i].id, id))
				return true;
	return false;
}

/* The columns of the tables, each once. */
static void list_columns(const struct output *out, char *text, size_t size)
{
	size_t n = 0;

	*text = 0;
	for (size_t i = 0; i < out->count; i++)
		for (size_t c = 0; c < out->tables[i].width && n < size; c++)
			if (out->tables[i].columns[c].title && !is_listed(out, &out->tables[i], c))
				n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "",
						      out->tables[i].columns[c].id);
}

static int sort_tables(const struct gt_cmdline *args, struct output *out)
{
	const char *column = gt_cmdline_get(args, "sort");
	bool found = !column;
	char all[1024];

	for (size_t i = 0; column && i < out->count; i++)
		found |= !gt_table_sort(&out->tables[i], column);
	if (found)
		return 0;
	list_columns(out, all, sizeof(all));
	return gt_cmdline_wrong(args, "--sort=%s: must be one of %s", column, all);
}

/* Where lines go. */
struct stats_lines {
	FILE *out;
	size_t columns, count;
};

static void wrap(const char *line, void *data)
{
	struct stats_lines *lines = data;

	gt_wrap_line(lines->out, lines->columns, 2, "%s", line);
	lines->count++;
}

static void print_devices(const struct gt_stats_parts *parts, size_t columns)
{
	struct stats_lines lines = {stdout, columns, 0};

	gt_stats_parts_lines(parts, GT_STATS_DEVICES, wrap, &lines);
	if (!lines.count)
		puts("no GPU work in this trace");
}

static void print_cost(struct gt_stats_parts *parts, size_t columns)
{
	const struct gt_stats_cost cost = {
		.processes = (uint64_t)gt_stats_parts_fact(parts, GT_STATS_PROCESSES),
		.added = (uint64_t)gt_stats_parts_fact(parts, GT_STATS_COST_ADDED),
		.own = (uint64_t)gt_stats_parts_fact(parts, GT_STATS_COST_OWN),
		.elapsed = (uint64_t)gt_stats_parts_fact(parts, GT_STATS_COST_ELAPSED),
		.process = (uint64_t)gt_stats_parts_fact(parts, GT_STATS_COST_PROCESS),
		.threads = (uint64_t)gt_stats_parts_fact(parts, GT_STATS_COST_THREADS),
	};
	char text[256];

	if (gt_stats_cost_text(&cost, text, sizeof(text)))
		gt_wrap_line(stdout, columns, 2, "tracer cost: %s", text);
}

static void print_traces(const struct gt_stats_parts *parts, size_t columns)
{
	struct stats_lines lines = {stdout, columns, 0};

	gt_stats_parts_lines(parts, GT_STATS_TRACES, wrap, &lines);
}

/* Neither reports nor --by: then the devices have lines. */
static bool is_plain(const struct gt_cmdline *args)
{
	return !gt_cmdline_get(args, "report") && !gt_cmdline_get(args, "by");
}

static int print_all(const struct gt_cmdline *args, struct gt_stats_parts *parts,
		     struct output *out)
{
	struct gt_print how = gt_cmdline_print(args);
	struct gt_mangled_names mangled = {0};
	bool summary = gt_cmdline_get(args, "summary");
	bool plain = is_plain(args);
	long top = gt_cmdline_number(args, "top", summary ? 5 : plain ? 10 : 30);
	int rc;

	how.top = (size_t)top;
	if (gt_cmdline_get(args, "top") && top)
		for (size_t i = 0; i < out->count; i++)
			if (how.format != GT_FORMAT_TABLE)
				gt_table_cut(&out->tables[i], (size_t)top);
	if (how.format == GT_FORMAT_TABLE && plain) {
		if (!summary)
			print_traces(parts, how.columns);
		print_devices(parts, how.columns);
		print_cost(parts, how.columns);
		putchar('\n');
	}
	if (parts->mangled && !gt_stats_parts_mangled(parts, &mangled))
		gt_cmdline_use_mangled(args, &mangled, &how);
	rc = gt_cmdline_print_tables(args, out->tables, out->count, &how);
	gt_mangled_names_fini(&mangled);
	gt_shares_losses(parts, &how);
	return rc;
}

/* Is there a row of GPU time that names a place in a module, where a source line was asked for? */
static bool lacks_lines(const struct gt_table *table)
{
	for (size_t i = table->width - 1; i < table->cells.count; i += table->width) {
		const struct gt_cell *name = &table->cells.at[i];

		if (name->text && strstr(name->text, "+0x") &&
		    table->cells.at[i + 1 - table->width].number > 0)
			return true;
	}
	return false;
}

static int check_summary(const struct gt_cmdline *args)
{
	if (!gt_cmdline_get(args, "summary"))
		return 0;
	if (gt_cmdline_get(args, "by") || gt_cmdline_get(args, "report"))
		return gt_cmdline_wrong(args, "--summary has tables of its own: not with --by or "
					      "--report");
	return 0;
}

static const struct gt_table *table_called(const struct output *out, const char *name)
{
	for (size_t i = 0; i < out->count; i++)
		if (!strcmp(out->tables[i].name, name))
			return &out->tables[i];
	return NULL;
}

/* Tables of code are of one row where nothing has a call stack. */
static void hint_stacks(const struct gt_cmdline *args, struct gt_stats_parts *parts)
{
	static const char *const code[] = {"line", "function", "module", "stack"};
	const char *by = gt_cmdline_get(args, "by");
	bool wants = false;

	for (size_t i = 0; by && i < sizeof(code) / sizeof(code[0]); i++)
		wants |= !strcmp(by, code[i]);
	if (wants && !gt_stats_parts_fact(parts, GT_STATS_CODE))
		gt_cmdline_complain("no call stacks in these traces (torch.profiler: "
				    "with_stack=True); --by=op|nvtx|step may say more");
}

static void hint_backward(struct gt_stats_parts *parts)
{
	char line[512];

	if (gt_stats_parts_backward(parts, line, sizeof(line)))
		gt_cmdline_complain(line);
}

/* More than the device's peak. */
static void hint_peak(const struct gt_table *flops)
{
	uint64_t count = 0;
	char line[192];

	for (size_t row = 0; row < flops->rows; row++) {
		const struct gt_cell *cells = &flops->cells.at[row * flops->width];

		for (size_t i = 0; i < flops->width; i++)
			count += !strcmp(flops->columns[i].id, "peak") && !cells[i].is_absent &&
				 cells[i].number > 100;
	}
	snprintf(line, sizeof(line),
		 "%" PRIu64 " row%s above the device's peak, which cannot be: another clock than "
		 "the peak is of, wrong sizes or times, or a simulated device",
		 count, count == 1 ? " is" : "s are");
	if (count)
		gt_cmdline_complain(line);
}

/* Why a table of FLOPs is empty: no remedy where what it needs is in the traces. */
static void hint_no_flops(const struct gt_job *job)
{
	size_t works = 0, failed = 0;

	for (size_t i = 0; i < job->count; i++) {
		works += job->models[i].library_work.count + job->models[i].op_work.count;
		failed += job->models[i].failed_calls.count;
	}
	if (works)
		return;
	gt_cmdline_complain(failed ? "calls of libraries that failed compute nothing, and these "
				     "traces have no others"
			    : gt_usage_flops_recorded(job)
				    ? "it is not known what these kernels compute, though "
				      "--libraries was on: no call that it records has launched "
				      "them, or they were recovered without its arguments"
				    : "it is not known what these kernels compute: gputrace run "
				      "--libraries=cublas or --pytorch-shapes records it "
				      "(torch.profiler: record_shapes=True)");
}

static bool has_readings(const struct gt_job *job)
{
	for (size_t i = 0; i < job->count; i++)
		if (job->models[i].health.count)
			return true;
	return false;
}

/* What a table of FLOPs leaves out. */
static void hint_flops(const struct gt_job *job, const struct output *out)
{
	const struct gt_table *flops = table_called(out, "gpu_flops_sum");
	uint64_t count = flops ? gt_usage_flops_too_large(job) : 0;
	char line[192], unknown[128];

	if (flops && gt_usage_flops_unknown(job, unknown, sizeof(unknown))) {
		snprintf(line, sizeof(line), "calls of libraries whose sizes are not known: %s",
			 unknown);
		gt_cmdline_complain(line);
	}
	if (flops)
		hint_peak(flops);
	if (flops && !flops->rows)
		hint_no_flops(job);
	if (!count)
		return;
	snprintf(line, sizeof(line),
		 "not in the table: %" PRIu64 " operator%s or kernel%s of more FLOPs than fit into "
		 "63 bits",
		 count, gt_plural(count), gt_plural(count));
	gt_cmdline_complain(line);
}

/* Where --nvml was on, to ask for it is no remedy. */
static void hint_nvml(const struct gt_job *job)
{
	char line[320] = "there are no readings of power and clocks: gputrace run --nvml records "
			 "them",
	     state[200] = "";

	for (size_t i = 0; !*state && i < job->count; i++)
		if (!gt_header_text(&job->models[i].reading.header, "metadata", "nvml", state,
				    sizeof(state)))
			*state = 0;
	if (!strncmp(state, "off: ", 5))
		snprintf(line, sizeof(line),
			 "there are no readings of power and clocks: --nvml was %s", state);
	else if (*state)
		snprintf(
			line, sizeof(line),
			"there are too few readings of power and clocks, though --nvml was on (%s):"
			" the program ended too soon, or the GPU has none",
			state);
	gt_cmdline_complain(line);
}

static void hint(const struct gt_cmdline *args, const struct gt_job *job, const struct output *out)
{
	const char *by = gt_cmdline_get(args, "by");
	const struct gt_table *energy = table_called(out, "gpu_energy_sum");
	const struct gt_table *health = table_called(out, "gpu_health_sum");
	const struct gt_table *os_calls = table_called(out, "osrt_sum");
	bool is_filtered = has_readings(job) && gt_cmdline_get(args, "filter");

	if (!is_filtered && ((energy && !energy->rows) ||
			     (health && !health->rows && out->count == 1 + (energy != NULL))))
		hint_nvml(job);
	if (os_calls && !os_calls->rows && out->count == 1)
		gt_cmdline_complain("there are no calls of the operating system: gputrace run "
				    "--osrt records them");
	if (by && !strcmp(by, "line") && gt_cmdline_print(args).format == GT_FORMAT_TABLE &&
	    lacks_lines(
		    &out->tables[out->count - 1 - (gt_cmdline_get(args, "histogram") != NULL) -
				 (energy != NULL) - (table_called(out, "gpu_flops_sum") != NULL)]))
		gt_cmdline_complain(
			"some places have no source line: their modules have no debug "
			"information (-g), or are not here with the build id of the trace");
}

/* What all shares add up to. */
static int answer(const struct gt_cmdline *args, struct gt_stats_parts *parts,
		  const struct gt_job *job, const struct gt_filter *filter)
{
	struct output out = {.count = 0};
	int rc = build_tables(args, parts, job, filter, &out)
			 ? gt_shares_no_memory("what these traces add up to")
			 : sort_tables(args, &out);

	if (!rc) {
		rc = print_all(args, parts, &out);
		hint(args, job, &out);
		hint_flops(job, &out);
		hint_stacks(args, parts);
		hint_backward(parts);
		if (!gt_stats_parts_fact(parts, GT_STATS_PASSES))
			gt_cmdline_complain("--filter: nothing in the traces passes");
	}
	for (size_t i = 0; i < out.count; i++)
		gt_table_fini(&out.tables[i]);
	return rc;
}

/* Reads a share, and prints if this process has the answer of all. */
static int ask(const struct gt_cmdline *args, struct gt_stats_parts *parts,
	       const struct gt_filter *filter)
{
	const char *by = gt_cmdline_get(args, "by");
	const struct gt_stats_asked asked = {
		.devices = is_plain(args) && gt_cmdline_print(args).format == GT_FORMAT_TABLE,
		.backward = by && gt_stats_has_inside(key_of(by)),
		.tables = gt_shares_are_many(args),
	};
	struct gt_job job = {0};
	bool prints;
	int rc = gt_shares_load(args, &job), answered;

	if (job.count && gt_stats_parts_map(parts, &job, filter, asked))
		rc = gt_shares_no_memory("what these traces add up to");
	rc = gt_shares_reduce(args, &job, rc, parts->sets, parts->set_count, &prints);
	if (prints) {
		answered = answer(args, parts, &job, filter);
		rc = answered ? answered : rc;
	}
	gt_job_fini(&job);
	return rc;
}

static int run_stats(const struct gt_cmdline *args)
{
	const char *reports = gt_cmdline_get(args, "report");
	struct gt_filter filter = {0};
	struct gt_stats_parts parts;
	int rc = check_summary(args);

	if (gt_stats_parts_init(&parts))
		rc = GT_EXIT_FAILED;
	if (!rc)
		rc = gt_cmdline_filter(args, &filter);
	if (!rc && reports)
		rc = gt_report_names_check(args, reports);
	if (!rc)
		rc = gt_shares_start(args);
	if (!rc)
		rc = want_tables(args, &parts);
	if (!rc && gt_cmdline_print(args).names == GT_NAMES_MANGLED &&
	    gt_stats_parts_want_mangled(&parts))
		rc = GT_EXIT_FAILED;
	if (!rc)
		rc = ask(args, &parts, &filter);
	gt_shares_end();
	gt_stats_parts_fini(&parts);
	gt_filter_fini(&filter);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_stats,
	.details = "Reads traces of gputrace (JSON, .pftrace), Kineto and torch.profiler, plain or "
		   "gzip; a folder means all traces in it, one per rank. Percentages are of the "
		   "sum of the table; the busy time of a device is the union of its operations. "
		   "Numbers in csv and json have the units that the column titles name. "
		   "docs/STATS.md defines the tables that nsys does not have.",
	.example = "# kernels, calls and copies of all ranks of a run\n"
		   "gputrace run --output=out ./train && gputrace stats out\n"
		   "# the lines that asked for the GPU time of one step\n"
		   "gputrace stats --by=line --filter=step=ProfilerStep#3 --top=20 trace.json\n"
		   "# a report of nsys by its name, for a script\n"
		   "gputrace stats --report=cuda_gpu_kern_sum --format=csv trace.pftrace",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.takes_stdin = true,
	.run = run_stats,
	.print_words = gt_report_names_print,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_stats = {
	.name = "stats",
	.arguments = "[FILE|FOLDER...]",
	.help = "summarize kernels, CUDA calls and copies; by stack, line, operator, step, ...",
	.run = run,
};
