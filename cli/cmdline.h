/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of the commands that read traces: one option table makes the parser, --help and
 * the man page. Single-threaded.
 */
#ifndef GT_CLI_CMDLINE_H
#define GT_CLI_CMDLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analysis/key.h"
#include "analysis/table/mangled.h"
#include "analysis/table/table.h"
#include "cli/command.h"
#include "trace/job.h"

/* One option of a command: its name, argument, values and help. */
struct gt_cmdline_option {
	const char *name;     /* "format", written --format=... */
	const char *argument; /* name of the value in the help, "[=HZ]": it may be missing; NULL: a
				 flag */
	const char *values;   /* "a|b|c", "0..100" (whole numbers), or NULL: anything */
	const char *help;     /* NULL: it is there to be refused, and not told */
};

struct gt_cmdline;

/* A command line: what the parser, --help and messages are made of. */
struct gt_cmdline_spec {
	const struct gt_command *command; /* its name, arguments and one-line help */
	const char *details;              /* paragraphs for --help and the man page, or NULL */
	const char *example;              /* command lines, with # lines that tell; NULL */
	const struct gt_cmdline_option *options; /* ended by a NULL name; NULL: none */
	size_t min_inputs, max_inputs;           /* words that are not options */
	bool takes_newest;                       /* without a word: the newest run */
	bool takes_stdin;                        /* the word "-" is the standard input */
	bool has_sides; /* "--" stands between two groups of inputs, not behind the options */
	int (*run)(const struct gt_cmdline *args);
	void (*print_words)(
		FILE *out); /* more words for completion: "word\tmeaning" a line; NULL */
};

#define GT_CMDLINE_MAX_GIVEN 64

/* Whether an option with this argument cannot be given without a value. Pure. */
bool gt_cmdline_needs_value(const char *argument);

/* A parsed command line. */
struct gt_cmdline {
	const struct gt_cmdline_spec *spec;
	struct {
		size_t option;     /* index in spec->options */
		const char *value; /* "" for a flag */
	} given[GT_CMDLINE_MAX_GIVEN];
	size_t given_count;
	char **inputs;
	size_t input_count;
	size_t first_side;  /* inputs before "--"; SIZE_MAX: there is none */
	size_t last_parted; /* of given: one whose value is a word of its own; SIZE_MAX: none */
};

/* Fills *ret_args from the words behind the command's name. GT_EXIT_USAGE after one line on stderr
 * that names the mistake. ret_args->inputs points into @argv, which is reordered. */
int gt_cmdline_parse(const struct gt_cmdline_spec *spec, int argc, char **argv,
		     struct gt_cmdline *ret_args);

/* The last value given for an option, or NULL. */
const char *gt_cmdline_get(const struct gt_cmdline *args, const char *option);

/* The values of an option that may be repeated, in order: *position starts at 0. NULL: no more. */
const char *gt_cmdline_next(const struct gt_cmdline *args, const char *option, size_t *position);

/* The one trace that input @index is, or that the folder is which it names: to be freed. NULL after
 * a line on stderr: there is none, or more than one. */
char *gt_cmdline_trace(const struct gt_cmdline *args, size_t index);

/* A whole number that the table already checked, or @otherwise. */
long gt_cmdline_number(const struct gt_cmdline *args, const char *option, long otherwise);

/* A time that the table already checked, in ns; a bare number counts @unit ns. 0: not given. */
int64_t gt_cmdline_time(const struct gt_cmdline *args, const char *option, int64_t unit);

#define GT_CMDLINE_TIME     "0..TIME" /* option.values: "50us", "2ms", or a bare number */
#define GT_CMDLINE_MAX_TIME 1e16      /* ns, 115 days */

/* The same of a text. False: it is none, or too long. */
bool gt_cmdline_read_time(const char *text, int64_t unit, int64_t *ret_ns);

