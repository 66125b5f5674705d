/* SPDX-License-Identifier: Apache-2.0
 *
 * What the driver did with pages of unified (managed) memory, --unified-memory: what is known of it
 * in a trace, and the arguments that say it.
 */
#ifndef GT_CORE_SCHEMA_UNIFIED_H
#define GT_CORE_SCHEMA_UNIFIED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/pftrace.h"

/* The numbers are CUPTI's. */
enum gt_unified_kind {
	GT_UNIFIED_UNKNOWN,
	GT_UNIFIED_HTOD,
	GT_UNIFIED_DTOH,
	GT_UNIFIED_CPU_FAULT,
	GT_UNIFIED_GPU_FAULT,
	GT_UNIFIED_THRASHING,
	GT_UNIFIED_THROTTLING,
	GT_UNIFIED_REMOTE_MAP,
	GT_UNIFIED_DTOD,
	GT_UNIFIED_KIND_COUNT_
};

#define GT_UNIFIED_EVICTION 4 /* the cause of a migration: room was needed on the GPU */

/* A processor: a GPU by its number, or one of these. */
#define GT_UNIFIED_CPU      UINT16_MAX
#define GT_UNIFIED_NONE     (UINT16_MAX - 1)
#define GT_UNIFIED_DEVICES  64 /* of these the mask tells */

/* One migration, fault, ... kind 0: it is none. */
struct gt_unified_facts {
	uint64_t address; /* of the pages; 0: not known */
	uint64_t value;   /* bytes; GPU faults: groups of them; CPU fault: address of the code */
	uint64_t devices; /* thrashing: a bit for each GPU that fights for the pages */
	uint16_t from,
		to;     /* of a migration, a mapping; of the others from: who faulted, or waits */
	uint8_t kind;   /* enum gt_unified_kind */
	uint8_t why;    /* as CUPTI has it: the access of a fault, the cause of the others */
	uint8_t on_cpu; /* thrashing: the CPU is among those that fight */
	uint8_t unused;
};

/* Arguments of the slice. */
enum gt_unified_arg {
	GT_UNIFIED_ADDRESS,
	GT_UNIFIED_BYTES,
	GT_UNIFIED_FAULTS,
	GT_UNIFIED_PC,
	GT_UNIFIED_FROM,
	GT_UNIFIED_TO,
	GT_UNIFIED_PROCESSOR,
	GT_UNIFIED_PROCESSORS,
	GT_UNIFIED_ACCESS,
	GT_UNIFIED_CAUSE,
	GT_UNIFIED_ARG_COUNT_
};

/* Their names in .pftrace. */
extern const enum gt_pf_annotation gt_unified_annotations[GT_UNIFIED_ARG_COUNT_];

/* Bytes of the longest text, with its end: all GPUs and the CPU. */
#define GT_UNIFIED_TEXT 640

/* "migration HtoD", ...; "unified memory" for a number that is none. */
const char *gt_unified_name(unsigned int kind);

/* The kind of that name, GT_UNIFIED_UNKNOWN: there is none. @text needs no end. */
enum gt_unified_kind gt_unified_find(const char *text, unsigned long length);

/* "from", ... */
const char *gt_unified_arg_name(enum gt_unified_arg arg);

/* Whether @facts have this argument: a text, or (*ret_text empty) a number. */
bool gt_unified_get(const struct gt_unified_facts *facts, enum gt_unified_arg arg,
		    char ret_text[GT_UNIFIED_TEXT], uint64_t *ret_number);

/* Takes an argument back. The kind is there already. A text that is none is left out. */
void gt_unified_set_number(struct gt_unified_facts *facts, enum gt_unified_arg arg,
			   uint64_t number);
void gt_unified_set_text(struct gt_unified_facts *facts, enum gt_unified_arg arg, const char *text,
			 unsigned long length);

/* The row that shows it: 0 that of the CPU, N + 1 that of GPU N. */
uint32_t gt_unified_row(const struct gt_unified_facts *facts);

/* The name of such a row, without its end: "GPU 0", "CPU". */
void gt_unified_row_name(uint32_t row, char *out, unsigned long size);

/* Bytes that go from one processor to another. */
static inline bool gt_unified_is_migration(unsigned int kind)
{
	return kind == GT_UNIFIED_HTOD || kind == GT_UNIFIED_DTOH || kind == GT_UNIFIED_DTOD;
}

/* Faults of the CPU or of a GPU. */
static inline bool gt_unified_is_fault(unsigned int kind)
{
	return kind == GT_UNIFIED_CPU_FAULT || kind == GT_UNIFIED_GPU_FAULT;
}

/* What has a time from and until; of the others only the beginning means something. */
static inline bool gt_unified_lasts(unsigned int kind)
{
	return gt_unified_is_migration(kind) || kind == GT_UNIFIED_GPU_FAULT ||
	       kind == GT_UNIFIED_THROTTLING;
}

#endif
