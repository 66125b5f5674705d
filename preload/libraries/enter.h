/* SPDX-License-Identifier: Apache-2.0
 *
 * Around each interposed call: what the tracer learns. Application threads; no lock, no
 * allocation, no system call once the function and the communicator are known.
 */
#ifndef GT_PRELOAD_LIBRARIES_ENTER_H
#define GT_PRELOAD_LIBRARIES_ENTER_H

#include <stdbool.h>

#include "core/schema/library_call.h"
#include "preload/libraries/communicators.h"

/* A call between its begin and its end; on the stack of its wrapper. */
struct library_entry {
	const struct gt_library_sink *sink; /* NULL: nobody has been told */
	struct nccl_communicator *counted;  /* whose sequence it will raise, or NULL */
	_Atomic uint32_t *messages;         /* that it will raise, or NULL */
	bool outermost;                     /* NCCL calls some of its functions itself */
};

/* A collective, send or receive. @type, @reduction (-1: none), @peer (-1: none) are the program's.
 */
struct library_operation {
	enum gt_nccl_function function;
	size_t count;
	int type, reduction, peer;
	nccl_comm comm;
};

/* Before NCCL is called; the end must follow. */
void library_begin(struct library_entry *entry, const struct library_operation *operation);

/* A call that moves nothing. @comm NULL: none yet. */
void library_begin_other(struct library_entry *entry, enum gt_nccl_function function,
			 nccl_comm comm);

/* One that ends @comm, maybe while another thread uses it. */
void library_begin_end(struct library_entry *entry, enum gt_nccl_function function, nccl_comm comm);

/* @result: what NCCL returned. */
void library_end(struct library_entry *entry, int result);

/* The depth of ncclGroupStart on this thread. @result: of the call that closed it. */
void library_group_opened(void);
void library_group_closed(int result);
bool library_in_group(void);
/* No other thread has it. */
const void *library_thread(void);

#endif
