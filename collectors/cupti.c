/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's life, see the header. The order of the start is REQ-5: several settings are silently
 * ignored when they come too late.
 */
#include "collectors/cupti.h"

#include <errno.h>
#include <string.h>

#include "collectors/cuda_api.h"
#include "collectors/cupti_buffers.h"
#include "collectors/cupti_capture.h"
#include "collectors/cupti_internal.h"
#include "collectors/cupti_quirks.h"
#include "collectors/cupti_translate.h"
#include "core/text.h"

struct gt_cupti gt_cupti;

/* Why subscribing or enabling failed, in words that name the remedy (REQ-11). */
static const struct {
	int result;
	const char *text;
} reasons[] = {
	{CUPTI_ERROR_NOT_INITIALIZED, "the driver is too old for this CUPTI: update the driver or "
				      "use the CUPTI of its CUDA version (--cupti)"},
	{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
	 "the driver does not let this user profile: see ERR_NVGPUCTRPERM at NVIDIA"},
	{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
	 "another tool holds CUPTI in this process (nsys, ncu, cuda-gdb, torch.profiler)"},
	{CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "this virtual GPU does not allow profiling"},
	{CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
	 "confidential computing mode does not allow profiling"},
	{CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "this GPU model does not allow profiling"},
	{CUPTI_ERROR_UNKNOWN, "CUPTI gives no reason (error 999): there may be no usable driver"},
};

static void explain(const char *step, int result, char *ret_why, size_t size)
{
	const char *text = "see cupti_result.h";

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].result == result)
			text = reasons[i].text;
	}
	gt_text_format(ret_why, size, "%s failed with %d: %s", step, result, text);
}

/* What was refused without ending everything: noted for the trace. */
static void note_refused(struct gt_cupti_status *status, const char *what, int result)
{
	size_t used = strlen(status->refused);

	if (result != CUPTI_SUCCESS)
		gt_text_format(status->refused + used, sizeof(status->refused) - used, "%s%s=%d",
			       used ? " " : "", what, result);
}

static void set_attribute(struct gt_cupti_status *status, const char *name,
			  CUpti_ActivityAttribute attribute, uint8_t value)
{
	size_t size = sizeof(value);

	if (gt_cupti.api.cuptiActivitySetAttribute)
		note_refused(status, name,
			     gt_cupti.api.cuptiActivitySetAttribute(attribute, &size, &value));
}

/* Per-thread buffers (the default since 13.0) would take a buffer for each thread, most of them
 * nearly empty; zeroed buffers spare the application's thread a memset of megabytes (REQ-28, 29). */
static void set_attributes(const struct gt_config *config, struct gt_cupti_status *status)
{
	set_attribute(status, "ZEROED_OUT_ACTIVITY_BUFFER",
		      CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
	if (!gt_cupti_has_quirk(status->version, GT_QUIRK_NO_PER_THREAD_ATTRIBUTE))
		set_attribute(status, "PER_THREAD_ACTIVITY_BUFFER",
			      CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 0);
	if (gt_config_bool(config, GT_CONFIG_LATENCY) &&
	    gt_cupti.api.cuptiActivityEnableLatencyTimestamps)
		note_refused(status, "LATENCY_TIMESTAMPS",
			     gt_cupti.api.cuptiActivityEnableLatencyTimestamps(1));
}

static void CUPTIAPI on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	gt_cupti_buffers_request(buffer, size, max_records);
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	gt_cupti_buffers_complete(buffer, valid);
}

static const uint32_t resource_cbids[] = {
	CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,
	CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
};

static void enable_callback(CUpti_CallbackDomain domain, uint32_t cbid)
{
	/* a cbid that this CUPTI does not have is refused, and then nobody can call it */
	gt_cupti.api.cuptiEnableCallback(1, gt_cupti.subscriber, domain, cbid);
}

