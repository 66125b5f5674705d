/* SPDX-License-Identifier: Apache-2.0
 *
 * The spool of a process that launched a kernel and was killed: made by the tracer's own code in
 * this process, then read as a file. For the unit test and the fuzz target of recovery.
 */
#ifndef GT_TESTS_UNIT_SPOOL_TEMPLATE_H
#define GT_TESTS_UNIT_SPOOL_TEMPLATE_H

#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/call/call.h"
#include "collectors/cupti/buffers.h"
#include "core/guest/forkguard.h"
#include "core/spool.h"
#include "core/thread.h"
#include "pipeline/pipeline.h"
#include "pipeline/spool/spooled.h"

#define TEMPLATE_CALLS  3u
#define TEMPLATE_LAUNCH 211 /* cudaLaunchKernel */
#define TEMPLATE_LOOK   17  /* cudaGetDevice, which asks for no file */

/* The process that is killed. */
static struct gt_pipeline template;

static void template_calls(uint32_t first)
{
	for (uint32_t i = 0; i < TEMPLATE_CALLS; i++) {
		gt_call_enter(GT_API_RUNTIME, TEMPLATE_LAUNCH, first + i);
		gt_call_exit(GT_API_RUNTIME, TEMPLATE_LAUNCH, 0);
	}
}

/* A completed buffer with a kernel for each of @kernels calls from @first on, with the name @name.
 * Returns its records. */
static inline CUpti_ActivityKernel8 *template_kernels_of(uint32_t first, uint32_t kernels,
							 const char *name)
{
	uint64_t now = template.clock.first.realtime;
	CUpti_ActivityKernel8 *record;
	uint8_t *buffer;
	size_t size, records;

	gt_cupti_buffers_request(&buffer, &size, &records);
	record = (void *)buffer;
	for (uint32_t i = 0; i < kernels; i++)
		record[i] = (CUpti_ActivityKernel8){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
						    .start = now + 1000 * (i + 1),
						    .end = now + 1000 * (i + 1) + 500,
						    .correlationId = first + i,
						    .streamId = 7,
						    .gridX = 1,
						    .gridY = 1,
						    .gridZ = 1,
						    .blockX = 1,
						    .blockY = 1,
						    .blockZ = 1,
						    .name = name};
	gt_cupti_buffers_complete(buffer, kernels * sizeof(*record));
	return record;
}

/* The same for the first @kernels calls. */
static inline void template_kernels(uint32_t kernels, const char *name)
{
	template_kernels_of(1, kernels, name);
}

/* False: there is no tmpfs here with enough room. */
static bool template_begin(void)
{
	struct gt_thread_limits limits = {.ring_bytes = 16384, .max_bytes = 64 << 20};
	struct gt_pipeline *p = &template;

	memset(p, 0, sizeof(*p));
	gt_config_init(&p->config);
	gt_config_set(&p->config, GT_CONFIG_SPOOL, "on");
	gt_clock_init(&p->clock);
	p->metadata.clock_first = p->metadata.clock_last = p->clock.first;
	p->metadata.start = gt_clock_from_monotonic(&p->clock, p->clock.first.monotonic);
	p->metadata.base = gt_clock_base(p->clock.first.realtime);
	p->metadata.mode = "cupti";
	p->metadata.world_size = 1;
	p->metadata.pid = 4100;
	strcpy(p->metadata.host, "host");
	if (gt_forkguard_arm())
		abort();
	gt_pipeline_link(p);
	gt_spooling_start(&p->spooling, &p->config, p->output.folder);
	if (!gt_spool_is_open())
		return false;
	limits.extra_bytes = gt_call_state_bytes();
	if (gt_pipeline_init(p, NULL) || gt_threads_start(&limits) ||
	    gt_cupti_buffers_start(65536, 1 << 20, false, true))
		abort();
	p->gpu.has_cupti = true;
	gt_spooling_begun(&p->spooling);
	return true;
}

/* The file as it is now, its pages that were never used left out; free(). */
static void *template_read(size_t *ret_size)
{
	FILE *file = fopen(gt_spool_path(), "rb");
	struct gt_spool_header header;
	void *data;

	if (!file || fread(&header, sizeof(header), 1, file) != 1)
		abort();
	*ret_size = (size_t)header.used;
	data = aligned_alloc(4096, *ret_size);
	rewind(file);
	if (!data || fread(data, 1, *ret_size, file) != *ret_size)
		abort();
	fclose(file);
	return data;
}

#endif
