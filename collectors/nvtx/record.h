/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of one NVTX call in its thread's ring (type GT_RECORD_NVTX), written by the
 * application thread, read by the drain thread.
 */
#ifndef GT_COLLECTORS_NVTX_RECORD_H
#define GT_COLLECTORS_NVTX_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ring.h"

/* Kind of a record. */
enum gt_nvtx_op {
	GT_NVTX_PUSH = 1, /* id: its level in the stack of its thread and domain, from 0 */
	GT_NVTX_POP,      /* id: the level */
	GT_NVTX_START,    /* id: unique in the process */
	GT_NVTX_END,      /* id: the started range's */
	GT_NVTX_MARK,
	GT_NVTX_SAMPLE,      /* string: the counter; value, or payload when it is a group */
	GT_NVTX_DEFERRED,    /* a finished range or mark, reported later: id is its end, ns */
	GT_NVTX_NAME_THREAD, /* id: the thread's */
	GT_NVTX_NAME_DEVICE,
	GT_NVTX_NAME_CONTEXT,
	GT_NVTX_NAME_STREAM,
	GT_NVTX_TOLD,    /* of the call of NCCL that the thread is in; id: the operation's */
	GT_NVTX_NETWORK, /* what proxies waited for that operation; value: its end, ns */
};

/* Type of the payload value. */
enum gt_nvtx_value {
	GT_NVTX_NO_VALUE,
	GT_NVTX_UNSIGNED,
	GT_NVTX_SIGNED,
	GT_NVTX_REAL,    /* the bits of a double */
	GT_NVTX_LIBRARY, /* none: the payload is a struct gt_library_call (library.h) */
};

/* A ring record of NVTX; text follows it. */
struct gt_nvtx_record {
	struct gt_ring_record head; /* flags: enum gt_nvtx_op */
	uint64_t time;              /* CLOCK_MONOTONIC ns */
	uint64_t id;                /* see above */
	uint64_t value;
	uint32_t tid;
	uint32_t domain;   /* references into collectors/nvtx/registry.h */
	uint32_t string;   /* registered name; 0: the text below */
	uint32_t category; /* the program's number, 0: none */
	uint32_t color;    /* ARGB, 0: none */
	uint16_t text_length;
	uint16_t payload_length; /* of collectors/nvtx/payload.h, after the text */
	uint8_t value_type;      /* enum gt_nvtx_value */
	bool cut;                /* the name was cut */
	char data[];             /* the text, up to the next multiple of 8, the payload */
};

/* Where the payload begins in data[]. */
static inline uint32_t gt_nvtx_payload_offset(uint32_t text_length)
{
	/* data[] is not aligned itself: align relative to the record */
	uint32_t head = (uint32_t) __builtin_offsetof(struct gt_nvtx_record, data);

	return ((head + text_length + 7u) & ~7u) - head;
}

#endif
