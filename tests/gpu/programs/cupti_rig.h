/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest CUPTI client, for the probes: opens libcupti, collects activity records and
 * callbacks of a few driver calls, and keeps them for inspection. Independent of the tracer on
 * purpose. Main thread, but for the callbacks that CUPTI makes.
 */
#ifndef GT_TESTS_GPU_CUPTI_RIG_H
#define GT_TESTS_GPU_CUPTI_RIG_H

#include <cuda.h>
#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RIG_RECORDS   4096
#define RIG_CALLBACKS 4096

struct rig_callback {
	CUpti_CallbackDomain domain;
	CUpti_CallbackId id;
	CUpti_ApiCallbackSite site; /* API domains */
	uint32_t correlation;
	pid_t tid;
	uint64_t graph_node_id; /* RESOURCE, graph nodes */
	char symbol[64];        /* API domains: what symbolName pointed to */
	uint32_t context;       /* contextUid */
};

/* CUPTI's functions, by name out of the library; NULL: it lacks this one. */
struct rig_cupti {
#define RIG_FUNCTION(name) __typeof__(&name) name;
#include "cupti_rig.def"
#undef RIG_FUNCTION
};

struct rig {
	struct rig_cupti cupti;
	CUpti_SubscriberHandle subscriber;
	CUcontext context;
	CUfunction kernel, spin;
	CUdeviceptr memory;
	CUstream stream;
	bool refuse_buffers; /* the next requests get none */
	bool clear_buffers;  /* lend buffers of zeros, but for the last 8 bytes */
	bool share_buffer;   /* lend one and the same buffer to whoever asks */
	bool count_only;     /* keep no records */
	void (*during)(CUpti_CallbackDomain domain, CUpti_CallbackId id,
		       CUpti_ApiCallbackSite site); /* in callbacks of calls; NULL: nothing */
	void (*resource)(CUpti_CallbackId id);      /* in callbacks of resources; NULL: nothing */
	size_t buffer_bytes;                        /* of the next buffers; 0: 256 KiB */
	pid_t request_tid;                          /* that asked for the first buffer */
	pid_t other_tid;                            /* the first other one that asked, or 0 */
	unsigned requests, completions;
	size_t lent_tail; /* of the last buffer: the 8 bytes at its end, when it came back */
	CUptiResult end_of_buffer;            /* what cuptiActivityGetNextRecord ended with */
	size_t kernel_stride;                 /* bytes from a kernel record to the next one */
	bool zeroed;                          /* the last buffer, behind its records */
	bool read_copies;                     /* read records out of a copy of the buffer */
	CUpti_Activity *records[RIG_RECORDS]; /* point into buffers that are never freed */
	unsigned record_count;
	unsigned kernels, untimed_kernels; /* also of records that were not kept */
	struct rig_callback callbacks[RIG_CALLBACKS];
	unsigned callback_count;
	uint64_t opening[4]; /* CLOCK_REALTIME before each step of rig_open, and at its end */
};

extern struct rig rig;

/* Opens libcupti, subscribes, enables kernels, copies, sets and the callbacks of the driver API, no
 * activity kind of calls; then makes a context, a stream, a kernel out of PTX and 4 KiB of memory.
 * Exit 77 when there is no GPU or no libcupti. */
void rig_start(void);

/* The same up to the enabling, and nothing of the device. */
void rig_open(void);
/* libcupti alone: nothing of it is called. */
void rig_load(void);
/* Our buffer callbacks alone. */
CUptiResult rig_register(void);
void rig_use_device(void);

void rig_launch(void);

/* Launches one thread that runs for @ns, in a stream of its own. */
void rig_spin(uint64_t ns);

/* Waits for the GPU, then cuptiActivityFlushAll(@flag). */
void rig_flush(uint32_t flag);

/* The @n-th record of a kind, or NULL. */
const void *rig_find(CUpti_ActivityKind kind, unsigned n);
unsigned rig_count(CUpti_ActivityKind kind);

/* The @n-th callback of a kind at a site, or NULL. */
const struct rig_callback *rig_find_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id,
					     CUpti_ApiCallbackSite site, unsigned n);

/* CLOCK_REALTIME in ns. */
uint64_t rig_realtime(void);

#endif
