/* SPDX-License-Identifier: Apache-2.0
 *
 * See cuda_call.h. The index is made at the first question.
 */
#include "trace/cuda_call.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/schema/cuda_api.h"

#define MAX_ROWS 2048
#define MAX_NAME 128

static struct {
	const struct gt_cuda_api *rows[MAX_ROWS];
	size_t count;
} by_name;

static int compare_rows(const void *a, const void *b)
{
	const struct gt_cuda_api *const *x = a, *const *y = b;

	return strcmp(gt_cuda_api_name(*x), gt_cuda_api_name(*y));
}

static void add_domain(enum gt_api_domain domain)
{
	for (uint32_t cbid = 0; cbid < gt_cuda_api_end(domain); cbid++) {
		const struct gt_cuda_api *row = gt_cuda_api_find(domain, cbid);

		if (row && by_name.count < MAX_ROWS)
			by_name.rows[by_name.count++] = row;
	}
}

static void make_index(void)
{
	add_domain(GT_API_RUNTIME);
	add_domain(GT_API_DRIVER);
	qsort(by_name.rows, by_name.count, sizeof(by_name.rows[0]), compare_rows);
}

static int compare_name(const void *key, const void *element)
{
	const struct gt_cuda_api *const *row = element;

	return strcmp(key, gt_cuda_api_name(*row));
}

static const struct gt_cuda_api *find(const char *name)
{
	const struct gt_cuda_api *const *found =
		bsearch(name, by_name.rows, by_name.count, sizeof(by_name.rows[0]), compare_name);

	return found ? *found : NULL;
}

/* Cuts the last "_v3020", "_ptds" or "_ptsz". False: there is none. */
static bool cut_suffix(char *name)
{
	char *mark = strrchr(name, '_');

	if (!mark || mark == name)
		return false;
	if (strcmp(mark, "_ptds") != 0 && strcmp(mark, "_ptsz") != 0 &&
	    !(mark[1] == 'v' && mark[2] && mark[2 + strspn(mark + 2, "0123456789")] == 0))
		return false;
	*mark = 0;
	return true;
}

static const struct gt_cuda_api *find_without_suffix(const char *prefix, const char *name)
{
	const struct gt_cuda_api *row;
	char plain[MAX_NAME];

	if ((size_t)snprintf(plain, sizeof(plain), "%s%s", prefix, name) >= sizeof(plain))
		return NULL;
	do
		row = find(plain);
	while (!row && cut_suffix(plain));
	return row;
}

static enum gt_cuda_call call_of_row(const struct gt_cuda_api *row)
{
	if (!row)
		return GT_CUDA_CALL_OTHER;
	if (row->flags & GT_CUDA_BLOCKS)
		return GT_CUDA_CALL_BLOCKS;
	return row->flags & GT_CUDA_ENQUEUES || row->class == GT_CUDA_HOST_FUNC
		       ? GT_CUDA_CALL_ENQUEUES
		       : GT_CUDA_CALL_OTHER;
}

/* HIP's calls are those of the runtime or of the driver under "hip"; these have no such twin. */
static const struct {
	const char *name;
	enum gt_cuda_call call;
} hip_calls[] = {
	{"ModuleLaunchKernel", GT_CUDA_CALL_ENQUEUES},
	{"ModuleLaunchCooperativeKernel", GT_CUDA_CALL_ENQUEUES},
	{"ExtModuleLaunchKernel", GT_CUDA_CALL_ENQUEUES},
	{"HccModuleLaunchKernel", GT_CUDA_CALL_ENQUEUES},
	{"ExtLaunchKernel", GT_CUDA_CALL_ENQUEUES},
	{"ExtLaunchMultiKernelMultiDevice", GT_CUDA_CALL_ENQUEUES},
	{"MemcpyWithStream", GT_CUDA_CALL_BLOCKS},
};

static const struct gt_cuda_api *hip_row_of(const char *name)
{
	const struct gt_cuda_api *row = find_without_suffix("cuda", name);

	return row ? row : find_without_suffix("cu", name);
}

static enum gt_cuda_call hip_call_of(const char *name)
{
	for (size_t i = 0; i < sizeof(hip_calls) / sizeof(hip_calls[0]); i++)
		if (!strcmp(hip_calls[i].name, name))
			return hip_calls[i].call;
	return call_of_row(hip_row_of(name));
}

/* Of SYCL's Unified Runtime, its forerunner and Level Zero: the names in a Kineto trace of an XPU.
 * One of them ending in a star stands for all that begin so. */
static const struct {
	const char *name;
	enum gt_cuda_call call;
} xpu_calls[] = {
	{"urEnqueue*", GT_CUDA_CALL_ENQUEUES},
	{"urEventWait", GT_CUDA_CALL_BLOCKS},
	{"urQueueFinish", GT_CUDA_CALL_BLOCKS},
	{"piEnqueue*", GT_CUDA_CALL_ENQUEUES},
	{"piextUSMEnqueue*", GT_CUDA_CALL_ENQUEUES},
	{"piEventsWait", GT_CUDA_CALL_BLOCKS},
	{"piQueueFinish", GT_CUDA_CALL_BLOCKS},
	{"zeCommandListAppend*", GT_CUDA_CALL_ENQUEUES},
	{"zeCommandQueueExecuteCommandLists", GT_CUDA_CALL_ENQUEUES},
	{"zeCommandListImmediateAppendCommandListsExp", GT_CUDA_CALL_ENQUEUES},
	{"zeCommandQueueSynchronize", GT_CUDA_CALL_BLOCKS},
	{"zeCommandListHostSynchronize", GT_CUDA_CALL_BLOCKS},
	{"zeEventHostSynchronize", GT_CUDA_CALL_BLOCKS},
	{"zeFenceHostSynchronize", GT_CUDA_CALL_BLOCKS},
};

static enum gt_cuda_call xpu_call_of(const char *name)
{
	for (size_t i = 0; i < sizeof(xpu_calls) / sizeof(xpu_calls[0]); i++) {
		size_t n = strcspn(xpu_calls[i].name, "*");

		if (!strncmp(xpu_calls[i].name, name, n) && (xpu_calls[i].name[n] || !name[n]))
			return xpu_calls[i].call;
	}
	return GT_CUDA_CALL_OTHER;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

enum gt_cuda_class gt_cuda_class_of(const char *name)
{
	bool is_hip = !strncmp(name, "hip", 3);
	const struct gt_cuda_api *row;

	pthread_once(&once, make_index);
	row = is_hip ? hip_row_of(name + 3) : find_without_suffix("", name);
	return row ? (enum gt_cuda_class)row->class : GT_CUDA_CLASS_COUNT_;
}

enum gt_cuda_call gt_cuda_call_of(const char *name)
{
	pthread_once(&once, make_index);
	if (!strncmp(name, "hip", 3))
		return hip_call_of(name + 3);
	if (!strncmp(name, "cu", 2))
		return call_of_row(find_without_suffix("", name));
	return xpu_call_of(name);
}
