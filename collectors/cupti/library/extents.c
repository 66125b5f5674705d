/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/library/extents.h"

#include <cupti.h>
#include <stddef.h>
#include <string.h>

#define CALLS_MAX 512

/* Offsets; none is 0, as each of the calls begins with a destination or a symbol. */
static const struct {
	uint8_t first, second;
} extents[GT_API_DOMAIN_COUNT_][CALLS_MAX] = {
#define GT_EXTENT(domain, cbid, call, first_, second_)                                             \
	[GT_API_##domain][cbid] = {offsetof(call##_params, first_),                                \
				   offsetof(call##_params, second_)},
#include "collectors/cupti/library/extents.def"
#undef GT_EXTENT
};

static size_t size_at(const void *parameters, uint8_t offset)
{
	size_t size;

	memcpy(&size, (const char *)parameters + offset, sizeof(size));
	return size;
}

bool gt_cupti_is_of_nothing(enum gt_api_domain domain, uint32_t cbid, const void *parameters)
{
	if (cbid >= CALLS_MAX || !extents[domain][cbid].first || !parameters)
		return false;
	return !size_at(parameters, extents[domain][cbid].first) ||
	       !size_at(parameters, extents[domain][cbid].second);
}
