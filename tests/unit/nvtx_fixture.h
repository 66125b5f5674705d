/* SPDX-License-Identifier: Apache-2.0
 *
 * The NVTX injection in a test: the toolkit's headers in this program call the handlers, the
 * records are read back from the ring of the thread. Included by one file of a test.
 */
#ifndef GT_TESTS_UNIT_NVTX_FIXTURE_H
#define GT_TESTS_UNIT_NVTX_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The headers' own code, which finds a tool in a symbol of the program, set below. */
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtCounters.h>

#include "collectors/call/call.h"
#include "collectors/call/records.h"
#include "collectors/nvtx/nvtx.h"
#include "collectors/nvtx/record.h"
#include "core/guest/forkguard.h"
#include "core/thread.h"

__attribute__((constructor)) static void attach(void)
{
	unsetenv("NVTX_INJECTION64_PATH");
	InitializeInjectionNvtx2_fnptr = InitializeInjectionNvtx2;
	InitializeInjectionNvtxExtension_fnptr = InitializeInjectionNvtxExtension;
}

static inline void start_session(size_t ring_bytes)
{
	struct gt_thread_limits limits = {.ring_bytes = ring_bytes,
					  .extra_bytes = gt_call_state_bytes(),
					  .max_bytes = 64 << 20};

	cr_assert_eq(gt_forkguard_arm(), 0);
	cr_assert_eq(gt_threads_start(&limits), 0);
}

static inline const struct gt_nvtx_record *next(void)
{
	static const struct gt_nvtx_record *last;

	if (last) {
		gt_ring_pass(&gt_thread_self->ring, &last->head);
		gt_ring_release(&gt_thread_self->ring);
	}
	last = (const void *)gt_ring_next(&gt_thread_self->ring);
	cr_assert(!last || last->head.type == GT_RECORD_NVTX);
	return last;
}

static inline void expect_record(enum gt_nvtx_op op, uint64_t id, const char *text)
{
	const struct gt_nvtx_record *record = next();

	cr_assert_not_null(record, "no record for %s", text);
	cr_assert_eq(record->head.flags, op);
	cr_assert_eq(record->id, id, "%s: id %lu", text, (unsigned long)record->id);
	cr_assert_eq(record->text_length, strlen(text));
	cr_assert_eq(memcmp(record->data, text, strlen(text)), 0);
}

#endif
