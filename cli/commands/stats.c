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
	 "rows per table (0: all; default 10, with --by or --report 30, with --summary 5)"},
	GT_CMDLINE_FRAME_OPTIONS("user|innermost",
				 "with --by=line, function or module " GT_CMDLINE_USER_FRAME),
	GT_CMDLINE_SYMBOLIZE_OPTION,
	GT_CMDLINE_FILTER_OPTION,
	GT_CMDLINE_COMMUNICATION_OPTION,
	GT_CMDLINE_FORMAT_OPTION,
	GT_CMDLINE_NAMES_OPTIONS,
	GT_CMDLINE_TABLES_OPTION,
	{"summary", NULL, NULL, "print the short summary that `gputrace run` prints after a run"},
	{NULL, NULL, NULL, NULL},
};

struct output {
	struct gt_table tables[MAX_TABLES + 4]; /* reports, --by, --histogram, --energy, --flops */
	size_t count;
};

/* Those of nsys, and our own. */
static const struct gt_report *const report_lists[] = {gt_reports, gt_usage_reports};

#define LISTS (sizeof(report_lists) / sizeof(report_lists[0]))

static const struct gt_report *find_report(const char *name, size_t len)
{
	for (size_t i = 0; i < LISTS; i++)
		for (const struct gt_report *report = report_lists[i]; report->name; report++)
			if (strlen(report->name) == len && !memcmp(report->name, name, len))
				return report;
	return NULL;
}

static int build_report(const struct gt_cmdline *args, const struct gt_report *report,
			const struct gt_job *job, const struct gt_filter *filter,
			struct output *out)
{
	struct gt_report copy = *report;

	/* a short table is known by its place */
	if (!gt_cmdline_get(args, "percentiles"))
		return report->build(report, job, filter, &out->tables[out->count++]);
	copy.percentiles = true;
	return copy.build(&copy, job, filter, &out->tables[out->count++]);
}

static int build_all(const struct gt_cmdline *args, const struct gt_job *job,
		     const struct gt_filter *filter, struct output *out)
{
	for (size_t i = 0; i < LISTS; i++)
		for (const struct gt_report *report = report_lists[i]; report->name; report++)
			if (build_report(args, report, job, filter, out))
				return GT_EXIT_FAILED;
	return 0;
}

static int build_reports(const struct gt_cmdline *args, const struct gt_job *job,
			 const struct gt_filter *filter, const char *list, struct output *out)
{
	if (!strcmp(list, "all"))
		return build_all(args, job, filter, out);
	while (*list) {
		size_t n = strcspn(list, ",");
		const struct gt_report *report = find_report(list, n);

		if (out->count == MAX_TABLES)
			return gt_cmdline_wrong(args, "--report: more than %d names", MAX_TABLES);
		if (build_report(args, report, job, filter, out))
			return GT_EXIT_FAILED;
		list += n + (list[n] == ',');
	}
	return 0;
}

/* The reports that there are, each behind a comma. */
static void list_reports(char *out, size_t size)
{
	size_t n = 0;

	*out = 0;
	for (size_t i = 0; i < LISTS; i++)
		for (const struct gt_report *report = report_lists[i]; report->name && n < size;
		     report++)
			n += (size_t)snprintf(out + n, size - n, "%s, ", report->name);
}

static void print_words(FILE *out)
{
	for (size_t i = 0; i < LISTS; i++)
		for (const struct gt_report *report = report_lists[i]; report->name; report++)
			fprintf(out, "--report=%s\ttables of stats, by name\n", report->name);
	fputs("--report=all\ttables of stats, by name\n", out);
}

static int check_reports(const struct gt_cmdline *args, const char *list)
{
	char all[1024];

	if (!strcmp(list, "all"))
		return 0;
	do {
		size_t n = strcspn(list, ",");

		if (!find_report(list, n)) {
			list_reports(all, sizeof(all));
			return gt_cmdline_wrong(args, "--report=%.*s: must be one of %sall", (int)n,
						list, all);
		}
		list += n + (list[n] == ',');
	} while (*list);
	return 0;
}

static enum gt_key key_of(const char *by)
{
	enum gt_key key = GT_KEY_KERNEL;

	while (strcmp(gt_key_names[key], by))
		key++;
	return key;
}

