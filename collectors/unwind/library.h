/* SPDX-License-Identifier: Apache-2.0
 *
 * The effect of one frame of a function on the registers, computed by libunwind. It never sees the
 * real stack: it steps over a frame of a symbolic machine, whose registers hold symbols and whose
 * stack answers each read with a new symbol. The rule follows from where the symbols are
 * afterwards, for CFI expressions as well as for the plain forms.
 *
 * libunwind is opened RTLD_LOCAL and never linked: in DT_NEEDED, it would capture the _Unwind_* of
 * the program's C++ libraries. Its remote interface opens no descriptor.
 */
#ifndef GT_COLLECTORS_UNWIND_LIBRARY_H
#define GT_COLLECTORS_UNWIND_LIBRARY_H

#include <libunwind.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/unwind/learn.h"

/* The functions of libunwind in use. */
struct gt_unwind_library {
	unw_addr_space_t space;
	int (*init_remote)(unw_cursor_t *, unw_addr_space_t, void *);
	int (*step)(unw_cursor_t *);
	int (*get_reg)(unw_cursor_t *, unw_regnum_t, unw_word_t *);
	int (*search_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *, unw_proc_info_t *, int,
			    void *);
};

/* Symbols; they look like no user address. Offsets up to 2^31 in both directions belong to them. */
#define GT_SYMBOL_SP 0x1000000000000000u
#define GT_SYMBOL_FP 0x2000000000000000u

/* Effect of a step. Values are symbols plus offsets. */
struct gt_unwind_effect {
	bool is_end;       /* the return address is undefined: outermost frame */
	uint64_t cfa;      /* sp of the next frame, when cfa_from is 0 */
	uint64_t cfa_from; /* address of the word that cfa was computed from, 0: none */
	int64_t cfa_add;   /* cfa = *cfa_from + cfa_add */
	uint64_t ra_at;    /* address of the return address */
	uint64_t fp_at;    /* address of the saved frame pointer, 0: fp is unchanged */
	uint64_t function; /* start of the function, 0: not known */
};

/* True when @value is @symbol + *ret_offset. */
bool gt_symbol_is_near(uint64_t value, uint64_t symbol, int64_t *ret_offset);

/* Session start. -ENOENT: not installed, or incompatible. */
int gt_unwind_library_open(struct gt_unwind_library *library);

/* The effect of the frame with the instruction at @ip in @module. False: unknown. */
bool gt_unwind_library_step(const struct gt_unwind_library *library,
			    const struct gt_unwind_module *module, uint64_t ip,
			    struct gt_unwind_effect *ret_effect);

#endif
