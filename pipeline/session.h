/* SPDX-License-Identifier: Apache-2.0
 *
 * The session's parts, shared by the files of preload/. Owned by whoever holds it: the starting
 * thread, then the drain thread, at the very end perhaps the exiting one (gt_drain_take_over).
 */
#ifndef GT_PIPELINE_SESSION_H
#define GT_PIPELINE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/cupti/cupti.h"
#include "collectors/cupti/graph_nodes.h"
#include "collectors/cupti/translate.h"
#include "collectors/symbols/demangle.h"
#include "collectors/symbols/modules.h"
#include "collectors/symbols/symbols.h"
#include "core/config.h"
#include "core/correlate.h"
#include "core/guest/clock.h"
#include "core/intern.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "core/stack.h"
#include "pipeline/calls.h"
#include "pipeline/coexist.h"
#include "pipeline/emit.h"
#include "pipeline/output.h"

/* Who records calls. */
enum gt_session_state {
	GT_SESSION_IDLE,  /* nothing has used CUDA */
	GT_SESSION_CUPTI, /* callbacks record, hooks only pass through */
	GT_SESSION_HOOKS, /* no CUPTI: hooks record */
	GT_SESSION_OFF,   /* ended, refused, or a forked child: everything passes through */
};

/* Read by every hook: one load. Changed by the start, the end and coexistence only. */
extern _Atomic int gt_session_state;

struct gt_python_frames;
struct gt_ranges;
struct gt_stack_lane;

/* All parts of the session. */
struct gt_session {
	struct gt_config config;
	struct gt_clock clock;
	struct gt_metadata metadata;
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
	bool reported_signal;
	void (*watch_end)(
		void); /* the driver is up: exit handlers can be registered; NULL in recovery */
	struct gt_output output;
	struct gt_emit emit;
	struct gt_calls calls;
	struct gt_coexist coexist;
};

/* The session of this process. */
extern struct gt_session gt_session;

/* What events are made of and go through: names, stacks, joining. Config and clock are there. */
int gt_session_make_stores(struct gt_session *session);

/* The part of --max-rss of a store that may take @whole bytes of 1 GiB. */
size_t gt_session_share(const struct gt_session *session, size_t whole);

/* Frees them; only for a session without threads (recovery). Also of a zeroed struct. */
void gt_session_free_stores(struct gt_session *session);

#endif