static int build_tables(const struct gt_cmdline *args, const struct gt_job *job,
			const struct gt_filter *filter, struct output *out)
{
	const char *reports = gt_cmdline_get(args, "report"), *by = gt_cmdline_get(args, "by");
	int rc = 0;

	if (reports)
		rc = build_reports(args, job, filter, reports, out);
	if (!rc && by)
		rc = (gt_cmdline_get(args, "percentiles") ? gt_stats_by_percentiles : gt_stats_by)(
			job, filter, key_of(by), &out->tables[out->count++]);
	for (size_t i = 0; !rc && !reports && !by && i < gt_stats_short_count(job); i++)
		rc = build_report(args, &gt_stats_short[i], job, filter, out);
	if (!rc && gt_cmdline_get(args, "histogram"))
		rc = gt_usage_histogram(job, filter, by ? key_of(by) : GT_KEY_KERNEL,
					&out->tables[out->count++]);
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

/* How much of all that was looked at, where that is more than from the first operation to the
 * last. */
static void print_window(const struct gt_device_use *use, char *out, size_t size)
{
	int64_t length = use->until - use->from;
	char time[32];

	*out = 0;
	if (length > use->last - use->first)
		snprintf(out, size, ", %.1f %% of the window of %s",
			 (double)use->busy * 100 / (double)length,
			 gt_table_time((double)length, time, sizeof(time)));
}

/* Busy time that lacks what a filter left out is not that of the device. */
static const char *filtered(const struct gt_model *model)
{
	return gt_stats_lacks_work(&model->reading) ? " (filtered)" : "";
}

static void print_devices(const struct gt_job *job, const struct gt_filter *filter, size_t columns)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses);
	char span[32], busy[32], device[64], graphs[48], window[80];

	for (int i = 0; i < count; i++) {
		const struct gt_device_use *use = &uses[i];
		int64_t length = use->last - use->first;

		gt_key_of_device(use->model, use->device, device, sizeof(device));
		*graphs = 0;
		print_window(use, window, sizeof(window));
		if (use->count[GT_OP_GRAPH])
			snprintf(graphs, sizeof(graphs), ", %" PRIu64 " whole graph%s",
				 use->count[GT_OP_GRAPH], gt_plural(use->count[GT_OP_GRAPH]));
		gt_wrap_line(
			stdout, columns, 2,
			"%s: busy %s%s of %s (%.1f %%)%s, %" PRIu64 " kernel%s, %" PRIu64
			" %s, %" PRIu64 " set%s%s%s%s",
			device, gt_table_time((double)use->busy, busy, sizeof(busy)),
			filtered(use->model), gt_table_time((double)length, span, sizeof(span)),
			length > 0 ? (double)use->busy * 100 / (double)length : 0.0, window,
			use->count[GT_OP_KERNEL], gt_plural(use->count[GT_OP_KERNEL]),
			use->count[GT_OP_COPY], use->count[GT_OP_COPY] == 1 ? "copy" : "copies",
			use->count[GT_OP_SET], gt_plural(use->count[GT_OP_SET]), graphs,
			*use->name ? ", " : "", use->name);
	}
	if (!count)
		puts("no GPU work in this trace");
	free(uses);
}

static void print_cost(const struct gt_job *job, size_t columns)
{
	char cost[256];

	if (gt_stats_cost(job, cost, sizeof(cost)))
		gt_wrap_line(stdout, columns, 2, "tracer cost: %s", cost);
}

static void print_traces(const struct gt_job *job, size_t columns)
{
	char span[32];

	for (size_t i = 0; i < job->count; i++) {
		const struct gt_model *model = &job->models[i];

		gt_wrap_line(
			stdout, columns, 2, "%s: %" PRIu64 " event%s over %s",
			strcmp(model->path, "-") ? model->path : "standard input",
			model->reading.events, gt_plural(model->reading.events),
			gt_table_time((double)(model->last - model->first), span, sizeof(span)));
	}
}

