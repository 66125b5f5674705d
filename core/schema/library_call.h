/* SPDX-License-Identifier: Apache-2.0
 *
 * A call of NCCL, of MPI (mpi_call.h), or of a library that computes (math_call.h), as
 * libgputrace-libraries.so (preload/libraries) and its like see it, as the trace holds it, and as
 * the kernels that it launches show it.
 * Pure functions, any thread.
 */
#ifndef GT_CORE_SCHEMA_LIBRARY_CALL_H
#define GT_CORE_SCHEMA_LIBRARY_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/calls/nccl_told.h"
#include "core/schema/math_call.h"
#include "core/mpi/mpi_call.h"

/* The functions of core/schema/nccl.def. The numbers are in .pftrace files. */
enum gt_nccl_function {
	GT_NCCL_NONE,
#define GT_NCCL_FUNCTION(id, function, name, in, out) GT_NCCL_##id,
#include "core/schema/nccl.def"
	GT_NCCL_FUNCTION_COUNT_
};

/* Zeroed: no such call. Where operations are fused, what they do not have in common is 0. */
struct gt_library_call {
	union {
		struct {
			uint64_t communicator; /* of all members, made by us; 0: not known */
			uint64_t sequence; /* of a collective among its communicator's, from 1 */
			uint64_t in, out;  /* elements, of MPI and if untyped bytes, that this rank
					    * gives and gets; 0: not known */
			uint32_t ranks;    /* 0: not known */
			uint32_t rank;     /* plus 1; 0: not known */
			union {
				struct {
					/* plus 1: root, or whom it sends to or receives from */
					uint32_t peer;
					/* plus 1: CUDA's ordinal; 0: not known. In no trace */
					uint32_t device;
					uint8_t dtype;     /* ncclDataType_t + 1; 0: none */
					uint8_t reduction; /* ncclRedOp_t + 1; 0: none */
					/* called between ncclGroupStart and ncclGroupEnd */
					uint8_t in_group;
					uint8_t has_tag; /* of MPI alone */
					union {
						/* of MPI alone: */
						struct {
							int32_t tag; /* from 0 */
							/* plus 1: whom it receives from;
							 * peer: whom it sends to */
							uint32_t source;
							/* of its like that found nothing,
							 * since the one before */
							uint32_t polls;
						};
						/* of NCCL alone: plus 1: whom it sends to, whom it
						 * receives from; GT_LIBRARY_SEVERAL: in one launch
						 * several; and the number of the message between
						 * the two in that direction, of a launch the first
						 * one, from 1; 0: not known */
						struct {
							uint32_t to, from, to_number;
						};
					};
					uint32_t from_number; /* of NCCL alone */
					/* of NCCL: told by a payload of NVTX, which has bytes only
					 */
					uint8_t untyped;
				};
				/* if is_network: ns, enum gt_nccl_wait; in and out are bytes */
				uint64_t wait[GT_NCCL_WAIT_COUNT_];
			};
		};
		struct gt_math_call math; /* if is_math */
	};
	uint32_t operations; /* collectives, sends and receives launched together; 0: it is none */
	int32_t result;      /* of a call: ncclResult_t, cublasStatus_t, ... */
	uint8_t function;    /* enum gt_nccl_function; is_mpi: enum gt_mpi_function */
	uint8_t is_math;     /* not 0: it is no call of NCCL */
	uint8_t is_mpi;      /* the same: operations is 0 */
	/* of NCCL, from its profiler interface: */
	uint8_t is_network; /* what the proxies waited for; operations: transfers */
	uint8_t algorithm;  /* of nccl.def plus 1; 0: not known, or several */
	uint8_t protocol;   /* the same */
	uint8_t channels;   /* 0: the same */
	uint8_t told;       /* operations that add up to it, at most 255. In no trace */
};

#define GT_LIBRARY_SEVERAL UINT32_MAX

/* The slice that sums up what the proxies of one operation waited for. */
#define GT_NCCL_NETWORK    "NCCL network"

