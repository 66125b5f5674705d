/* SPDX-License-Identifier: Apache-2.0
 *
 * The stores of a session, see the header. The thread that starts it.
 */
#include "pipeline/session.h"

#include <errno.h>
#include <string.h>

#include "collectors/unwind/unwind.h"
#include "core/guest/memory.h"
#include "core/spool.h"
#include "core/stack.h"
#include "pipeline/collector.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/spooled.h"

/* What each store may take of --max-rss, of which half is for rings and buffers; at most what it
 * has of 1 GiB. */
#define WHOLE_MEMORY ((size_t)1 << 30)
#define STRINGS_MAX  ((size_t)64 << 20)
#define STACKS_MAX   ((size_t)64 << 20)
#define SYMBOLS_MAX  ((size_t)256 << 20)

/* Code was unloaded: what was learned of its addresses no longer holds. */
static void on_module_gone(void *context, const struct gt_module *module)
{
	struct gt_session *s = context;

	gt_unwind_forget(module->start, module->end);
	gt_stacks_forget(s->stacks, module->start, module->end);
}

size_t gt_session_share(const struct gt_session *s, size_t whole)
{
	size_t limit = (size_t)gt_config_number(&s->config, GT_CONFIG_MAX_RSS);

	return limit >= WHOLE_MEMORY ? whole : (size_t)((double)whole / WHOLE_MEMORY * limit);
}

static int make_symbols(struct gt_session *s)
{
	s->modules = gt_modules_new(s->strings, on_module_gone, s);
	s->demangle = gt_demangle_new(s->strings);
	if (!s->modules || !s->demangle)
		return -ENOMEM;
	s->symbols = gt_symbols_new(s->modules, s->demangle, gt_session_share(s, SYMBOLS_MAX));
	if (!s->symbols)
		return -ENOMEM;
	s->stacks =
		gt_stacks_new(gt_symbols_find_frame, s->symbols, gt_session_share(s, STACKS_MAX));
	return s->stacks ? 0 : -ENOMEM;
}

int gt_session_make_stores(struct gt_session *s)
{
	bool has_calls = strcmp(gt_config_text(&s->config, GT_CONFIG_API), "none") != 0;
	int error;

	s->strings = gt_intern_new(gt_session_share(s, STRINGS_MAX));
	error = s->strings ? make_symbols(s) : -ENOMEM;
	if (error)
		return error;
	s->translate = (struct gt_translate){
		.clock = &s->clock,
		.strings = s->strings,
		.demangle = s->demangle,
		.ledger = &s->ledger,
		.session_start = s->clock.first.realtime,
		.notes = gt_spooled_notes(),
		.emit = gt_emit_event,
		.tie = gt_coexist_tie,
		.context = s,
	};
	s->ranges = gt_ranges_new(gt_config_text(&s->config, GT_CONFIG_STEP_RANGE),
				  gt_config_bool(&s->config, GT_CONFIG_PYTORCH), gt_emit_event);
	return s->ranges ? gt_emit_init(&s->emit, has_calls) : -ENOMEM;
}

void gt_session_free_stores(struct gt_session *s)
{
	gt_emit_fini(&s->emit);
	gt_ranges_free(s->ranges);
	gt_stacks_free(s->stacks);
	gt_symbols_free(s->symbols);
	gt_demangle_free(s->demangle);
	gt_modules_free(s->modules);
	gt_intern_free(s->strings);
}

static uint64_t refused_memory(const struct gt_session *s)
{
	(void)s;
	return gt_memory_count().refused;
}

static uint64_t peak_memory(const struct gt_session *s)
{
	(void)s;
	return gt_memory_count().peak;
}

static uint64_t refused_strings(const struct gt_session *s)
{
	return gt_intern_refused(s->strings);
}

static uint64_t unread_modules(const struct gt_session *s)
{
	return gt_symbols_refused(s->symbols);
}

static uint64_t unspooled_bytes(const struct gt_session *s)
{
	(void)s;
	return gt_spool_refused();
}

static uint64_t unspooled_threads(const struct gt_session *s)
{
	(void)s;
	return gt_spool_refused_threads();
}

static const struct gt_collector_count counts[] = {
	{refused_memory, GT_LEDGER_MEMORY_REFUSED, "LOST", "--max-rss", "mappings",
	 "memory limit reached: raise --max-rss"},
	{peak_memory, GT_LEDGER_MEMORY_PEAK, NULL, NULL, NULL, NULL},
	{refused_strings, GT_LEDGER_STRINGS_REFUSED, "thinned", "--max-rss", "names",
	 "events without them"},
	{unread_modules, GT_LEDGER_MODULES_UNREAD, "thinned", "--max-rss", "modules",
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
