/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/sources/stores.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "collectors/unwind/unwind.h"
#include "core/guest/memory.h"
#include "core/spool.h"
#include "pipeline/sources/collector.h"

/* What each store may take of --max-rss, of which half is for rings and buffers; at most what it
 * has of 1 GiB. */
#define WHOLE_MEMORY ((size_t)1 << 30)
#define TABLES       ((size_t)14 << 20) /* tables of fixed size and a reserve: no store's */
#define STRINGS_MAX  ((size_t)64 << 20)
#define STACKS_MAX   ((size_t)64 << 20)
#define SYMBOLS_MAX  ((size_t)256 << 20)

/* Code was unloaded: what was learned of its addresses no longer holds. */
static void on_module_gone(void *context, const struct gt_module *module)
{
	struct gt_stores *stores = context;

	gt_unwind_forget(module->start, module->end);
	gt_stacks_forget(stores->stacks, module->start, module->end);
}

size_t gt_stores_share(const struct gt_config *config, size_t whole)
{
	size_t limit = (size_t)gt_config_number(config, GT_CONFIG_MAX_RSS);

	if (limit >= WHOLE_MEMORY)
		return whole;
	limit = limit > TABLES ? limit - TABLES : 0;
	return (size_t)((double)whole / WHOLE_MEMORY * limit);
}

static int make_symbols(struct gt_stores *stores, const struct gt_config *config)
{
	stores->modules = gt_modules_new(stores->strings, on_module_gone, stores);
	stores->demangle = gt_demangle_new(stores->strings);
	if (!stores->modules || !stores->demangle)
		return -ENOMEM;
	stores->symbols = gt_symbols_new(stores->modules, stores->demangle,
					 gt_stores_share(config, SYMBOLS_MAX));
	if (!stores->symbols)
		return -ENOMEM;
	stores->stacks = gt_stacks_new(gt_symbols_find_frame, stores->symbols,
				       gt_stores_share(config, STACKS_MAX));
	return stores->stacks ? 0 : -ENOMEM;
}

int gt_stores_init(struct gt_stores *stores, const struct gt_config *config)
{
	*stores = (struct gt_stores){
		.strings = gt_intern_new(gt_stores_share(config, STRINGS_MAX)),
	};
	return stores->strings ? make_symbols(stores, config) : -ENOMEM;
}

void gt_stores_fini(struct gt_stores *stores)
{
	gt_stacks_free(stores->stacks);
	gt_symbols_free(stores->symbols);
	gt_demangle_free(stores->demangle);
	gt_modules_free(stores->modules);
	gt_intern_free(stores->strings);
	*stores = (struct gt_stores){0};
}

static bool is_limited_by_cgroup(void)
{
	return !strcmp(gt_memory_limit_cause(), GT_MEMORY_CGROUP);
}

static uint64_t refused_by_option(const void *part)
{
	(void)part;
	return is_limited_by_cgroup() ? 0 : gt_memory_count().refused;
}

static uint64_t refused_by_cgroup(const void *part)
{
	(void)part;
	return is_limited_by_cgroup() ? gt_memory_count().refused : 0;
}

static uint64_t peak_memory(const void *part)
{
	(void)part;
	return gt_memory_count().peak;
}

static uint64_t refused_strings(const void *part)
{
	const struct gt_stores *stores = part;

	return gt_intern_refused(stores->strings);
}

static uint64_t unread_modules(const void *part)
{
	const struct gt_stores *stores = part;

	return gt_symbols_refused(stores->symbols);
}

static uint64_t unspooled_bytes(const void *part)
{
	(void)part;
	return gt_spool_refused();
}

static uint64_t unspooled_threads(const void *part)
{
	(void)part;
	return gt_spool_refused_threads();
}

static const struct gt_collector_count counts[] = {
	{refused_by_option, GT_LEDGER_MEMORY_REFUSED, "LOST", NULL, "mappings",
	 "memory limit reached: raise --max-rss"},
	{refused_by_cgroup, GT_LEDGER_MEMORY_REFUSED_CGROUP, "LOST", NULL, "mappings",
	 "memory limit reached: give the container more memory"},
	{peak_memory, GT_LEDGER_MEMORY_PEAK, NULL, NULL, NULL, NULL},
	{refused_strings, GT_LEDGER_STRINGS_REFUSED, "thinned", NULL, "names",
	 "events without them"},
	{unread_modules, GT_LEDGER_MODULES_UNREAD, "thinned", NULL, "modules",
	 "frames in them are unnamed"},
	{unspooled_bytes, GT_LEDGER_SPOOL_REFUSED, "spool full", "--spool", "bytes",
	 "a kill loses them"},
	{unspooled_threads, GT_LEDGER_SPOOL_THREADS, NULL, NULL, NULL, NULL},
};

/* No source of events: what all sources share, and what it could not keep. */
const struct gt_collector gt_stores_collector = {
	.name = "stores",
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
};
