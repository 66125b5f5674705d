/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of folder and file (trace-format: "<worker>.<unix ms>.pt.trace.json").
 */
#include "pipeline/output/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/guest/log.h"
#include "core/guest/memory.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/identity.h"
#include "core/pattern.h"
#include "core/run_name.h"
#include "core/spool.h"
#include "pipeline/spool/spooled.h"
#include "writers/deflate.h"
#include "writers/file.h"

/* What a file takes until it is open: its writer, its window of GPU work, its sink. */
#define FILE_BYTES ((size_t)6 << 20)

static int folder_name(const struct gt_config *config, char *ret_path, size_t size)
{
	const char *given = gt_config_text(config, GT_CONFIG_OUTPUT);
	char run[GT_RUN_NAME_BYTES];

	if (gt_pattern_unset(given, gt_identity_env, run, sizeof(run)))
		gt_log_say("--output=%s: the environment variable %s is not set", given, run);
	if (*given)
		return gt_pattern_expand(given, gt_identity_env, ret_path, size);
	gt_run_name_find(run, sizeof(run));
	gt_text_format(ret_path, size, GT_RUN_PARENT "/%s", run);
	return 0;
}

static bool packs(const struct gt_config *config)
{
	return strcmp(gt_config_text(config, GT_CONFIG_COMPRESS), "off") != 0;
}

void gt_output_find(struct gt_output *output)
{
	const char *temporary = gt_identity_env("TMPDIR");
	bool is_null = !strcmp(gt_config_text(output->config, GT_CONFIG_FORMAT), "null");
	char name[sizeof(output->folder)];

	if (packs(output->config) && !gt_deflate_is_there())
		gt_log_say("the trace stays plain: this build has no ISA-L to compress it with; "
			   "gputrace compress FILE does it afterwards");
	gt_memory_keep(is_null ? 0 : FILE_BYTES);
	output->folder_error = folder_name(output->config, name, sizeof(name));
	gt_sys_absolute(name, output->folder, sizeof(output->folder));
	if (temporary)
		gt_sys_absolute(temporary, output->fallback, sizeof(output->fallback));
}

void gt_output_move(struct gt_output *output, const char *folder)
{
	char name[sizeof(output->folder)];

	if (!folder || *folder != '/' || output->sink ||
	    gt_pattern_expand(folder, gt_identity_env, name, sizeof(name)) ||
	    !strcmp(name, output->folder))
		return;
	gt_text_format(output->folder, sizeof(output->folder), "%s", name);
	output->folder_error = 0;
	if (*output->home)
		gt_text_format(output->home, sizeof(output->home), "%s", name);
}

/* "rank0_host_pid" or "host_pid": the process among all of the job. */
static void worker_name(const struct gt_metadata *metadata, char *ret_name, size_t size)
{
	char host[GT_PATTERN_VALUE + 1];
	size_t n = 0;

	gt_pattern_clean(metadata->host, host);
	host[strcspn(host, ".")] = 0; /* a domain would read as another part of the name */
	if (metadata->has_rank)
		n = gt_text_format(ret_name, size, "rank%d_", metadata->rank);
	gt_text_format(ret_name + n, size - n, "%s_%u", host, metadata->pid);
}

static struct gt_writer_options writer_options(const struct gt_output *output)
{
	const struct gt_config *config = output->config;

	return (struct gt_writer_options){
		.full_stacks = !strcmp(gt_config_text(config, GT_CONFIG_STACKS), "full"),
		.sync_tracks = gt_config_bool(config, GT_CONFIG_SYNC),
		.few_details = !strcmp(gt_config_text(config, GT_CONFIG_DETAILS), "few"),
		.brief = !strcmp(gt_config_text(config, GT_CONFIG_DETAILS), "default"),
		.own_flows = !strcmp(gt_config_text(config, GT_CONFIG_DETAILS), "all"),
		.has_next = output->segments.possible,
		.border = output->segments.newest_call,
	};
}

/* A trace on tmpfs counts against the memory limit of the cgroup. Returns how many files are
 * kept. */