static int print_all(const struct gt_cmdline *args, const struct gt_job *job,
		     const struct gt_filter *filter, struct output *out)
{
	struct gt_print how = gt_cmdline_print(args);
	struct gt_mangled_names mangled;
	bool summary = gt_cmdline_get(args, "summary");
	bool plain = !gt_cmdline_get(args, "report") && !gt_cmdline_get(args, "by");
	long top = gt_cmdline_number(args, "top", summary ? 5 : plain ? 10 : 30);
	int rc;

	how.top = (size_t)top;
	if (gt_cmdline_get(args, "top") && top)
		for (size_t i = 0; i < out->count; i++)
			if (how.format != GT_FORMAT_TABLE)
				gt_table_cut(&out->tables[i], (size_t)top);
	if (how.format == GT_FORMAT_TABLE && plain) {
		if (!summary)
			print_traces(job, how.columns);
		print_devices(job, filter, how.columns);
		print_cost(job, how.columns);
		putchar('\n');
	}
	gt_cmdline_mangled(args, job, 1, &mangled, &how);
	rc = gt_cmdline_print_tables(args, out->tables, out->count, &how);
	gt_mangled_names_fini(&mangled);
	gt_cmdline_losses(&job, 1, &how);
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
static void hint_stacks(const struct gt_cmdline *args, const struct gt_job *job)
{
	static const char *const code[] = {"line", "function", "module", "stack"};
	const char *by = gt_cmdline_get(args, "by");
	bool wants = false;

	for (size_t i = 0; by && i < sizeof(code) / sizeof(code[0]); i++)
		wants |= !strcmp(by, code[i]);
	if (wants && !gt_stats_has_code(job))
		gt_cmdline_complain("no call stacks in these traces (torch.profiler: "
				    "with_stack=True); --by=op|nvtx|step may say more");
}

/* What the backward pass launched has no line where the trace does not tell its forward operator.
 */
static void hint_backward(const struct gt_cmdline *args, const struct gt_job *job,
			  const struct gt_filter *filter)
{
	const char *by = gt_cmdline_get(args, "by");
	struct gt_stats_backward lost;
	char line[256];

	if (!by || !gt_stats_has_inside(key_of(by)))
		return;
	lost = gt_stats_backward(job, filter);
	if (!lost.time)
		return;
	snprintf(line, sizeof(line),
		 "%.1f %% of the GPU time was launched by PyTorch's backward pass and has no line "
		 "of "
		 "the user's: %s",
		 (double)lost.time * 100 / (double)lost.all,
		 lost.is_tied ? "its forward operator is not in the trace"
			      : "gputrace run --pytorch records its forward operator");
	gt_cmdline_complain(line);
}

/* What a table of FLOPs leaves out. */
static void hint_flops(const struct gt_job *job, const struct output *out)
{
	const struct gt_table *flops = table_called(out, "gpu_flops_sum");
	uint64_t count = flops ? gt_usage_flops_too_large(job) : 0;
	char line[128];

	if (flops && !flops->rows)
		gt_cmdline_complain("it is not known what these kernels compute: gputrace run "
				    "--libraries=cublas or --pytorch-shapes records it "
				    "(torch.profiler: record_shapes=True)");
	if (!count)
		return;
	snprintf(line, sizeof(line),
		 "not in the table: %" PRIu64 " operator%s or kernel%s of more FLOPs than fit into "
		 "63 bits",
		 count, gt_plural(count), gt_plural(count));
	gt_cmdline_complain(line);
}

static void hint(const struct gt_cmdline *args, const struct output *out)
{
	const char *by = gt_cmdline_get(args, "by");
	const struct gt_table *energy = table_called(out, "gpu_energy_sum");
	const struct gt_table *health = table_called(out, "gpu_health_sum");
	const struct gt_table *os_calls = table_called(out, "osrt_sum");

	if ((energy && !energy->rows) ||
	    (health && !health->rows && out->count == 1 + (energy != NULL)))
		gt_cmdline_complain("there are no readings of power and clocks: gputrace run "
				    "--nvml records them");
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

static int run_stats(const struct gt_cmdline *args)
{
	const char *reports = gt_cmdline_get(args, "report");
	struct gt_filter filter = {0};
	struct output out = {.count = 0};
	struct gt_job job = {0};
	int rc = check_summary(args), built;

	if (!rc)
		rc = gt_cmdline_filter(args, &filter);
	if (!rc && reports)
		rc = check_reports(args, reports);
	if (!rc) {
		rc = gt_cmdline_load(args, &job);
		if (job.count) {
			built = build_tables(args, &job, &filter, &out);
			if (!built)
				built = sort_tables(args, &out);
			if (!built) {
				built = print_all(args, &job, &filter, &out);
				hint(args, &out);
				hint_flops(&job, &out);
				hint_stacks(args, &job);
				hint_backward(args, &job, &filter);
				gt_cmdline_report_filter(&job, 1, &filter);
			}
			rc = built ? built : rc;
		}
	}
	for (size_t i = 0; i < out.count; i++)
		gt_table_fini(&out.tables[i]);
	gt_job_fini(&job);
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
	.run = run_stats,
	.print_words = print_words,
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
