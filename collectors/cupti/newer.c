/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/newer.h"

#include <string.h>

#include "collectors/cupti/cupti.h"

/* In the names of calls that the table has by default, with GT_CUDA_ENQUEUES or of graphs. */
static const char *const words[] = {"Launch", "Memcpy", "Memset", "Graph", "Capture"};

static bool is_wanted(const char *name)
{
	if (strstr(name, "Get"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strstr(name, words[i]))
			return true;
	}
	return false;
}

void gt_cupti_newer_calls(bool all, struct gt_cuda_set *set)
{
	for (int i = 0; i < GT_API_DOMAIN_COUNT_; i++) {
		enum gt_api_domain domain = (enum gt_api_domain)i;

		for (uint32_t cbid = gt_cuda_api_end(domain); cbid < GT_CUDA_SET_BITS; cbid++) {
			const char *name = gt_cupti_call_name(domain, cbid);

			if (name && (all || is_wanted(name)))
				gt_cuda_set_add(set, domain, cbid);
		}
	}
}