static uint32_t fit_files(const struct gt_output *output)
{
	uint64_t size = (uint64_t)gt_config_number(output->config, GT_CONFIG_MAX_SIZE);
	uint32_t keep = (uint32_t)gt_config_number(output->config, GT_CONFIG_KEEP);

	if (!output->budget || !output->sink || !gt_sink_is_in_memory(output->sink))
		return keep;
	if (gt_budget_fit_files(output->budget, &size, &keep)) {
		gt_sink_set_max_size(output->sink, size);
		gt_log_say("%s is in memory (tmpfs), of which the cgroup allows %lu MiB: files of "
			   "%lu MiB, the newest %u are kept",
			   gt_sink_path(output->sink),
			   (unsigned long)(output->budget->cgroup.bytes >> 20),
			   (unsigned long)(size >> 20), keep);
	} else if (!keep && output->budget->cgroup.bytes) {
		gt_log_say("%s is in memory (tmpfs), of which the cgroup allows %lu MiB, and "
			   "--keep=0 keeps all of it",
			   gt_sink_path(output->sink),
			   (unsigned long)(output->budget->cgroup.bytes >> 20));
	}
	return keep;
}

static int open_writer(struct gt_output *output)
{
	const struct gt_config *config = output->config;
	bool is_file = output->sink && gt_sink_can_patch(output->sink);

	gt_memory_use_kept(false); /* the next file can do without */
	gt_segments_init(&output->segments, fit_files(output),
			 is_file && gt_config_number(config, GT_CONFIG_MAX_SIZE),
			 output->writer->ops->open_bytes + gt_sink_bytes(output->sink));
	gt_memory_use_kept(true);
	output->options = writer_options(output);
	return output->writer->ops->open(output->writer, output->sink, output->metadata,
					 &output->options);
}

struct gt_file *gt_output_file(const struct gt_output *output)
{
	if (!gt_output_is_open(output) || !output->writer->ops->file)
		return NULL;
	return output->writer->ops->file(output->writer);
}

/* The file reports what was lost before it was there. */
static void hand_losses(struct gt_output *output)
{
	struct gt_file *file = gt_output_file(output);

	if (!file)
		return;
	gt_losses_add(&file->lost, &output->lost);
	output->earlier = output->lost;
	output->lost = (struct gt_losses){0};
}

const struct gt_losses *gt_output_lost(const struct gt_output *output)
{
	const struct gt_file *file = gt_output_file(output);

	return file ? &file->lost : &output->lost;
}

void gt_output_where(const struct gt_output *output, char *ret_text, size_t size)
{
	int error = output->sink ? gt_sink_refused(output->sink) : 0;
	size_t n = gt_text_format(ret_text, size, "%s", gt_output_name());
	char number[32];

	if (error)
		gt_text_format(ret_text + n, size - n, " (cannot write to %s: %s)",
			       *output->home ? output->home : output->folder,
			       gt_sink_reason(error, number, sizeof(number)));
}

void gt_output_refusal(const struct gt_output *output, char *ret_text, size_t size)
{
	char number[32];

	gt_text_format(ret_text, size, "no trace can be written into %s (%s)",
		       *output->home ? output->home : output->folder,
		       gt_sink_reason(output->lost.error ? output->lost.error : -EIO, number,
				      sizeof(number)));
}

int gt_output_lack(uint64_t lost, int error, char *ret_text, size_t size)
{
	char number[32];

	*ret_text = 0;
	if (!lost || !error)
		return 0;
	gt_text_format(ret_text, size, " without %lu %s (%s)", (unsigned long)lost,
		       lost == 1 ? "event" : "events",
		       gt_sink_reason(error, number, sizeof(number)));
	return error;
}

static void name_file(const struct gt_output *output, const char *worker, char *ret_name,
		      size_t size)
{
	const struct gt_metadata *metadata = output->metadata;
	bool is_first = !*output->home && metadata->window_number <= 1;
	uint64_t time = is_first ? metadata->start : metadata->window_begin;

	if (output->dump)
		gt_text_format(ret_name, size, "%s.%lu.dump%u", worker,
			       (unsigned long)(output->dump_time / 1000000u), output->dump);
	else
		gt_text_format(ret_name, size, "%s.%lu", worker, (unsigned long)(time / 1000000u));
}

bool gt_output_beside(const struct gt_output *output, char *ret_folder, char *ret_name, size_t size)
{
	char worker[160];

	if (output->folder_error ||
	    !strcmp(gt_config_text(output->config, GT_CONFIG_FORMAT), "null"))
		return false;
	worker_name(output->metadata, worker, sizeof(worker));
	gt_text_format(ret_folder, size, "%s", *output->home ? output->home : output->folder);
	gt_text_format(ret_name, size, "%s.%lu", worker,
		       (unsigned long)(output->metadata->start / 1000000u));
	return true;
}

