/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by tests of the writers: a temporary folder, metadata, interned strings, a stack, and the
 * file read back. Included once per test program.
 */
#ifndef GT_TESTS_UNIT_TRACE_FIXTURE_H
#define GT_TESTS_UNIT_TRACE_FIXTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "core/guest/log.h"
#include "core/intern.h"
#include "core/stack.h"
#include "writers/sink.h"
#include "writers/writer.h"

/* Base, start of the session, and times relative to the base as in the file. */
#define BASE   1782967788000000000ull
#define AT(ns) (BASE + 5000000000000000ull + (ns))

struct trace {
	char folder[64];
	struct gt_intern *strings;
	struct gt_metadata metadata;
	struct gt_sink *sink;
	struct gt_writer *writer;
	struct gt_ledger ledger;
	char *text; /* of the file, after trace_read */
	size_t size;
};

static const struct gt_string *trace_string(struct trace *t, const char *text)
{
	return gt_intern_cstr(t->strings, text);
}

static inline bool trace_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void trace_metadata(struct trace *t)
{
	t->metadata = (struct gt_metadata){.version = "0.1.0",
					   .process = "train",
					   .host = "n3",
					   .pid = 4100,
					   .world_size = 2,
					   .local_rank = -1,
					   .base = BASE,
					   .start = AT(12345),
					   .cupti_version = 130000,
					   .runtime_version = 13000,
					   .driver_version = 13000,
					   .mode = "cupti",
					   .unwinder = "libunwind rules",
					   .device_count = 1};
	t->metadata.devices[0] = (struct gt_device_event){.id = 0,
							  .name = trace_string(t, "NVIDIA H200"),
							  .total_memory = 150121545728ull,
							  .compute_major = 9,
							  .sm_count = 132,
							  .warp_size = 32,
							  .max_threads_per_block = 1024,
							  .max_threads_per_sm = 2048,
							  .registers_per_block = 65536,
							  .registers_per_sm = 65536,
							  .shared_per_block = 49152,
							  .shared_per_block_optin = 232448,
							  .shared_per_sm = 233472};
}

/* A folder and metadata, nothing opened. */
static void trace_prepare(struct trace *t)
{
	memset(t, 0, sizeof(*t));
	gt_log_set_level(GT_LOG_QUIET);
	strcpy(t->folder, "/tmp/gputrace-test-XXXXXX");
	cr_assert_not_null(mkdtemp(t->folder));
	t->strings = gt_intern_new((size_t)64 << 20);
	cr_assert_not_null(t->strings);
	trace_metadata(t);
}

static void trace_open_in(struct trace *t, const char *directory, uint64_t max_size,
			  const struct gt_writer_options *options)
{
	struct gt_writer_options defaults = {0};
	struct gt_sink_options sink = {.directory = directory,
				       .fallback = t->folder,
				       .name = "rank0_n3_4100.1782967788123",
				       .suffix = ".pt.trace.json",
				       .max_size = max_size};
	int error = 0;

	t->sink = gt_sink_open(&sink, &error);
	cr_assert_not_null(t->sink, "error %d", error);
	t->writer = gt_writer_new("chrome");
	cr_assert_not_null(t->writer);
	error = t->writer->ops->open(t->writer, t->sink, &t->metadata,
				     options ? options : &defaults);
	cr_assert_eq(error, 0);
}

static inline void trace_open(struct trace *t)
{
	trace_prepare(t);
	trace_open_in(t, t->folder, 0, NULL);
}

static inline int trace_event(struct trace *t, const struct gt_event *event)
{
	return t->writer->ops->event(t->writer, event);
}

/* Reads the whole file into t->text. */
static inline const char *trace_read(struct trace *t)
{
	struct stat st;
	int fd = open(gt_sink_path(t->sink), O_RDONLY);
	ssize_t n;

	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	free(t->text);
	t->size = (size_t)st.st_size;
	t->text = malloc(t->size + 1);
	cr_assert_not_null(t->text);
	n = read(fd, t->text, t->size);
	cr_assert_eq((size_t)n, t->size);
	t->text[t->size] = '\0';
	close(fd);
	return t->text;
}

static inline int trace_close(struct trace *t)
{
	return t->writer->ops->close(t->writer, &t->metadata, &t->ledger);
}

static inline void trace_end(struct trace *t)
{
	char command[128];

	if (t->writer)
		t->writer->ops->fini(t->writer);
	gt_writer_free(t->writer);
	gt_sink_close(t->sink);
	gt_intern_free(t->strings);
	free(t->text);
	snprintf(command, sizeof(command), "rm -rf '%s'", t->folder);
	cr_assert_eq(system(command), 0);
}

static inline struct gt_stack *trace_stack(uint32_t id, const struct gt_stack_frame *frames,
					   uint32_t count)
{
	struct gt_stack *stack = calloc(1, sizeof(*stack) + count * sizeof(stack->frames[0]));

	cr_assert_not_null(stack);
	stack->id = id;
	stack->count = count;
	for (uint32_t i = 0; i < count; i++)
		stack->frames[i] = &frames[i];
	return stack;
}

#endif