/* Arguments of such a call in a trace, in this order. */
enum gt_library_arg {
	GT_LIBRARY_NAME,
	GT_LIBRARY_DTYPE,
	GT_LIBRARY_IN,
	GT_LIBRARY_OUT,
	GT_LIBRARY_BYTES,
	GT_LIBRARY_REDUCTION,
	GT_LIBRARY_RANKS,
	GT_LIBRARY_GROUP,
	GT_LIBRARY_RANK,
	GT_LIBRARY_ROOT,
	GT_LIBRARY_SOURCE,
	GT_LIBRARY_DESTINATION,
	GT_LIBRARY_SEQUENCE,
	GT_LIBRARY_OPERATIONS,
	GT_LIBRARY_RESULT,
	GT_LIBRARY_LIBRARY,
	GT_LIBRARY_CALL, /* on kernels: its name */
	GT_LIBRARY_M,
	GT_LIBRARY_N,
	GT_LIBRARY_K,
	GT_LIBRARY_NNZ,
	GT_LIBRARY_NX, /* of a transform, in place of m, n, k */
	GT_LIBRARY_NY,
	GT_LIBRARY_NZ,
	GT_LIBRARY_BATCH,
	GT_LIBRARY_INPUT, /* to GROUPS: of cuDNN, the order is that of enum gt_shapes_part */
	GT_LIBRARY_FILTER,
	GT_LIBRARY_OUTPUT,
	GT_LIBRARY_PADDING,
	GT_LIBRARY_STRIDE,
	GT_LIBRARY_DILATION,
	GT_LIBRARY_GROUPS,
	GT_LIBRARY_GRAPH, /* what the operations of a graph of cuDNN are */
	GT_LIBRARY_TRANSA,
	GT_LIBRARY_TRANSB,
	GT_LIBRARY_SIDE,
	GT_LIBRARY_DIRECTION, /* of a transform, in place of the side */
	GT_LIBRARY_A,
	GT_LIBRARY_B,
	GT_LIBRARY_C,
	GT_LIBRARY_COMPUTE,
	GT_LIBRARY_ALGORITHM,
	GT_LIBRARY_EPILOGUE,
	GT_LIBRARY_FLOPS,
	GT_LIBRARY_OPERANDS,
	GT_LIBRARY_UNKNOWN, /* why there are no sizes */
	GT_LIBRARY_NUMBER,
	GT_LIBRARY_SENT,
	GT_LIBRARY_RECEIVED,
	GT_LIBRARY_TAG,
	GT_LIBRARY_POLLS,
	GT_LIBRARY_PROTOCOL,
	GT_LIBRARY_CHANNELS,
	GT_LIBRARY_SEND_NUMBER,
	GT_LIBRARY_RECEIVE_NUMBER,
	GT_LIBRARY_TRANSFERS, /* of the network, and the waits in the order of enum gt_nccl_wait */
	GT_LIBRARY_WAIT_GPU,
	GT_LIBRARY_WAIT_PEER,
	GT_LIBRARY_WAIT_SEND,
	GT_LIBRARY_WAIT_RECEIVE,
	GT_LIBRARY_ARG_COUNT_
};

/* One of them, as text or as a number. */
struct gt_library_value {
	enum gt_library_arg arg;
	const char *text; /* NULL: it is a number; else static, or in room */
	uint64_t number;
	char room[112];
};

/* What Kineto calls it, where it has it, and other words where it has not. */
const char *gt_library_arg_name(enum gt_library_arg arg);

/* The argument of that name; GT_LIBRARY_ARG_COUNT_: none. */
enum gt_library_arg gt_library_arg_find(const char *name, size_t length);

/* Those that @call has, at most GT_LIBRARY_ARG_COUNT_. @of_kernel: without those that only the call
 * itself has. Returns how many. */
size_t gt_library_values(const struct gt_library_call *call, bool of_kernel,
			 struct gt_library_value *ret_values);

/* Takes in one that was read; what follows from others is left out. */
void gt_library_set_text(struct gt_library_call *call, enum gt_library_arg arg, const char *text,
			 size_t length);
void gt_library_set_number(struct gt_library_call *call, enum gt_library_arg arg, uint64_t number);

/* Longest text of a call. */
#define GT_LIBRARY_TEXT_MAX 1024

/* The values in one line, "Collective name: allreduce, dtype: Float", as .pftrace files hold them;
 * and back. Returns the length, without the 0 behind. */
size_t gt_library_text(const struct gt_library_call *call, bool of_kernel,
		       char out[GT_LIBRARY_TEXT_MAX]);
void gt_library_parse(const char *text, size_t length, struct gt_library_call *call);

/* It has a place among the collectives of its communicator. */
static inline bool gt_library_is_collective(const struct gt_library_call *call)
{
	return !call->is_math && call->communicator && call->sequence;
}

/* "ncclAllReduce"; NULL: none. */
const char *gt_library_function(unsigned int function);

/* The name of the function that was called, of any library; NULL: none. And back: a name that is
 * not known sets none. */
const char *gt_library_name(const struct gt_library_call *call);
void gt_library_set_name(struct gt_library_call *call, const char *name, size_t length);

/* A kernel of the call shows its arguments. */
bool gt_library_launches(const struct gt_library_call *call);

/* The function of that name; GT_NCCL_NONE: none. */
enum gt_nccl_function gt_library_find_function(const char *name, size_t length);

/* Bytes of the message, the larger one of what goes in and what comes out; 0: not known. */
uint64_t gt_library_bytes(const struct gt_library_call *call);

/* Bytes of an element of this ncclDataType_t + 1; 0: not known. */
uint64_t gt_library_type_bytes(uint8_t dtype);

/* Sets in and out from the count that the program gave; ranks must be known where it matters. */
void gt_library_count(struct gt_library_call *call, uint64_t count);

/* Takes the type of an untyped call from the name of its kernel, and makes elements of its bytes.
 */
void gt_library_see_kernel(struct gt_library_call *call, const char *kernel);

/* One more operation of the same launch; @call is zeroed before the first one. */
void gt_library_fuse(struct gt_library_call *call, const struct gt_library_call *other);

#endif
