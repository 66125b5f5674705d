/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges by plain functions, see the header.
 */
#include "collectors/nvtx/range_api.h"

#include "collectors/nvtx/internal.h"
#include "collectors/nvtx/text.h"

static uint32_t domain_of(const char *name)
{
	struct gt_nvtx_key key = {.kind = GT_NVTX_DOMAIN, .text = name};
	bool cut;

	if (!name || !*name)
		return 0;
	key.length = gt_nvtx_text_length(name, GT_NVTX_NAME_MAX, &cut);
	return gt_nvtx_reference(gt_nvtx_find_or_add(&key));
}

int gputrace_range_push(const char *domain, const char *name)
{
	struct gt_nvtx_call call = {0};

	if (gt_nvtx_prepare())
		return NVTX_NO_PUSH_POP_TRACKING;
	call.domain = domain_of(domain);
	gt_nvtx_set_text(&call, name);
	return gt_nvtx_push(&call);
}

int gputrace_range_pop(const char *domain)
{
	struct gt_nvtx_call call = {0};

	if (gt_nvtx_prepare())
		return NVTX_NO_PUSH_POP_TRACKING;
	call.domain = domain_of(domain);
	return gt_nvtx_pop(&call);
}
