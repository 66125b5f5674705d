/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of core/schema/cuda_api.def as arrays indexed by cbid. All names are in one string and
 * rows hold offsets, so the dynamic loader has nothing to relocate.
 */
#include "core/schema/cuda_api.h"

#include <string.h>

/* One char array per name; a row holds its offsetof(). */
struct name_pool {
#define GT_CUDA_RUNTIME(cbid, version, symbol, class, flags) char runtime_##cbid[sizeof(#symbol)];
#define GT_CUDA_DRIVER(cbid, symbol, class, flags)           char driver_##cbid[sizeof(#symbol)];
#include "core/schema/cuda_api.def"
};

static const struct name_pool names = {
#define GT_CUDA_RUNTIME(cbid, version, symbol, class, flags) #symbol,
#define GT_CUDA_DRIVER(cbid, symbol, class, flags)           #symbol,
#include "core/schema/cuda_api.def"
};

_Static_assert(sizeof(struct name_pool) <= UINT16_MAX, "gt_cuda_api.name is too narrow");

#define ROW(domain, cbid, kind, bits)                                                              \
	[cbid] = {.name = offsetof(struct name_pool, domain##_##cbid),                             \
		  .class = GT_CUDA_##kind,                                                         \
		  .flags = GT_CUDA_KNOWN | (bits)},

static const struct gt_cuda_api runtime_rows[] = {
#define GT_CUDA_RUNTIME(cbid, version, symbol, class, flags) ROW(runtime, cbid, class, flags)
#include "core/schema/cuda_api.def"
};

static const struct gt_cuda_api driver_rows[] = {
#define GT_CUDA_DRIVER(cbid, symbol, class, flags) ROW(driver, cbid, class, flags)
#include "core/schema/cuda_api.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

_Static_assert(COUNT(runtime_rows) <= GT_CUDA_SET_BITS, "struct gt_cuda_set is too small");
_Static_assert(COUNT(driver_rows) <= GT_CUDA_SET_BITS, "struct gt_cuda_set is too small");

uint32_t gt_cuda_api_end(enum gt_api_domain domain)
{
	return domain == GT_API_RUNTIME ? COUNT(runtime_rows) : COUNT(driver_rows);
}

const struct gt_cuda_api *gt_cuda_api_find(enum gt_api_domain domain, uint32_t cbid)
{
	const struct gt_cuda_api *row;

	if (cbid >= gt_cuda_api_end(domain))
		return NULL;
	row = domain == GT_API_RUNTIME ? &runtime_rows[cbid] : &driver_rows[cbid];
	return row->flags & GT_CUDA_KNOWN ? row : NULL;
}

/* cudaError_t of driver_types.h and CUresult of cuda.h: these have the same numbers and meanings.
 */
static const struct {
	int32_t result;
	char words[20];
} results[] = {
	{1, "invalid value"},     {2, "out of memory"},   {101, "invalid device"},
	{201, "invalid context"}, {800, "not permitted"}, {801, "not supported"},
};

const char *gt_cuda_result_words(int32_t result)
{
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i].result == result)
			return results[i].words;
	return NULL;
}

const char *gt_cuda_api_symbol(const struct gt_cuda_api *api)
{
	return (const char *)&names + api->name;
}

const char *gt_cuda_api_name(const struct gt_cuda_api *api)
{
	const char *name = gt_cuda_api_symbol(api);

	return name[0] == '_' ? name + 2 : name;
}

/* Known calls, of those that have one of @flags or of those that have none. */
static void fill(struct gt_cuda_set *set, unsigned int flags, bool have)
{
	memset(set, 0, sizeof(*set));
	for (int domain = 0; domain < GT_API_DOMAIN_COUNT_; domain++) {
		for (uint32_t cbid = 0; cbid < gt_cuda_api_end(domain); cbid++) {
			const struct gt_cuda_api *api = gt_cuda_api_find(domain, cbid);

			if (api && ((api->flags & flags) != 0) == have)
				gt_cuda_set_add(set, (enum gt_api_domain)domain, cbid);
		}
	}
}

void gt_cuda_set_init(struct gt_cuda_set *set, unsigned int flags)
{
	fill(set, flags, true);
}

void gt_cuda_set_init_without(struct gt_cuda_set *set, unsigned int flags)
{
	fill(set, flags, false);
}

bool gt_cuda_asks_by_extents(const char *call)
{
	return strstr(call, "Array") || strstr(call, "Pitch") || strstr(call, "3D");
}
