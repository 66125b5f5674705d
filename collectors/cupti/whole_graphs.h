/* SPDX-License-Identifier: Apache-2.0
 *
 * --graphs=whole and off: GRAPH_TRACE in place of the records of nodes. With CUPTI 13.0.1 the
 * launch of a graph crashes that was instantiated while the kind was off. So it is enabled where no
 * graph can have been instantiated yet, once: between windows its records are left out. It is
 * disabled when no window follows; a launch without it of a graph that was made with it is
 * survived.
 */
#ifndef GT_COLLECTORS_CUPTI_WHOLE_GRAPHS_H
#define GT_COLLECTORS_CUPTI_WHOLE_GRAPHS_H

#include <stdbool.h>

#include "collectors/cupti/cupti.h"

/* Chooses, the first time; later it only says that CUPTI has lost the kind. The starting thread,
 * later the drain thread. */
void gt_cupti_graphs_enable(struct gt_cupti_status *status);

/* For good. */
void gt_cupti_graphs_disable(void);

/* Whether CUPTI records whole graphs. Any thread. */
bool gt_cupti_graphs_are_whole(void);

/* CUPTI was detached: graphs that are made from now on must not be launched with the kind. Drain
 * thread. */
void gt_cupti_graphs_lost(void);

#endif