/* Only what is wanted (REQ-53): each enabled call costs the application two callbacks. */
static void enable_callbacks(const struct gt_config *config)
{
	static const CUpti_CallbackDomain domains[GT_API_DOMAIN_COUNT_] = {
		[GT_API_RUNTIME] = CUPTI_CB_DOMAIN_RUNTIME_API,
		[GT_API_DRIVER] = CUPTI_CB_DOMAIN_DRIVER_API,
	};
	static const unsigned int flags_of[] = {GT_CUDA_DEFAULT, GT_CUDA_KNOWN, 0};
	struct gt_cuda_set wanted;

	for (size_t i = 0; i < sizeof(resource_cbids) / sizeof(resource_cbids[0]); i++)
		enable_callback(CUPTI_CB_DOMAIN_RESOURCE, resource_cbids[i]);
	enable_callback(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
	gt_cuda_set_init(&wanted,
			 flags_of[gt_config_number(config, GT_CONFIG_API)] | GT_CUDA_FLUSH_BEFORE);
	for (int domain = 0; domain < GT_API_DOMAIN_COUNT_; domain++) {
		for (uint32_t cbid = 1; cbid < gt_cuda_api_end((enum gt_api_domain)domain);
		     cbid++) {
			if (gt_cuda_set_has(&wanted, (enum gt_api_domain)domain, cbid))
				enable_callback(domains[domain], cbid);
		}
	}
}

enum wanted_when { ALWAYS, WITH_SYNC };

static const struct {
	CUpti_ActivityKind kind;
	const char *name;
	enum wanted_when when;
	bool dump; /* those that exist already are wanted too */
} kinds[] = {
	{CUPTI_ACTIVITY_KIND_DEVICE, "DEVICE", ALWAYS, true},
	{CUPTI_ACTIVITY_KIND_CONTEXT, "CONTEXT", ALWAYS, true},
	{CUPTI_ACTIVITY_KIND_STREAM, "STREAM", ALWAYS, true},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "CONCURRENT_KERNEL", ALWAYS, false},
	{CUPTI_ACTIVITY_KIND_MEMCPY, "MEMCPY", ALWAYS, false},
	{CUPTI_ACTIVITY_KIND_MEMCPY2, "MEMCPY2", ALWAYS, false},
	{CUPTI_ACTIVITY_KIND_MEMSET, "MEMSET", ALWAYS, false},
	{CUPTI_ACTIVITY_KIND_OVERHEAD, "OVERHEAD", ALWAYS, false},
	{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "SYNCHRONIZATION", WITH_SYNC, false},
	{CUPTI_ACTIVITY_KIND_CUDA_EVENT, "CUDA_EVENT", WITH_SYNC, false},
};

static CUptiResult enable_kind(CUpti_ActivityKind kind, bool dump)
{
	if (dump && gt_cupti.api.cuptiActivityEnableAndDump &&
	    gt_cupti.api.cuptiActivityEnableAndDump(kind) == CUPTI_SUCCESS)
		return CUPTI_SUCCESS;
	return gt_cupti.api.cuptiActivityEnable(kind);
}

static void enable_kinds(const struct gt_config *config, struct gt_cupti_status *status)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].when == WITH_SYNC && !gt_config_bool(config, GT_CONFIG_SYNC))
			continue;
		note_refused(status, kinds[i].name, enable_kind(kinds[i].kind, kinds[i].dump));
	}
	if (gt_cupti_has_quirk(status->version, GT_QUIRK_KERNELS_NEED_API_KIND))
		note_refused(status, "RUNTIME",
			     gt_cupti.api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
}

static int subscribe(struct gt_cupti_status *status)
{
	CUptiResult result =
		gt_cupti.api.cuptiSubscribe(&gt_cupti.subscriber, gt_cupti_callback, NULL);

	if (result == CUPTI_SUCCESS)
		return 0;
	explain("cuptiSubscribe", result, status->why, sizeof(status->why));
	return -EBUSY;
}

static int register_buffers(const struct gt_config *config, struct gt_cupti_status *status)
{
	int error = gt_cupti_buffers_start(
		(size_t)gt_config_number(config, GT_CONFIG_BUFFER_SIZE),
		(size_t)gt_config_number(config, GT_CONFIG_MAX_MEMORY) / 2,
		!gt_cupti_has_quirk(status->version, GT_QUIRK_NULL_BUFFER_CRASHES));
	CUptiResult result;

	if (error) {
		gt_text_format(status->why, sizeof(status->why), "no memory for activity buffers");
		return error;
	}
	result = gt_cupti.api.cuptiActivityRegisterCallbacks(on_request, on_complete);
	if (result == CUPTI_SUCCESS)
		return 0;
	explain("cuptiActivityRegisterCallbacks", result, status->why, sizeof(status->why));
	return -EIO;
}

int gt_cupti_start(const struct gt_config *config, void (*on_init_finished)(void),
		   struct gt_cupti_status *ret_status)
{
	struct gt_cupti_status *status = ret_status;
	int error;

