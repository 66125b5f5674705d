/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/library/streams.h"

#include <cupti.h>
#include <stddef.h>

/* The flags of streams.def. */
enum { K = GT_CUPTI_STREAM_LAUNCH, T = 8, A = 16 };

/* And those of a kind of row. */
enum {
	PLAIN = GT_CUPTI_STREAM_KNOWN | GT_CUPTI_STREAM_PLAIN,
	BEHIND = GT_CUPTI_STREAM_KNOWN | 32,
	IMPLIED = GT_CUPTI_STREAM_KNOWN | 64
};

#define MEMBER(flags) ((flags)&T ? GT_CUPTI_STREAM_KNOWN : PLAIN)

typedef cudaLaunchConfig_t config_RUNTIME;
typedef CUlaunchConfig config_DRIVER;

const struct gt_cupti_stream_row gt_cupti_stream_rows[GT_API_DOMAIN_COUNT_][GT_CUPTI_STREAM_CALLS] =
	{
#define GT_STREAM(domain, cbid, call, member, flags_)                                              \
	[GT_API_##domain][cbid] = {MEMBER(flags_) | (flags_), offsetof(call##_params, member)},
#define GT_STREAM_CONFIG(domain, cbid, call, member, flags_)                                       \
	[GT_API_##domain][cbid] = {BEHIND | (flags_), offsetof(config_##domain, member)},
#define GT_STREAM_IMPLIED(domain, cbid, call, flags_)                                              \
	[GT_API_##domain][cbid] = {IMPLIED | (flags_), 0},
#include "collectors/cupti/library/streams.def"
#undef GT_STREAM
#undef GT_STREAM_CONFIG
#undef GT_STREAM_IMPLIED
};

static bool is(struct gt_cupti_stream_row row, uint8_t kind)
{
	return (row.flags & kind) == kind;
}

/* False: it cannot be read. */
static bool read_handle(struct gt_cupti_stream_row row, const void *parameters,
			uint64_t *ret_handle)
{
	const void *const *config = parameters; /* if it is the first member */
	const char *at = parameters;

	if (at && is(row, BEHIND))
		at = *config;
	if (at)
		memcpy(ret_handle, at + row.offset, sizeof(*ret_handle));
	return at;
}

bool gt_cupti_stream_find(struct gt_cupti_stream_row row, const void *parameters,
			  struct gt_cupti_stream *ret_stream)
{
	ret_stream->handle = row.flags & A ? GT_CUPTI_STREAM_ALL : 0;
	if (!is(row, IMPLIED) && !read_handle(row, parameters, &ret_stream->handle))
		return false;
	if (!ret_stream->handle && row.flags & T)
		ret_stream->handle = GT_CUPTI_STREAM_PER_THREAD;
	ret_stream->is_launch = row.flags & K;
	return true;
}