/* One process writes into the folder itself, and its later windows go where the first is. */
static struct gt_sink *open_sink(const struct gt_output *output, const char *worker, int *ret_error)
{
	const struct gt_config *config = output->config;
	const struct gt_metadata *metadata = output->metadata;
	bool is_first = !*output->home;
	char name[256], owner[32];
	struct gt_sink_options options = {
		.directory = is_first ? output->folder : output->home,
		.fallback = output->fallback,
		.name = name,
		.suffix = output->writer->ops->suffix,
		.owner = is_first ? owner : NULL,
		.aside = worker,
		.max_size = (uint64_t)gt_config_number(config, GT_CONFIG_MAX_SIZE),
		.known = output->dump ? 0 : output->refused,
		.unsaved = output->budget ? output->budget->unsaved : 0,
		.packs = packs(config),
	};

	name_file(output, worker, name, sizeof(name));
	gt_text_format(owner, sizeof(owner), "rank%d", metadata->rank);
	return options.suffix ? gt_sink_open(&options, ret_error) : NULL;
}

/* Makes the file, and its writer. */
static int open_file(struct gt_output *output, const char *worker)
{
	int error = output->folder_error;

	if (!error)
		output->sink = open_sink(output, worker, &error);
	if (output->sink) {
		gt_output_set_stream(!gt_sink_can_patch(output->sink));
		gt_output_set_name(gt_sink_path(output->sink)); /* before a byte is in it */
	}
	if (!error)
		error = open_writer(output);
	if (!error || !output->sink)
		return error;
	gt_sink_discard(output->sink);
	gt_output_set_name("");
	output->sink = NULL;
	return error;
}

static int fail(struct gt_output *output, int error)
{
	char why[128];

	gt_memory_why(why, sizeof(why));
	if (error == -ENOMEM)
		gt_log_say("cannot write a trace into %s: not enough memory (%s)", output->folder,
			   why);
	else if (error == -ENAMETOOLONG) /* the sink tells all else */
		gt_log_say("cannot write a trace into %s (name too long)", output->folder);
	output->failed = true;
	output->refused = error;
	output->lost.error = error;
	output->lost.since = output->metadata->start;
	return error;
}

/* The first one was said. */
static void say_unwritten(struct gt_output *output)
{
	char number[32];

	if (output->unwritten > 1)
		gt_log_say("%u windows had no trace (%s)", output->unwritten,
			   gt_sink_reason(output->refused, number, sizeof(number)));
	output->unwritten = 0;
}

/* With the memory that is kept for it; from then on it has it. */
static int make_file(struct gt_output *output)
{
	char worker[160];
	int error;

	output->writer = gt_writer_new(gt_config_text(output->config, GT_CONFIG_FORMAT));
	if (!output->writer)
		return -ENOMEM;
	worker_name(output->metadata, worker, sizeof(worker));
	error = open_file(output, worker);
	if (!error)
		gt_memory_keep(0);
	return error;
}

int gt_output_open(struct gt_output *output)
{
	int error;

	gt_memory_use_kept(true);
	error = make_file(output);
	gt_memory_use_kept(false);
	if (error)
		return fail(output, error);
	say_unwritten(output);
	output->refused = output->sink ? gt_sink_refused(output->sink) : 0;
	hand_losses(output);
	gt_segments_tell_names(&output->segments, output->writer);
	gt_log_verbose("writing %s", output->sink ? gt_sink_path(output->sink) : "nothing");
	return 0;
}

static bool is_full(const struct gt_output *output)
{
	const struct gt_writer *writer = output->writer;

	return output->segments.possible && writer->ops->is_full && writer->ops->is_full(writer);
}

/* The writer must know a device before the first event on it. */
static void update_metadata(struct gt_output *output)
{
	if (output->metadata_written == output->metadata->generation)
		return;
	output->metadata_written = output->metadata->generation;
	output->writer->ops->metadata(output->writer, output->metadata);
}