	memset(status, 0, sizeof(*status));
	memset(&gt_cupti, 0, sizeof(gt_cupti));
	error = gt_cupti_load(gt_config_text(config, GT_CONFIG_CUPTI), &gt_cupti.api, status->why,
			      sizeof(status->why));
	if (error)
		return error;
	status->version = gt_cupti.api.version;
	memcpy(status->path, gt_cupti.api.path, sizeof(status->path));
	if (gt_cupti_has_quirk(status->version, GT_QUIRK_LAYOUT_TOO_OLD)) {
		gt_text_format(status->why, sizeof(status->why), "%s: %s", status->path,
			       gt_cupti_quirk_text(GT_QUIRK_LAYOUT_TOO_OLD));
		return -ENOTSUP;
	}
	if (gt_cupti.api.cuptiSetThreadIdType)
		note_refused(
			status, "THREAD_ID_TYPE",
			gt_cupti.api.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
	gt_cupti.on_init_finished = on_init_finished;
	error = subscribe(status);
	if (error)
		return error;
	set_attributes(config, status);
	error = register_buffers(config, status);
	if (error) {
		gt_cupti.api.cuptiUnsubscribe(gt_cupti.subscriber);
		return error;
	}
	gt_cupti_capture_start(status->version);
	atomic_store(&gt_cupti.active, true);
	enable_callbacks(config);
	enable_kinds(config, status);
	return 0;
}

/* One record; @end is where the next one begins. */
static void read_record(const CUpti_Activity *record, const uint8_t *end,
			struct gt_translate *translate)
{
	if (gt_cupti_capture_on())
		gt_cupti_capture_add(record, (uint32_t)(end - (const uint8_t *)record));
	gt_translate_record(translate, record);
}

/* One buffer, record by record; what follows an invalid record cannot be read (REQ-33). */
static uint64_t read_buffer(const struct gt_cupti_buffer *buffer, struct gt_translate *translate)
{
	const uint8_t *end = buffer->data + buffer->valid;
	CUpti_Activity *record = NULL, *last = NULL;
	uint64_t records = 0;
	CUptiResult result;

	while ((result = gt_cupti.api.cuptiActivityGetNextRecord(buffer->data, buffer->valid,
								 &record)) == CUPTI_SUCCESS) {
		if (last)
			read_record(last, (const uint8_t *)record, translate);
		last = record;
		records++;
	}
	if (last)
		read_record(last, end, translate);
	if (result != CUPTI_ERROR_MAX_LIMIT_REACHED)
		gt_ledger_add(translate->ledger, GT_LEDGER_RECORDS_UNREADABLE_BYTES,
			      (uint64_t)(end - (last ? (const uint8_t *)last : buffer->data)));
	return records;
}

bool gt_cupti_read(struct gt_translate *translate, uint64_t *ret_records)
{
	struct gt_cupti_buffer buffer;
	bool found = gt_cupti_buffers_next(&buffer);

	*ret_records = 0;
	if (found) {
		translate->now = gt_clock_from_monotonic(translate->clock, gt_clock_now());
		*ret_records = read_buffer(&buffer, translate);
		gt_cupti_buffers_recycle(&buffer);
	}
	gt_cupti_buffers_prepare();
	return found;
}

void gt_cupti_flush(bool forced)
{
	/* never asked CUPTI for anything yet: FlushAll has been seen to hang then (REQ-25) */
	if (gt_cupti_buffers_count().requested == 0 || atomic_load(&gt_cupti.dead))
		return;
	gt_cupti.api.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

void gt_cupti_count(struct gt_ledger *ledger)
{
	struct gt_cupti_buffer_counts buffers = gt_cupti_buffers_count();
	size_t dropped = 0;

	ledger->count[GT_LEDGER_BUFFERS_COMPLETED] = buffers.completed;
	ledger->count[GT_LEDGER_BUFFERS_FOREIGN] = buffers.foreign;
	ledger->count[GT_LEDGER_BUFFERS_DISCARDED] = buffers.discarded;
	ledger->count[GT_LEDGER_BUFFERS_LOST_BYTES] = buffers.discarded_bytes;
	if (!atomic_load(&gt_cupti.active) || atomic_load(&gt_cupti.dead) || !buffers.requested)
		return;
	/* resets to zero on reading */
	if (gt_cupti.api.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS)
		gt_ledger_add(ledger, GT_LEDGER_RECORDS_DROPPED, dropped);
}

const char *gt_cupti_fatal(void)
{
	return atomic_exchange(&gt_cupti.fatal, NULL);
}

void gt_cupti_stop(void)
{
	atomic_store(&gt_cupti.active, false);
	gt_cupti_buffers_stop();
}

const char *gt_cupti_call_name(int domain, uint32_t cbid)
{
	const char *name = NULL;
	CUpti_CallbackDomain cupti_domain =
		domain == GT_API_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;

	if (!gt_cupti.api.cuptiGetCallbackName ||
	    gt_cupti.api.cuptiGetCallbackName(cupti_domain, cbid, &name) != CUPTI_SUCCESS)
		return NULL;
	return name;
}

int gt_cupti_find_stream(void *handle, uint32_t *ret_device, uint32_t *ret_stream)
{
	const struct gt_cupti_api *api = &gt_cupti.api;
	uint32_t device, stream;

	if (!atomic_load(&gt_cupti.active) || atomic_load(&gt_cupti.dead) ||
	    !api->cuptiGetDeviceId || !api->cuptiGetStreamIdEx ||
	    api->cuptiGetDeviceId(NULL, &device) != CUPTI_SUCCESS ||
	    api->cuptiGetStreamIdEx(NULL, handle, 0, &stream) != CUPTI_SUCCESS)
		return -ENOENT;
	*ret_device = device;
	*ret_stream = stream;
	return 0;
}