/* One line on stderr, "gputrace <command>: ..."; returns GT_EXIT_USAGE. */
int gt_cmdline_wrong(const struct gt_cmdline *args, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* One line on stderr, "gputrace: ...". */
void gt_cmdline_complain(const char *line);

/* Whether @path is a file that can be read twice, or nothing is there; else that it is not one is
 * said on stderr. */
bool gt_cmdline_can_read_twice(const char *path);

/* A whole command: --help, the parser, spec->run, and whether standard output took everything.
 * Returns the exit status. argv[0] is the command's name. */
int gt_cmdline_main(const struct gt_cmdline_spec *spec, int argc, char **argv);

/* Reads all inputs of a command into @job. An exit status; the caller frees the job in any case. */
int gt_cmdline_load(const struct gt_cmdline *args, struct gt_job *job);

/* The same of the files in job->paths. */
int gt_cmdline_load_found(const struct gt_cmdline *args, struct gt_job *job);

/* Says that there is only work of another vendor, @count slices, if any. An exit status. */
int gt_cmdline_check_work(const struct gt_cmdline *args, uint64_t count);

/* The same with a job for each input; zeroed at first. */
int gt_cmdline_load_each(const struct gt_cmdline *args, struct gt_job *jobs);

/* Says what the traces do not hold, if anything, and what the tracer noted: behind tables for
 * people on standard output, else, and without @how, on stderr, where it is in nobody's way. */
void gt_cmdline_losses(const struct gt_job *const *jobs, size_t count, const struct gt_print *how);

/* The same of texts that are gathered already. */
void gt_cmdline_report_losses(const char *text, const struct gt_print *how);
void gt_cmdline_report_events(const char *text, const struct gt_print *how);

/* Takes all --filter options. An exit status; the caller frees the filter in any case. */
int gt_cmdline_filter(const struct gt_cmdline *args, struct gt_filter *filter);

/* Says so on stderr when nothing in the traces of @count jobs passes the filter. */
void gt_cmdline_report_filter(const struct gt_job *jobs, size_t count,
			      const struct gt_filter *filter);

/* The whole work of a command that answers one question of all its inputs: loads them, has what
 * passes
 * --filter printed, says when nothing does. An exit status. */
int gt_cmdline_answer(const struct gt_cmdline *args,
		      int (*print)(const struct gt_cmdline *args, const struct gt_job *job,
				   const struct gt_filter *filter));

/* How tables are to be printed: --format, --names, --width, COLUMNS, the terminal, NO_COLOR. */
struct gt_print gt_cmdline_print(const struct gt_cmdline *args);

/* With --names=mangled: gives @how the names that @count jobs have, which @names holds; says so
 * when there are none. Free @names with gt_mangled_names_fini in any case. */
void gt_cmdline_mangled(const struct gt_cmdline *args, const struct gt_job *jobs, size_t count,
			struct gt_mangled_names *names, struct gt_print *how);
/* The same of names that were found otherwise. */
void gt_cmdline_use_mangled(const struct gt_cmdline *args, struct gt_mangled_names *names,
			    struct gt_print *how);

/* Prints tables on standard output, or with --output=FOLDER each into a file of its own there,
 * named as the table. An exit status. */
int gt_cmdline_print_tables(const struct gt_cmdline *args, const struct gt_table *tables,
			    size_t count, const struct gt_print *how);

#define GT_CMDLINE_TABLES_OPTION                                                                   \
	{                                                                                          \
		"output", "FOLDER", NULL,                                                          \
			"write each table into a file of its own in FOLDER, which is made, named " \
			"as json names the table: cuda_gpu_kern_sum.csv, ..."                      \
	}
#define GT_CMDLINE_COMMUNICATION_OPTION                                                            \
	{                                                                                          \
		"communication", "GLOB", NULL,                                                     \
			"kernels whose name or function fits GLOB are communication, too, "        \
			"besides "                                                                 \
			"those of NCCL, RCCL, NVSHMEM, MSCCL++, UCC, DeepEP, PyTorch's symmetric " \
			"memory, and the all-reduces of vLLM and TensorRT-LLM; may be repeated"    \
	}
/* The first value is the default (gt_cmdline_load). */
#define GT_CMDLINE_FRAME_OPTIONS(values, help)                                                     \
	{"frame", "WHICH", values, help},                                                          \
	{                                                                                          \
		"user-code", "GLOB,...", NULL,                                                     \
			"frames whose source file, module or function fits GLOB come before the "  \
			"user's other ones; may be repeated"                                       \
	}
#define GT_CMDLINE_USER_FRAME                                                                      \
	"the frame of a call stack that gets the GPU time: user (default), the innermost one in "  \
	"your code, which is all but the CUDA toolkit, system and Python libraries, "              \
	"site-packages and header libraries (Thrust, CUB, CUTLASS, ...); or innermost, in "        \
	"anyone's code. Frames with a source line are preferred"
#define GT_CMDLINE_SYMBOLIZE_OPTION                                                                \
	{                                                                                          \
		"symbolize", "WHEN", "on|off",                                                     \
			"source lines of native frames: on (default) looks for them in modules "   \
			"that are on this machine with the build id of the trace, in their debug " \
			"files, and, where DEBUGINFOD_URLS is set, on its servers; for 20 "        \
			"seconds at most"                                                          \
	}
#define GT_CMDLINE_FORMAT_OPTION                                                                   \
	{                                                                                          \
		"format", "NAME", "table|csv|json|markdown",                                       \
			"table (default), csv, json or markdown"                                   \
	}
#define GT_CMDLINE_WIDTH_OPTION                                                                    \
	{                                                                                          \
		"width", "N", "0..10000",                                                          \
			"columns that lines may have, in pipes too (0: any number; default: "      \
			"COLUMNS, else those of the terminal)"                                     \
	}
#define GT_CMDLINE_NAMES_OPTIONS                                                                   \
	{"names", "FORM", "short|full|mangled",                                                    \
	 "names of kernels and functions: short (default of table and markdown) has what they "    \
	 "differ in, functor, tile and type first, and \"...\" for what is left out; full "        \
	 "(default of csv and json) has all; mangled: kernels as their modules have them, where "  \
	 "the trace tells"},                                                                       \
		GT_CMDLINE_WIDTH_OPTION
#define GT_CMDLINE_FILTER_OPTION                                                                   \
	{                                                                                          \
		"filter", "KEY=VALUE", NULL,                                                       \
			"only kernel=GLOB (or a name as a table prints it), api=GLOB, nvtx=GLOB, " \
			"step=GLOB or its number, stream=N, device=N or time=FROM..TO (0: the "    \
			"first slice of the whole job; ms, or with a unit); repeated: any of the " \
			"same key, and each of different keys. With kernel, stream or device: of " \
			"calls only those that launched such work"                                 \
	}

#endif