/* That ranks meet by NCCL the first kernel of it tells, however the library came in. */
static __attribute__((noinline)) void see_backend(struct gt_output *output,
						  const struct gt_string *kernel)
{
	struct gt_metadata *metadata = output->metadata;

	output->kernel = kernel;
	if (!kernel || strncmp(kernel->text, "nccl", 4) != 0 || !strcmp(metadata->backend, "nccl"))
		return;
	gt_text_format(metadata->backend, sizeof(metadata->backend), "nccl");
	metadata->generation++;
}

void gt_output_event(struct gt_output *output, const struct gt_event *event)
{
	if (event->kind == GT_EVENT_KERNEL && event->kernel.name != output->kernel)
		see_backend(output, event->kernel.name);
	update_metadata(output);
	gt_segments_see(&output->segments, event);
	output->writer->ops->event(output->writer, event);
	while (is_full(output))
		gt_segments_turn(output);
}

void gt_output_flush(struct gt_output *output, uint64_t settled)
{
	output->writer->ops->flush(output->writer, settled);
	while (is_full(output)) {
		gt_segments_turn(output);
		output->writer->ops->flush(output->writer, settled);
	}
}

/* It ends with the process. */
static bool is_over_soon(int error)
{
	return error == -EMFILE || error == -ENFILE;
}

static void say_unclosed(const struct gt_output *output)
{
	bool has_spool = gt_spool_is_open();

	if (!output->failed)
		gt_segments_say_unclosed(gt_output_file(output),
					 has_spool ? "once there is room, gputrace repair adds it"
						   : "what it lacks is lost");
	else if (has_spool && !is_over_soon(output->lost.error)) /* else all is said */
		gt_log_say("no trace in %s: once there is room, gputrace repair makes one",
			   output->folder);
	else if (has_spool)
		gt_log_say("no trace in %s: gputrace repair makes one", output->folder);
}

/* Another error than these stays. */
static bool is_passing(int error)
{
	return error == -ENOSPC || error == -EDQUOT || is_over_soon(error);
}

/* A pipe has no ledger that would tell it. */
static void say_lack(const struct gt_output *output)
{
	const struct gt_losses *lost = gt_output_lost(output);
	char lack[128];

	if (gt_output_is_stream() &&
	    gt_output_lack(lost->disk - output->earlier.disk, lost->error, lack, sizeof(lack)))
		gt_log_say("the trace in %s ends early,%s", gt_output_name(), lack);
}

/* What cannot be repaired, as a FIFO, is done with. */
static int close_file(struct gt_output *output, struct gt_ledger *ledger)
{
	int error;

	if (output->failed)
		return is_passing(output->lost.error) && !gt_output_is_stream() ? output->lost.error
										: 0;
	output->metadata->segment[GT_SEGMENT_LAST] =
		output->metadata->segment[GT_SEGMENT_NUMBER] != 0;
	gt_segments_tell_removed(output);
	error = output->writer->ops->close(output->writer, output->metadata, ledger);
	gt_spooling_lost(output->spooling, gt_output_lost(output));
	say_lack(output);
	return output->sink && gt_sink_can_patch(output->sink) ? error : 0;
}

static void free_file(struct gt_output *output)
{
	if (gt_output_is_open(output) && output->sink)
		gt_memory_keep(FILE_BYTES); /* for the next window's */
	if (output->writer && output->writer->ops->fini)
		output->writer->ops->fini(output->writer);
	gt_writer_free(output->writer);
	if (output->sink)
		gt_sink_close(output->sink);
	output->writer = NULL;
	output->sink = NULL;
}

static void remember_end(struct gt_output *output)
{
	const struct gt_losses *lost = gt_output_lost(output);
	struct gt_output_end *ended = &output->ended;

	*ended = (struct gt_output_end){.lost = lost->disk - output->earlier.disk,
					.error = lost->error};
	if (output->sink)
		gt_text_format(ended->path, sizeof(ended->path), "%s", gt_sink_path(output->sink));
}

/* The folder of the file. */
static void remember_home(struct gt_output *output)
{
	char *end;

	if (*output->home || !output->sink)
		return;
	gt_text_format(output->home, sizeof(output->home), "%s", gt_sink_path(output->sink));
	end = strrchr(output->home, '/');
	if (end)
		*end = 0;
}

/* A kill may come between the last byte and the claim: what the program did meanwhile is for the
 * next dump. */
