/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace memory: who held how much memory of the GPU?
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory/memory.h"
#include "cli/cmdline.h"
#include "cli/outfile.h"

static const struct gt_cmdline_option options[] = {
	{"top", "N", "0..1000000000",
	 "rows in each table (0: all; default 15, in csv and json all)"},
	{"timeline", "N", "1..100000",
	 "also a table of the time in N equal parts: the most in use in each, and what was at its "
	 "end"},
	{"svg", "FILE", NULL,
	 "write memory in use over time, by the places that hold most of it, to FILE, which must "
	 "not exist (-: standard output), instead of tables"},
	{"by", "WHAT", "line|stack",
	 "one row for each line, the frame below, (default), or for each call stack"},
	GT_CMDLINE_FRAME_OPTIONS("user|innermost",
				 "the frame of a call stack that memory is put down to: as in "
				 "gputrace gaps"),
	GT_CMDLINE_SYMBOLIZE_OPTION,
	GT_CMDLINE_FORMAT_OPTION,
	GT_CMDLINE_NAMES_OPTIONS,
	GT_CMDLINE_TABLES_OPTION,
	{NULL, NULL, NULL, NULL},
};

enum {
	SUMMARY,
	PEAK,
	NEVER_FREED,
	STEPS,
	FAILED,
	SEGMENTS,
	UNIFIED,
	TIMELINE,
	TABLES,
};

static int build(const struct gt_cmdline *args, const struct gt_job *job,
		 const struct gt_memory *memory, struct gt_table tables[TABLES])
{
	long parts = gt_cmdline_number(args, "timeline", 0);
	int rc = gt_memory_summary(memory, &tables[SUMMARY]);

	if (!rc)
		rc = gt_memory_at_peak(memory, &tables[PEAK]);
	if (!rc)
		rc = gt_memory_never_freed(memory, &tables[NEVER_FREED]);
	if (!rc)
		rc = gt_memory_steps(memory, &tables[STEPS]);
	if (!rc)
		rc = gt_memory_failed(memory, job, &tables[FAILED]);
	if (!rc)
		rc = gt_memory_segments(memory, &tables[SEGMENTS]);
	if (!rc)
		rc = gt_memory_unified(memory, job, &tables[UNIFIED]);
	if (!rc)
		rc = gt_memory_timeline(memory, (size_t)parts, &tables[TIMELINE]);
	return rc;
}

/* Those with rows, for people; the first always. */
static size_t without_empty(struct gt_table tables[TABLES], bool all)
{
	size_t kept = 1;

	for (size_t i = 1; i < TABLES; i++) {
		struct gt_table table = tables[i];

		if (!table.rows && !(all && i != TIMELINE))
			continue;
		tables[i] = tables[kept];
		tables[kept++] = table;
	}
	return kept;
}

static int print_tables(const struct gt_cmdline *args, const struct gt_job *job,
			const struct gt_memory *memory)
{
	struct gt_table tables[TABLES] = {0};
	struct gt_print how = gt_cmdline_print(args);
	bool is_for_people = how.format == GT_FORMAT_TABLE || how.format == GT_FORMAT_MARKDOWN;
	int rc = build(args, job, memory, tables);
	char nodes[200];
	size_t count;

	how.top = (size_t)gt_cmdline_number(args, "top", 15);
	for (int i = 0; !rc && how.top && i < TIMELINE; i++)
		if (how.format == GT_FORMAT_MARKDOWN ||
		    (!is_for_people && gt_cmdline_get(args, "top")))
			gt_table_cut(&tables[i], how.top);
	count = without_empty(tables, !is_for_people);
	if (!rc)
		rc = gt_cmdline_print_tables(args, tables, count, &how);
	if (!rc && is_for_people)
		gt_memory_print_missing(memory, stdout);
	if (!rc && is_for_people && gt_memory_nodes(memory, nodes, sizeof(nodes)))
		printf("\n%s\n", nodes);
	gt_cmdline_losses(&job, 1, &how);
	for (int i = 0; i < TABLES; i++)
		gt_table_fini(&tables[i]);
	return rc ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int print_svg(const char *path, const struct gt_memory *memory)
{
	struct gt_outfile out;
	int rc;

	if (gt_outfile_open(&out, path))
		return GT_EXIT_FAILED;
	rc = gt_memory_print_svg(memory, out.file);
	return gt_outfile_close(&out, rc, NULL);
}

static bool has_pages(const struct gt_job *job)
{
	size_t count = 0;

	for (size_t i = 0; i < job->count; i++)
		count += job->models[i].pages.count;
	return count;
}

static uint64_t count_missing(const struct gt_job *job)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < job->count; i++)
		sum += gt_memory_missing(&job->models[i]);
	return sum;
}

