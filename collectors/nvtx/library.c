/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Application threads, except _listen.
 */
#include "collectors/nvtx/library.h"

#include <stdatomic.h>

#include "collectors/nvtx/internal.h"
#include "core/elf/elf_lookup.h"
#include "core/guest/log.h"
#include "core/schema/library_sink.h"

#define STACK "gputrace libraries"

static uint32_t stack; /* the domain that keeps the levels */

static bool begin_at(const struct gt_library_call *library, uint64_t began)
{
	struct gt_nvtx_call call = {
		.domain = stack, .library = library, .value_type = GT_NVTX_LIBRARY, .time = began};

	return gt_nvtx_push(&call) >= 0;
}

static bool begin(const struct gt_library_call *library)
{
	return begin_at(library, 0);
}

/* The result in the lower half of the value: gt_library_ended reads it. */
static void end_from(int result, uint32_t source)
{
	struct gt_nvtx_call call = {.domain = stack,
				    .value = (uint64_t)source << 32 | (uint32_t)result,
				    .value_type = GT_NVTX_UNSIGNED};

	gt_nvtx_pop(&call);
}

static void end(int result)
{
	struct gt_nvtx_call call = {
		.domain = stack, .value = (uint64_t)(int64_t)result, .value_type = GT_NVTX_SIGNED};

	gt_nvtx_pop(&call);
}

static void missing(const char *symbol, const char *library)
{
	gt_log_say("the %s of this process has no %s: calls of it are refused", library, symbol);
}

static void unknown(const char *library, uint64_t version)
{
	gt_log_say("the %s of this process has the version %lu, which is not known: its calls are "
		   "recorded without sizes",
		   library, (unsigned long)version);
}

static void declined(void)
{
	gt_log_say(
		"the MPI of this process is neither Open MPI nor of MPICH's ABI: its calls are not "
		"recorded");
}

static _Atomic uint64_t untaken;

static void told(const struct gt_library_call *call, uint64_t number)
{
	struct gt_nvtx_call record = {
		.op = GT_NVTX_TOLD, .id = number, .library = call, .value_type = GT_NVTX_LIBRARY};

	gt_nvtx_write(&record);
}

static void network(const struct gt_library_call *call, uint64_t number, uint64_t began,
		    uint64_t ended)
{
	struct gt_nvtx_call record = {.op = GT_NVTX_NETWORK,
				      .id = number,
				      .time = began,
				      .value = ended,
				      .library = call,
				      .value_type = GT_NVTX_LIBRARY};

	gt_nvtx_write(&record);
}

uint64_t gt_libraries_untaken(void)
{
	return atomic_load_explicit(&untaken, memory_order_relaxed);
}

bool gt_libraries_listen(const char *interposer)
{
	static _Atomic uint32_t numbers;
	static const struct gt_library_sink sink = {begin,    end,     begin_at, end_from,
						    declined, missing, unknown,  &numbers,
						    told,     network, &untaken};
	struct gt_nvtx_key key = {
		.kind = GT_NVTX_DOMAIN, .text = STACK, .length = sizeof(STACK) - 1};
	_Atomic(const struct gt_library_sink *) *variable =
		(void *)gt_elf_find_loaded(interposer, GT_LIBRARY_VARIABLE, NULL);

	if (!variable || gt_nvtx_prepare())
		return false;
	stack = gt_nvtx_reference(gt_nvtx_find_or_add(&key));
	if (stack)
		atomic_store_explicit(variable, &sink, memory_order_release);
	return stack != 0;
}
