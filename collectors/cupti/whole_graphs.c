/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/whole_graphs.h"

#include <string.h>

#include "collectors/cupti/internal.h"
#include "core/guest/log.h"
#include "core/guest/text.h"

#define BIT ((uint64_t)1 << CUPTI_ACTIVITY_KIND_GRAPH_TRACE)

bool gt_cupti_graphs_are_whole(void)
{
	return atomic_load_explicit(&gt_cupti.graphs, memory_order_relaxed) ==
	       GT_CUPTI_GRAPHS_WHOLE;
}

void gt_cupti_graphs_lost(void)
{
	int whole = GT_CUPTI_GRAPHS_WHOLE;

	atomic_compare_exchange_strong(&gt_cupti.graphs, &whole, GT_CUPTI_GRAPHS_LOST);
}

/* Why graphs are recorded by nodes although that was not asked for. NULL: they need not be. */
static const char *why_nodes(void)
{
	const char *coexist = gt_config_text(gt_cupti.config, GT_CONFIG_COEXIST);

	if (atomic_load(&gt_cupti.graphs) == GT_CUPTI_GRAPHS_LOST)
		return "another tool detached CUPTI, and graphs may have been made since";
	if (!strcmp(coexist, "share") || !strcmp(coexist, "yield"))
		return "with --coexist=share or yield: CUPTI would withhold the nodes from other "
		       "tools, too";
	return gt_cupti.is_late || gt_cupti.may_have_graphs
		       ? "recording began after the start of the program"
		       : NULL;
}

static bool enable(void)
{
	if (gt_cupti.api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) != CUPTI_SUCCESS)
		return false;
	atomic_fetch_or(&gt_cupti.kinds, BIT);
	return true;
}

void gt_cupti_graphs_disable(void)
{
	if (!gt_cupti_graphs_are_whole())
		return;
	gt_cupti.api.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	atomic_fetch_and(&gt_cupti.kinds, ~BIT);
}

void gt_cupti_graphs_enable(struct gt_cupti_status *status)
{
	const char *how = gt_config_text(gt_cupti.config, GT_CONFIG_GRAPHS), *why;
	int chosen = atomic_load(&gt_cupti.graphs);

	if (!strcmp(how, "node") || chosen == GT_CUPTI_GRAPHS_NODES ||
	    chosen == GT_CUPTI_GRAPHS_WHOLE)
		return;
	why = why_nodes();
	if (!why && !enable())
		why = "CUPTI refused GRAPH_TRACE (the driver must be of release 515 or later)";
	atomic_store(&gt_cupti.graphs, why ? GT_CUPTI_GRAPHS_NODES : GT_CUPTI_GRAPHS_WHOLE);
	if (!why) {
		gt_text_format(status->graphs, sizeof(status->graphs), "%s", how);
		return;
	}
	gt_text_format(status->graphs, sizeof(status->graphs), "node: %s", why);
	gt_log_say("--graphs=%s is not possible, graphs are recorded by nodes: %s", how, why);
}
