/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of kernels by the addresses at which CUPTI shows them to the callback of a launch, and
 * those that were registered with NVTX by their references. Of a killed process the memory behind
 * both is gone: recovery takes the names from here where nothing had been read that has them. A
 * table in the spool, of fixed size; a name that does not fit is left out. Lock-free: application
 * threads add, nobody removes.
 */
#ifndef GT_COLLECTORS_CALL_KERNEL_NAMES_H
#define GT_COLLECTORS_CALL_KERNEL_NAMES_H

#include <stdatomic.h>
#include <stdint.h>

#define GT_KERNEL_NAMES      8192u
#define GT_KERNEL_NAME_BYTES (512u << 10)

/* As it lies in the spool, zero at first. */
struct gt_kernel_names {
	_Atomic uint64_t symbol[GT_KERNEL_NAMES]; /* address in the process; 0: free */
	_Atomic uint32_t text[GT_KERNEL_NAMES];   /* 1 + where it begins; 0: not there yet */
	_Atomic uint32_t used;                    /* of the bytes */
	char bytes[GT_KERNEL_NAME_BYTES];         /* mangled names, each with its zero */
};

/* What is added to a reference of NVTX: no address is so large. */
#define GT_KERNEL_NAMES_NVTX ((uint64_t)1 << 63)

/* Where names are noted; NULL: nowhere. Set before the first call is recorded. */
void gt_kernel_names_start(struct gt_kernel_names *names);

/* Application threads: @symbol is the address of the name of a kernel that is being launched, and
 * can be read; 0: of none. */
void gt_kernel_names_note(uint64_t symbol);

/* The same for a name that stands elsewhere; @key is not 0, and always of the same @name. */
void gt_kernel_names_note_as(uint64_t key, const char *name);

/* For recovery, of bytes that are not trusted: the name that was at @symbol. NULL: not noted. */
const char *gt_kernel_names_find(const struct gt_kernel_names *names, uint64_t symbol);

#endif
