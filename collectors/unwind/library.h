/* SPDX-License-Identifier: Apache-2.0
 *
 * What one frame of a function does to the registers, asked of libunwind. It is not let near the
 * stack: libunwind steps over a frame of a machine that does not exist, whose registers hold
 * symbols and whose stack answers each read with a new symbol. Where the symbols turn up afterwards
 * tells the rule, for CFI expressions as well as for the plain forms.
 *
 * libunwind is opened RTLD_LOCAL and never linked: were it in DT_NEEDED, C++ libraries of the
 * program would bind their _Unwind_* to it. Its remote interface opens no descriptor.
 */
#ifndef GT_COLLECTORS_UNWIND_LIBRARY_H
#define GT_COLLECTORS_UNWIND_LIBRARY_H

#include <libunwind.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/unwind/learn.h"

/* The functions of libunwind that are used. */
struct gt_unwind_library {
	unw_addr_space_t space;
	int (*init_remote)(unw_cursor_t *, unw_addr_space_t, void *);
	int (*step)(unw_cursor_t *);
	int (*get_reg)(unw_cursor_t *, unw_regnum_t, unw_word_t *);
	int (*search_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *, unw_proc_info_t *, int,
			    void *);
};

/* Symbols; no user address looks like them. Offsets of up to 2^31 in both directions belong to
 * it. */
#define GT_SYMBOL_SP 0x1000000000000000u
#define GT_SYMBOL_FP 0x2000000000000000u

/* What a step did. Values are symbols plus offsets. */
struct gt_unwind_effect {
	bool is_end;       /* the return address is undefined: outermost frame */
	uint64_t cfa;      /* sp of the next frame, when cfa_from is 0 */
	uint64_t cfa_from; /* address of the word that cfa was computed from, 0: none */
	int64_t cfa_add;   /* cfa = *cfa_from + cfa_add */
	uint64_t ra_at;    /* address of the return address */
	uint64_t fp_at;    /* address of the saved frame pointer, 0: fp is unchanged */
	uint64_t function; /* where the function begins, 0: not known */
};

/* True when @value is @symbol + *ret_offset. */
bool gt_symbol_is_near(uint64_t value, uint64_t symbol, int64_t *ret_offset);

/* Session start. -ENOENT: not installed, or too different. */
int gt_unwind_library_open(struct gt_unwind_library *library);

/* The effect of the frame whose instruction is at @ip in @module. false: none known. */
bool gt_unwind_library_step(const struct gt_unwind_library *library,
			    const struct gt_unwind_module *module, uint64_t ip,
			    struct gt_unwind_effect *ret_effect);

#endif