static void prepare_end(const struct gt_output *output, const struct gt_ledger *claim)
{
	static const uint64_t no_segment[GT_SEGMENT_COUNT_];
	struct gt_ledger claimed = gt_segments_claimed(&output->segments, claim);

	if (output->dump && output->writer && !output->failed)
		gt_spooling_closing(output->spooling, no_segment, &claimed);
}

/* The next window is another one's. */
static void note_unwritten(struct gt_output *output)
{
	char number[32];

	if (!output->unwritten++)
		gt_log_say("window %u has no trace (%s): what it recorded is lost, which the next "
			   "trace counts; the next window is tried again",
			   output->metadata->window_number,
			   gt_sink_reason(output->refused, number, sizeof(number)));
}

/* Whether the recorder still has all that it holds. */
static bool is_kept(const struct gt_output *output)
{
	return output->dump && !output->metadata->segment[GT_SEGMENT_NUMBER];
}

/* The next file tells what is not in this one, which has no ledger. Returns whether that is so. */
static bool leave_unclosed(struct gt_output *output, struct gt_ledger *claim)
{
	const struct gt_file *file = gt_output_file(output);
	bool kept = is_kept(output);

	gt_segments_say_unclosed(file, kept ? "the next dump has what is in it"
					    : "the next trace counts what it lacks");
	if (file->has_end)
		return false;
	gt_losses_add(&output->lost, kept ? &output->earlier : &file->lost);
	output->lost.error = file->lost.error;
	gt_spooling_lost(output->spooling, &output->lost);
	*claim = kept ? (struct gt_ledger){0} : gt_segments_claim_written(&file->written.ledger);
	return true;
}

/* Another file may follow. Where there was none, the next one tells what is lost here. Returns
 * whether it tells that of this one, too. */
static bool end_file(struct gt_output *output, struct gt_ledger *ledger, uint64_t in_flight)
{
	struct gt_ledger claim = output->failed ? (struct gt_ledger){0} : *ledger;
	bool is_left = false;
	int error = 0;

	prepare_end(output, &claim);
	if (output->failed && !output->dump)
		note_unwritten(output);
	else if (output->writer)
		error = close_file(output, ledger);
	remember_end(output);
	if (error && output->failed)
		say_unclosed(output);
	else if (error)
		is_left = leave_unclosed(output, &claim);
	claim.count[GT_LEDGER_OPS_IN_FLIGHT] -= in_flight;
	output->earlier = (struct gt_losses){0};
	remember_home(output);
	free_file(output);
	gt_segments_end(&output->segments, &claim);
	memset(output->metadata->segment, 0, sizeof(output->metadata->segment));
	gt_spooling_claim(output->spooling, output->metadata->segment, &output->segments.claimed);
	output->failed = false;
	output->metadata_written = 0;
	return is_left;
}

void gt_output_end_window(struct gt_output *output, struct gt_ledger *ledger, uint64_t in_flight)
{
	gt_segments_rest(&output->segments, ledger);
	end_file(output, ledger, in_flight);
}

bool gt_output_end_dump(struct gt_output *output, struct gt_ledger *ledger)
{
	const struct gt_file *file = gt_output_file(output);
	uint64_t *count = ledger->count;
	bool kept = is_kept(output);

	gt_segments_rest(&output->segments, ledger);
	count[GT_LEDGER_BUFFERS_KEPT] = count[GT_LEDGER_BUFFERS_UNREAD] = 0; /* the next one's */
	if (file)
		gt_segments_leave(ledger, &file->written.ledger, &file->lost);
	else /* the next one tells what is lost here */
		*ledger = (struct gt_ledger){0};
	count[GT_LEDGER_CALLS_SEEN] = gt_ledger_ended_calls(ledger);
	count[GT_LEDGER_CALLS_OPEN] = count[GT_LEDGER_OPS_IN_FLIGHT] = 0;
	return !(end_file(output, ledger, 0) && kept) && file;
}

int gt_output_close(struct gt_output *output)
{
	int error = 0;

	if (output->writer && !output->failed) {
		gt_spooling_update(output->spooling, output->ledger);
		gt_segments_rest(&output->segments, output->ledger);
	}
	if (output->writer)
		error = close_file(output, output->ledger);
	say_unwritten(output);
	if (error)
		say_unclosed(output);
	free_file(output);
	gt_segments_fini(&output->segments);
	memset(output, 0, sizeof(*output));
	return error;
}
