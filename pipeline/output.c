/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of folder and file (trace-format: "<worker>.<unix ms>.pt.trace.json").
 */
#include "pipeline/output.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/log.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/identity.h"
#include "core/pattern.h"
#include "core/spool.h"

#define PATH_BYTES 1024

/* What a job calls itself; one folder for all its processes on all hosts. */
static const char *const job_variables[] = {"SLURM_JOB_ID",   "OMPI_MCA_ess_base_jobid",
					    "PMIX_NAMESPACE", "TORCHELASTIC_RUN_ID",
					    "PBS_JOBID",      "LSB_JOBID"};

/* Only what is harmless in a file name (REQ-87): the environment is not ours. */
static void sanitize(char *name)
{
	for (char *p = name; *p; p++) {
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
			    *p))
			*p = '_';
	}
	while (*name == '.')
		*name++ = '_';
}

/* A job's id, or else the process group and when it began: the same for all members of a pipeline.
 * A lone rank has nobody to agree with on a folder, and its job may run several such in turn. */
static void run_name(char *ret_name, size_t size)
{
	size_t count =
		gt_identity_is_alone() ? 0 : sizeof(job_variables) / sizeof(job_variables[0]);

	for (size_t i = 0; i < count; i++) {
		const char *value = gt_identity_env(job_variables[i]);

		if (value && strcmp(value, "none") != 0) { /* what torchrun calls all its runs */
			gt_text_format(ret_name, size < 64 ? size : 64, "%s", value);
			sanitize(ret_name);
			return;
		}
	}
	gt_text_format(ret_name, size, "%d-%lu", (int)getpgrp(),
		       (unsigned long)gt_sys_start_ticks((int)getpgrp()));
}

static int folder_name(const struct gt_config *config, char *ret_path, size_t size)
{
	const char *given = gt_config_text(config, GT_CONFIG_OUTPUT);
	char run[128];

	if (*given)
		return gt_pattern_expand(given, gt_identity_env, ret_path, size);
	run_name(run, sizeof(run));
	gt_text_format(ret_path, size, "gputrace-out/%s", run);
	return 0;
}

void gt_output_find(struct gt_output *output, const struct gt_config *config)
{
	const char *temporary = gt_identity_env("TMPDIR");
	char name[sizeof(output->folder)];

	output->folder_error = folder_name(config, name, sizeof(name));
	gt_sys_absolute(name, output->folder, sizeof(output->folder));
	if (temporary)
		gt_sys_absolute(temporary, output->fallback, sizeof(output->fallback));
}

/* "rank0_host_pid" or "host_pid": the process among all of the job. */
static void worker_name(const struct gt_metadata *metadata, char *ret_name, size_t size)
{
	char host[65];
	size_t n = 0;

	gt_text_format(host, sizeof(host), "%s", metadata->host);
	sanitize(host);
	host[strcspn(host, ".")] = 0; /* a domain would read as another part of the name */
	if (metadata->has_rank)
		n = gt_text_format(ret_name, size, "rank%d_", metadata->rank);
	gt_text_format(ret_name + n, size - n, "%s_%u", host, metadata->pid);
}

static struct gt_writer_options writer_options(const struct gt_output *output,
					       const struct gt_config *config)
{
	return (struct gt_writer_options){
		.full_stacks = !strcmp(gt_config_text(config, GT_CONFIG_STACKS), "full"),
		.sync_lanes = gt_config_bool(config, GT_CONFIG_SYNC),
		.few_details = !strcmp(gt_config_text(config, GT_CONFIG_DETAILS), "few"),
		.has_next = output->segments.possible,
	};
}

static int open_writer(struct gt_output *output, const struct gt_config *config)
{
	bool is_file = output->sink && gt_sink_can_patch(output->sink);

	gt_segments_init(&output->segments, (uint32_t)gt_config_number(config, GT_CONFIG_KEEP),
			 is_file && gt_config_number(config, GT_CONFIG_MAX_SIZE));
	output->options = writer_options(output, config);
	return output->writer->ops->open(output->writer, output->sink, output->metadata,
					 &output->options);
}

int gt_output_open(struct gt_output *output, const struct gt_config *config,
		   struct gt_metadata *metadata, const struct gt_ledger *ledger)
{
	char worker[160], name[256], owner[32];
	struct gt_sink_options options = {
		.directory = output->folder,
		.fallback = output->fallback,
		.name = name,
		.owner = owner,
		.aside = worker,
		.max_size = (uint64_t)gt_config_number(config, GT_CONFIG_MAX_SIZE),
	};
	int error = output->folder_error;

	output->metadata = metadata;
	output->ledger = ledger;
	output->writer = gt_writer_new(gt_config_text(config, GT_CONFIG_FORMAT));
	if (!output->writer) {
		output->failed = true;
		return -ENOMEM;
	}
	worker_name(metadata, worker, sizeof(worker));
	gt_text_format(name, sizeof(name), "%s.%lu", worker,
		       (unsigned long)(metadata->start / 1000000u));
	gt_text_format(owner, sizeof(owner), "rank%d", metadata->rank);
	options.suffix = output->writer->ops->suffix;
	if (options.suffix && !error)
		output->sink = gt_sink_open(&options, &error);
	if (output->sink)
		gt_output_set_name(gt_sink_path(output->sink)); /* before a byte is in it */
	if (error == 0)
		error = open_writer(output, config);
	if (error && output->sink) {
		gt_sink_discard(output->sink);
		gt_output_set_name("");
		output->sink = NULL;
	}
	if (error) {
		if (error == -ENOMEM || error == -ENAMETOOLONG) /* the sink tells all else */
			gt_log_say("cannot write a trace into %s (error %d)", output->folder,
				   -error);
		output->failed = true;
		return error;
	}
	gt_log_verbose("writing %s", output->sink ? gt_sink_path(output->sink) : "nothing");
	return 0;
}

static bool is_full(const struct gt_output *output)
{
	const struct gt_writer *writer = output->writer;

	return output->segments.possible && writer->ops->is_full && writer->ops->is_full(writer);
}

void gt_output_event(struct gt_output *output, const struct gt_event *event)
{
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

int gt_output_close(struct gt_output *output, struct gt_ledger *ledger)
{
	int error = 0;

	if (output->writer && !output->failed) {
		gt_segments_rest(&output->segments, ledger);
		output->metadata->segment[GT_SEGMENT_LAST] =
			output->metadata->segment[GT_SEGMENT_NUMBER] != 0;
		error = output->writer->ops->close(output->writer, output->metadata, ledger);
	}
	if (output->writer && output->writer->ops->fini)
		output->writer->ops->fini(output->writer);
	gt_segments_fini(&output->segments);
	gt_writer_free(output->writer);
	if (output->sink)
		gt_sink_close(output->sink);
	memset(output, 0, sizeof(*output));
	return error;
}
