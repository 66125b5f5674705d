/* SPDX-License-Identifier: Apache-2.0
 *
 * What the unwinder needs from a processor. A port is one header and one source file:
 *
 *   struct gt_unwind_regs               pc, sp, fp: state of a walk from frame to frame
 *   GT_UNWIND_LOADS_PER_FRAME           words read by one step, at most
 *   GT_UNWIND_FP_REGNUM, _SP_, _RA_     DWARF's numbers of frame and stack pointer, return address
 *   gt_unwind_caller_regs(regs)         the state of the caller of the function it is used in
 *   gt_unwind_step(walk, rule)          one frame outwards
 *   gt_unwind_rule_*                    the rules that need no module's unwind tables
 *   gt_unwind_follows_call(bytes, n)    do these bytes, ending at a return address, end in a call?
 *   gt_unwind_rule_needs_fp, _saves_fp  what a rule does with the frame pointer
 *   gt_unwind_frame_bytes(...)          the size of a frame by its function's first instructions
 *   gt_unwind_derive(...)               the rule of an address, by call frame information
 *
 * A rule is one word, so that a table entry can be read and replaced without a lock. pc is always
 * in the form of a return address: the instruction is at pc - 1.
 */
#ifndef GT_COLLECTORS_UNWIND_ARCH_H
#define GT_COLLECTORS_UNWIND_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct gt_unwind_module;

/* For functions that read other frames, which a sanitizer would report. */
#define GT_UNWIND_UNFENCED __attribute__((no_sanitize("address", "undefined", "thread")))

/* A word of the stack read by a walk. */
struct gt_unwind_load {
	uint64_t address;
	uint64_t value;
};

/* Result of a step from a frame to its caller. */
enum gt_unwind_step_result {
	GT_UNWIND_STEP_OK,
	GT_UNWIND_STEP_SWITCHED, /* ok, after a signal frame: sp may be on another stack */
	GT_UNWIND_STEP_END,      /* the outermost frame */
	GT_UNWIND_STEP_BROKEN,   /* the rule leads out of the stack */
};

#if defined(__x86_64__)
#include "collectors/unwind/x86_64.h"
#else
#error "no unwinder for this processor: see the list at the top of collectors/unwind/arch.h"
#endif

/* The rule for the address @pc in @module, by its call frame information. 0: it has none for it, or
 * a rule cannot express it. No lock, no malloc. */
uint64_t gt_unwind_derive(const struct gt_unwind_module *module, uint64_t pc);

#endif