/* All with --memory. */
static bool are_recorded(const struct gt_job *job)
{
	for (size_t i = 0; i < job->count; i++)
		if (!gt_header_has_option(&job->models[i].reading.header, "memory=yes"))
			return false;
	return job->count;
}

/* Where calls are missing, or there were none, to record allocations again is no remedy. */
static void complain_of_none(const struct gt_job *job)
{
	uint64_t missing = count_missing(job);
	char line[160] = "no allocations in these traces: record them with gputrace run --memory";

	if (!missing && are_recorded(job))
		snprintf(line, sizeof(line),
			 "no allocations in these traces: the program allocated nothing while it "
			 "was recorded");
	if (missing)
		snprintf(line, sizeof(line),
			 "no allocations in these traces, which lack %" PRIu64
			 " calls or events: gputrace stats tells why",
			 missing);
	gt_cmdline_complain(line);
}

static int print(const struct gt_cmdline *args, const struct gt_job *job)
{
	const char *svg = gt_cmdline_get(args, "svg");
	const char *by = gt_cmdline_get(args, "by");
	struct gt_memory memory;
	int rc = gt_memory_build(job, by && !strcmp(by, "stack"), &memory);

	if (rc) {
		gt_cmdline_complain("memory: out of memory");
		rc = GT_EXIT_FAILED;
	} else if (!memory.uses.count && !has_pages(job)) {
		complain_of_none(job);
		rc = GT_EXIT_FAILED;
	} else {
		rc = svg ? print_svg(svg, &memory) : print_tables(args, job, &memory);
	}
	gt_memory_fini(&memory);
	return rc;
}

static int run_memory(const struct gt_cmdline *args)
{
	struct gt_job job = {0};
	int rc = gt_cmdline_load(args, &job), printed;

	if (job.count) {
		printed = print(args, &job);
		rc = printed ? printed : rc;
	}
	gt_job_fini(&job);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_memory,
	.details =
		"Reads traces of gputrace run --memory. In use is what was asked for and not freed "
		"yet: memory of the device (cudaMalloc, cuMemAlloc), of pools (cudaMallocAsync), "
		"managed memory, arrays and physical memory (cuMemCreate, until its last handle "
		"and mapping are gone) add up to that of a device; pinned memory of the host has "
		"a row of its own. What was allocated before the trace began is not in it; frees "
		"of that are \"Allocated Before\". Memory nodes of graphs are not in it either, "
		"and "
		"counted: their memory comes and goes with launches. Double and unknown frees are "
		"those that the "
		"driver refused: of an address that had been freed, and of one that was never "
		"allocated. With run --unified-memory a table tells page faults and migrations of "
		"managed memory by what allocated it, and the kernel that ran most of that time "
		"on that GPU: the records themselves name neither. Blocks that one line of the "
		"user's code asked for are one row (--by=line); csv and json have the whole stack, "
		"too, where it is the same for all.",
	.example = "# what made up the peak, and what was never freed\n"
		   "gputrace memory trace.json\n"
		   "# memory over time, by the lines that hold it\n"
		   "gputrace memory --svg=memory.svg trace.json",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.takes_stdin = true,
	.run = run_memory,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_memory = {
	.name = "memory",
	.arguments = "[FILE|FOLDER...]",
	.help = "show the peak of GPU memory, who held it, and what was never freed",
	.run = run,
};
