/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/library/streams.h"

#include <cupti.h>
#include <stddef.h>
#include <string.h>

#define CALLS_MAX 1024

enum { K = 1, T = 2, A = 4, IS_ROW = 8, IS_BEHIND = 16, IS_IMPLIED = 32 };

typedef cudaLaunchConfig_t config_RUNTIME;
typedef CUlaunchConfig config_DRIVER;

static const struct {
	uint8_t flags, offset;
} rows[GT_API_DOMAIN_COUNT_][CALLS_MAX] = {
#define GT_STREAM(domain, cbid, call, member, flags_)                                              \
	[GT_API_##domain][cbid] = {IS_ROW | (flags_), offsetof(call##_params, member)},
#define GT_STREAM_CONFIG(domain, cbid, call, member, flags_)                                       \
	[GT_API_##domain][cbid] = {IS_ROW | IS_BEHIND | (flags_),                                  \
				   offsetof(config_##domain, member)},
#define GT_STREAM_IMPLIED(domain, cbid, call, flags_)                                              \
	[GT_API_##domain][cbid] = {IS_ROW | IS_IMPLIED | (flags_), 0},
#include "collectors/cupti/library/streams.def"
#undef GT_STREAM
#undef GT_STREAM_CONFIG
#undef GT_STREAM_IMPLIED
};

/* False: it cannot be read. */
static bool read_handle(uint8_t flags, uint8_t offset, const void *parameters, uint64_t *ret_handle)
{
	const char *at = parameters;

	if (at && flags & IS_BEHIND) /* the first member is the pointer to the configuration */
		memcpy(&at, at, sizeof(at));
	if (at)
		memcpy(ret_handle, at + offset, sizeof(*ret_handle));
	return at;
}

bool gt_cupti_stream_of(enum gt_api_domain domain, uint32_t cbid, const void *parameters,
			struct gt_cupti_stream *ret_stream)
{
	uint8_t flags = cbid < CALLS_MAX ? rows[domain][cbid].flags : 0;

	if (!flags)
		return false;
	ret_stream->handle = flags & A ? GT_CUPTI_STREAM_ALL : 0;
	if (!(flags & IS_IMPLIED) &&
	    !read_handle(flags, rows[domain][cbid].offset, parameters, &ret_stream->handle))
		return false;
	if (!ret_stream->handle && flags & T)
		ret_stream->handle = GT_CUPTI_STREAM_PER_THREAD;
	ret_stream->is_launch = flags & K;
	return true;
}
