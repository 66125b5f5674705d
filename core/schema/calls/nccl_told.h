/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of NCCL's profiler interface (docs/libraries.md), and the numbers that stand for them in a
 * struct gt_library_call. Pure functions, any thread.
 */
#ifndef GT_CORE_SCHEMA_CALLS_NCCL_TOLD_H
#define GT_CORE_SCHEMA_CALLS_NCCL_TOLD_H

#include <stddef.h>
#include <stdint.h>

/* What a proxy thread waits for in a transfer. */
enum gt_nccl_wait {
	GT_NCCL_WAIT_GPU,     /* data of its own GPU, or room there */
	GT_NCCL_WAIT_PEER,    /* the receiver's leave to send */
	GT_NCCL_WAIT_SEND,    /* the network, that has the data */
	GT_NCCL_WAIT_RECEIVE, /* the network, and whoever sends */
	GT_NCCL_WAIT_COUNT_
};

/* "RING"; "other" for what has no number; NULL for 0. And back, 0 for nothing. */
const char *gt_nccl_algorithm_name(uint8_t algorithm);
uint8_t gt_nccl_algorithm_find(const char *name, size_t length);

/* The same: "LL128". */
const char *gt_nccl_protocol_name(uint8_t protocol);
uint8_t gt_nccl_protocol_find(const char *name, size_t length);

/* The ncclDataType_t + 1 of "ncclFloat32"; 0: not known. */
uint8_t gt_nccl_type_find(const char *name, size_t length);

/* The communicator of "0x7e1ba3e36d4bbc3f"; 0: it is none. */
uint64_t gt_nccl_hex(const char *text, size_t length);

#endif
