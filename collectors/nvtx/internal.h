/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of collectors/nvtx/, see nvtx.h. Application threads.
 */
#ifndef GT_COLLECTORS_NVTX_INTERNAL_H
#define GT_COLLECTORS_NVTX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "collectors/nvtx/nvtx.h"
#include "collectors/nvtx/record.h"
#include "collectors/nvtx/registry.h"
#include "core/schema/library_call.h"

/* One entry of a function table: @function handles slot @id. */
struct gt_nvtx_slot {
	uint32_t id;
	void (*function)(void);
};

#define GT_NVTX_SLOT(id, function)                                                                 \
	{                                                                                          \
		(id), (void (*)(void))(function)                                                   \
	}

/* The function tables of NVTX, one array per module; each ends with an empty entry. */
extern const struct gt_nvtx_slot gt_nvtx_core_slots[];
extern const struct gt_nvtx_slot gt_nvtx_core2_slots[];
extern const struct gt_nvtx_slot gt_nvtx_cuda_slots[];
extern const struct gt_nvtx_slot gt_nvtx_cudart_slots[];
extern const struct gt_nvtx_slot gt_nvtx_payload_slots[];
extern const struct gt_nvtx_slot gt_nvtx_counter_slots[];

/* The content of a call; pointers are the caller's. */
struct gt_nvtx_call {
	enum gt_nvtx_op op;
	enum gt_nvtx_value value_type;
	uint64_t id;
	uint64_t value;
	uint64_t time; /* 0: now */
	uint32_t domain;
	uint32_t string;
	uint32_t category;
	uint32_t color;
	const char *text; /* NULL: none */
	uint16_t text_length;
	bool cut;
	const struct gt_library_call *library; /* in place of name and payload, or NULL */
	const nvtxPayloadData_t *payloads;
	size_t payload_count;
};

/* ---- nvtx.c ---- */

/* Sets up the state of the handlers; repeating it costs three loads. -ENOMEM. */
int gt_nvtx_prepare(void);

/* ---- write.c ---- */

/* Stamps and records the call. */
void gt_nvtx_write(struct gt_nvtx_call *call);

/* Opens a range on the stack of @call->domain and records it. Returns its level, or
 * NVTX_NO_PUSH_POP_TRACKING. */
int gt_nvtx_push(struct gt_nvtx_call *call);
int gt_nvtx_pop(struct gt_nvtx_call *call);

/* Opens a range until gt_nvtx_end, which any thread may call. */
nvtxRangeId_t gt_nvtx_start(struct gt_nvtx_call *call);
void gt_nvtx_end(struct gt_nvtx_call *call, nvtxRangeId_t id);

/* Counts a call with wrong arguments. */
void gt_nvtx_count_wrong(void);

/* ---- core.c ---- */

/* Sets the name of @call from the caller's string, cut at GT_NVTX_NAME_MAX. NULL is no name. */
void gt_nvtx_set_text(struct gt_nvtx_call *call, const char *text);

/* The same from wide characters; @room has GT_NVTX_NAME_MAX bytes and lives as long as the call. */
void gt_nvtx_set_wide(struct gt_nvtx_call *call, const wchar_t *text, char *room);

/* The reference of a domain handle; 0, the global domain, for NULL or a handle that is not ours. */
uint32_t gt_nvtx_domain(nvtxDomainHandle_t handle);

/* ---- names.c ---- */

/* Handlers of nvtxNameOsThread, narrow and wide. Application threads. */
void gt_nvtx_name_thread_a(uint32_t tid, const char *name);
void gt_nvtx_name_thread_w(uint32_t tid, const wchar_t *name);

/* Names a resource that is a thread, a device, a context or a stream. */
void gt_nvtx_name_resource(const nvtxResourceAttributes_t *attributes);

#endif
