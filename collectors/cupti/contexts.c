/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of contexts and of references to primary contexts, see the header. References that the
 * CUDA runtime takes unseen make a count too low: then the context counts as destroyed, and records
 * are fetched for nothing.
 */
#include "collectors/cupti/contexts.h"

#include <stdatomic.h>
#include <stddef.h>

#include <cupti.h>

#define DEVICES 64

_Static_assert(GT_CUPTI_RETAIN == CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain, "CUPTI's id");

/* CUPTI's functionParams: the parameters in their order. */
struct retain_params {
	CUcontext *context;
	CUdevice device;
};

struct device_params {
	CUdevice device;
};

static _Atomic int alive;
static _Atomic uint32_t made;
static _Atomic int references[DEVICES]; /* to the primary context of a device */

void gt_cupti_contexts_forget(void)
{
	atomic_store(&alive, 0);
	for (int i = 0; i < DEVICES; i++)
		atomic_store(&references[i], 0);
}

/* Not below zero: what was created before we looked is not counted. */
static int count_down(_Atomic int *count)
{
	int before = atomic_load(count);

	while (before > 0 && !atomic_compare_exchange_weak(count, &before, before - 1))
		continue;
	return before > 0 ? before - 1 : 0;
}

void gt_cupti_contexts_created(void)
{
	atomic_fetch_add(&alive, 1);
	atomic_fetch_add(&made, 1);
}

uint32_t gt_cupti_contexts_made(void)
{
	return atomic_load(&made);
}

void gt_cupti_contexts_destroyed(void)
{
	count_down(&alive);
}

bool gt_cupti_contexts_several(void)
{
	return atomic_load(&alive) > 1;
}

/* NULL: unknown. */
static _Atomic int *references_to(CUdevice device)
{
	return device >= 0 && device < DEVICES ? &references[device] : NULL;
}

void gt_cupti_contexts_retained(const void *params)
{
	const struct retain_params *retain = params;
	_Atomic int *count = retain ? references_to(retain->device) : NULL;

	if (count)
		atomic_fetch_add(count, 1);
}

bool gt_cupti_contexts_is_retain(enum gt_api_domain domain, uint32_t cbid)
{
	return cbid == GT_CUPTI_RETAIN && domain == GT_API_DRIVER;
}

static enum gt_cupti_left after_one(const void *params)
{
	(void)params;
	return gt_cupti_contexts_several() ? GT_CUPTI_LEFT_OTHERS : GT_CUPTI_LEFT_NONE;
}

/* The context of which it is a part remains. */
static enum gt_cupti_left after_green(const void *params)
{
	(void)params;
	return GT_CUPTI_LEFT_OTHERS;
}

static enum gt_cupti_left after_release(const void *params)
{
	const struct device_params *release = params;
	_Atomic int *count = release ? references_to(release->device) : NULL;

	return count && count_down(count) > 0 ? GT_CUPTI_LEFT_ALL : after_one(params);
}

/* Whatever the references are worth then. */
static enum gt_cupti_left after_reset(const void *params)
{
	const struct device_params *reset = params;
	_Atomic int *count = reset ? references_to(reset->device) : NULL;

	if (count)
		atomic_store(count, 0);
	return after_one(params);
}

static const struct {
	uint32_t cbid;
	enum gt_cupti_left (*after)(const void *params);
} driver_calls[] = {
	{CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease, after_release},
	{CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2, after_release},
	{CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset, after_reset},
	{CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2, after_reset},
	{CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy, after_green},
};

enum gt_cupti_left gt_cupti_contexts_after(enum gt_api_domain domain, uint32_t cbid,
					   const void *params)
{
	for (size_t i = 0; i < sizeof(driver_calls) / sizeof(driver_calls[0]); i++) {
		if (domain == GT_API_DRIVER && driver_calls[i].cbid == cbid)
			return driver_calls[i].after(params);
	}
	return after_one(params);
}
