/* SPDX-License-Identifier: Apache-2.0
 *
 * An open range by itself, as the spool keeps it (pipeline/spool/spooled.h).
 */
#ifndef GT_CORE_SCHEMA_OPEN_RANGE_H
#define GT_CORE_SCHEMA_OPEN_RANGE_H

#include <stdint.h>

#include "core/schema/library_call.h"

/* Texts end with zero, and may be cut. */
struct gt_open_range {
	uint64_t id, start, key; /* as in the trace; trace ns; level, or the program's id */
	uint64_t sequence;       /* of an operator; 0: none */
	uint32_t tid, domain;    /* domain: reference into collectors/nvtx/registry.h */
	uint32_t color, flags;   /* GT_OPEN_* */
	struct gt_library_call library;
	char name[256], category[32], payload[96];
};

#define GT_OPEN_STARTED  1u /* not pushed */
#define GT_OPEN_OPERATOR 2u
#define GT_OPEN_BACKWARD 4u
#define GT_OPEN_SEQUENCE 8u
#define GT_OPEN_LIBRARY  16u

#endif
