/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids of flows. The first operation of a call has its flow under the call's correlation id. With
 * --details=all each further one, as the nodes of a graph, has a flow of its own, because the
 * legacy viewer ends a flow once. Its id is the correlation id, with a number below, above all
 * others, and exact as a double. Pure, any thread.
 */
#ifndef GT_CORE_JSON_FLOW_ID_H
#define GT_CORE_JSON_FLOW_ID_H

#include <stdint.h>

#define GT_FLOW_ID_OWN    ((int64_t)1 << 52)
#define GT_FLOW_ID_SHIFT  20 /* bits of the number: it tells the operations of one call apart */
#define GT_FLOW_ID_NUMBER (((uint32_t)1 << GT_FLOW_ID_SHIFT) - 1)

/* The id of a flow of its own. */
static inline int64_t gt_flow_id_own(uint32_t correlation, uint32_t number)
{
	return GT_FLOW_ID_OWN + ((int64_t)correlation << GT_FLOW_ID_SHIFT) +
	       (number & GT_FLOW_ID_NUMBER);
}

/* The correlation id of the call of any flow. */
static inline int64_t gt_flow_id_call(int64_t id)
{
	return id < GT_FLOW_ID_OWN ? id : (id - GT_FLOW_ID_OWN) >> GT_FLOW_ID_SHIFT;
}

#endif
