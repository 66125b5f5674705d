/* SPDX-License-Identifier: Apache-2.0
 *
 * The session's parts, shared by the files of preload/. Owned by whoever holds it: the starting
 * thread, then the drain thread, at the very end perhaps the exiting one (gt_drain_take_over).
 */
#ifndef GT_PRELOAD_SESSION_INTERNAL_H
#define GT_PRELOAD_SESSION_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/cupti.h"
#include "collectors/cupti_translate.h"
#include "collectors/demangle.h"
#include "collectors/graph_nodes.h"
#include "collectors/modules.h"
#include "collectors/symbols.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/correlate.h"
#include "core/facts.h"
#include "core/intern.h"
#include "core/ledger.h"
#include "core/stack.h"
#include "preload/calls.h"
#include "preload/coexist.h"
#include "preload/emit.h"
#include "preload/output.h"
#include "preload/session.h"

struct gt_python_frames;
struct gt_ranges;
struct gt_stack_lane;

struct gt_session {
	struct gt_config config;
	struct gt_clock clock;
	struct gt_facts facts;
	struct gt_ledger ledger;
	struct gt_intern *strings;
	struct gt_demangle *demangle;
	struct gt_modules *modules;
	uint64_t modules_seen; /* CLOCK_MONOTONIC ns: what was loaded by then is known */
	struct gt_symbols *symbols;
	struct gt_stacks *stacks;
	uint32_t captured_frames;           /* most addresses that a call delivers; 0: no stacks */
	struct gt_graph_nodes *graph_nodes; /* NULL: no memory for them */
	struct gt_python_frames *python;    /* NULL: Python stacks are not wanted */
	struct gt_translate translate;
	struct gt_cupti_status cupti;
	_Atomic bool
		has_cupti; /* the exiting thread may take it from a drain thread that is stuck */
	struct gt_ranges *ranges;
	struct gt_stack_lane *stack_lane; /* NULL: not wanted */
	_Atomic bool has_sampler;         /* set when the drain thread runs already */
	bool told_signal;
	struct gt_output output;
	struct gt_emit emit;
	struct gt_calls calls;
	struct gt_coexist coexist;
};

extern struct gt_session gt_session;

/* What events are made of and go through: names, stacks, joining. Config and clock are there. */
int gt_session_make_stores(struct gt_session *session);

/* Frees them; only for a session without threads (recovery). Also of a zeroed struct. */
void gt_session_free_stores(struct gt_session *session);

#endif
