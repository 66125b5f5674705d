/* SPDX-License-Identifier: Apache-2.0
 *
 * Subscribing to CUPTI, then settings, buffers, callbacks and kinds in the fixed order of REQ-5:
 * several settings are silently ignored when they come too late. At session start, and again when
 * another tool is done with CUPTI (collectors/cupti/watch.c).
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "collectors/call/call.h"
#include "collectors/cupti/buffers.h"
#include "collectors/cupti/contexts.h"
#include "collectors/cupti/cupti.h"
#include "collectors/cupti/foreign.h"
#include "collectors/cupti/internal.h"
#include "collectors/cupti/kinds.h"
#include "collectors/cupti/library/blocks.h"
#include "collectors/cupti/records/layout.h"
#include "collectors/cupti/library/refusal.h"
#include "collectors/cupti/newer.h"
#include "collectors/cupti/library/quirks.h"
#include "collectors/cupti/relay.h"
#include "collectors/cupti/settings.h"
#include "collectors/cupti/unified.h"
#include "collectors/cupti/whole_graphs.h"
#include "collectors/trigger/trigger.h"
#include "core/guest/forkguard.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/schema/cuda_api.h"

static void CUPTIAPI on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	gt_cupti_buffers_request(buffer, size, max_records);
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid)
{
	if (!gt_cupti_buffers_complete(buffer, valid))
		gt_cupti_foreign_return(context, stream, buffer, size, valid);
}

static const uint32_t resource_cbids[] = {
	CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,         CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
	CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
};

static void enable_callback(CUpti_CallbackDomain domain, uint32_t cbid)
{
	/* a cbid that this CUPTI does not have is refused; nobody can call it either */
	gt_cupti.api.cuptiEnableCallback(1, gt_cupti.subscriber, domain, cbid);
	gt_cupti_callbacks_set(&gt_cupti.wanted, domain, cbid, true);
}

/* --memory, --unified-memory: all that allocate and release, whatever --api says. */
static void add_blocks(const struct gt_config *config, struct gt_cuda_set *set)
{
	bool wanted = gt_config_records_memory(config);

	atomic_store(&gt_cupti.reads_blocks, wanted);
	for (int domain = 0; wanted && domain < GT_API_DOMAIN_COUNT_; domain++)
		for (uint32_t cbid = 1; cbid < GT_CUDA_SET_BITS; cbid++)
			if (gt_cupti_has_block((enum gt_api_domain)domain, cbid))
				gt_cuda_set_add(set, (enum gt_api_domain)domain, cbid);
}

/* The launches of graphs, if they are the ranges of --capture-range. */
static void add_launches(struct gt_cuda_set *wanted)
{
	for (enum gt_api_domain domain = 0; domain < GT_API_DOMAIN_COUNT_; domain++)
		for (uint32_t cbid = 0; cbid < gt_cuda_api_end(domain); cbid++) {
			const struct gt_cuda_api *api = gt_cuda_api_find(domain, cbid);

			if (api && api->class == GT_CUDA_GRAPH_LAUNCH &&
			    gt_trigger_kind == GT_CAPTURE_GRAPHS)
				gt_cuda_set_add(wanted, domain, cbid);
		}
}

/* Only the selected calls (REQ-53): each enabled call costs the application two callbacks. */
static void enable_callbacks(const struct gt_config *config)
{
	static const CUpti_CallbackDomain domains[GT_API_DOMAIN_COUNT_] = {
		[GT_API_RUNTIME] = CUPTI_CB_DOMAIN_RUNTIME_API,
		[GT_API_DRIVER] = CUPTI_CB_DOMAIN_DRIVER_API,
	};
	static const unsigned int flags_of[] = {GT_CUDA_DEFAULT, GT_CUDA_KNOWN, 0};
	unsigned int flags = flags_of[gt_config_number(config, GT_CONFIG_API)];
	unsigned int profiler = gt_trigger_kind == GT_CAPTURE_PROFILER ? GT_CUDA_PROFILER : 0;
	struct gt_cuda_set wanted;

	atomic_store(&gt_cupti.silent, !flags && !gt_config_records_memory(config));
	for (size_t i = 0; i < sizeof(resource_cbids) / sizeof(resource_cbids[0]); i++)
		enable_callback(CUPTI_CB_DOMAIN_RESOURCE, resource_cbids[i]);
	enable_callback(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
	enable_callback(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_ERROR);
	enable_callback(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_WARNING);
	gt_cuda_set_init(&wanted, flags | GT_CUDA_FLUSH_BEFORE | profiler);
	if (flags)
		gt_cupti_newer_calls(flags == GT_CUDA_KNOWN, &wanted);
	add_blocks(config, &wanted);
	add_launches(&wanted);
	atomic_store(&gt_cupti.records_retains,
		     gt_cuda_set_has(&wanted, GT_API_DRIVER, GT_CUPTI_RETAIN));
	enable_callback(CUPTI_CB_DOMAIN_DRIVER_API, GT_CUPTI_RETAIN);
	for (int domain = 0; domain < GT_API_DOMAIN_COUNT_; domain++) {
		for (uint32_t cbid = 1; cbid < GT_CUDA_SET_BITS; cbid++) {
			if (gt_cuda_set_has(&wanted, (enum gt_api_domain)domain, cbid))
				enable_callback(domains[domain], cbid);
		}
	}
}

/* All but whole graphs: see whole_graphs.h. */
static void stop_kinds(void)
{
	bool hangs = gt_cupti_has_quirk(gt_cupti.api.version, GT_QUIRK_DISABLE_HANGS);

	for (size_t i = 0; i < GT_CUPTI_KIND_COUNT; i++) {
		if (gt_cupti_kind_may_be_on(i) &&
		    (!hangs || gt_cupti_kinds[i].kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
			gt_cupti.api.cuptiActivityDisable(gt_cupti_kinds[i].kind);
	}
	gt_cupti_unified_disable();
	gt_cupti_share(false);
}

/* Kernels that cannot be disabled find no buffer: CUPTI drops their records. So do graphs when
 * nothing follows; between windows their records are read and left out, so that a buffer without
 * room for the next window is never there. Drops of these do not count, nor do those of calls that
 * come while the process ends; work of a window may still be dropped. False: records still come. */
static bool cease(bool is_end)
{
	bool hangs = gt_cupti_has_quirk(gt_cupti.api.version, GT_QUIRK_DISABLE_HANGS);
	bool whole = gt_cupti_graphs_are_whole();

	if (!atomic_exchange(&gt_cupti.ceased, true)) {
		stop_kinds();
		if (hangs || is_end)
			gt_cupti_settle_dropped();
		if (hangs || (whole && is_end))
			gt_cupti_buffers_stop();
	}
	return !hangs && !whole;
}

bool gt_cupti_cease(void)
{
	return gt_cupti_is_usable() ? cease(true) : true;
}

static bool is_ours_now(void)
{
	return gt_forkguard_holds() && atomic_load(&gt_cupti.active) &&
	       !atomic_load(&gt_cupti.dead) && !atomic_load(&gt_cupti.away);
}

/* Also when no buffer was asked for yet. */
void gt_cupti_rest(void)
{
	gt_cupti.waits = true;
	gt_cupti.rested = pthread_self();
	if (is_ours_now())
		cease(false);
}

/* Only behind the last window. At the end of the process another thread is here, which must not
 * wait for CUPTI. */
void gt_cupti_end_graphs(void)
{
	if (gt_cupti.waits && pthread_equal(gt_cupti.rested, pthread_self()) && is_ours_now())
		gt_cupti_graphs_disable();
}

/* Of what could not be disabled there were no buffers for: it was not wanted. */
static void resume(void)
{
	size_t dropped;

	if (!atomic_exchange(&gt_cupti.ceased, false))
		return;
	if (atomic_exchange(&gt_cupti.settled, false))
		gt_cupti.api.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	gt_cupti_buffers_resume();
}

/* With our kinds off, a flush leaves CUPTI without any buffer of ours: later records belong to the
 * other tool. */
void gt_cupti_yield_buffers(void)
{
	if (!gt_cupti_is_usable())
		return;
	stop_kinds();
	gt_cupti_fetch_detaching();
	atomic_store(&gt_cupti.away, true);
}

static bool is_ours(CUpti_ActivityKind kind)
{
	if (kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)
		return gt_config_bool(gt_cupti.config, GT_CONFIG_UNIFIED_MEMORY);
	for (size_t i = 0; i < GT_CUPTI_KIND_COUNT; i++) {
		if (gt_cupti_kinds[i].kind == kind)
			return gt_cupti_kind_is_ours(i);
	}
	return false;
}

/* Disables the other tool's kinds; one that we enabled too stays on while its records come to
 * us. */
static void disable_kinds(uint64_t others, bool ours_too)
{
	bool hangs = gt_cupti_has_quirk(gt_cupti.api.version, GT_QUIRK_DISABLE_HANGS);

	for (uint32_t i = 0; i < 64; i++) {
		CUpti_ActivityKind kind = (CUpti_ActivityKind)i;

		if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && gt_cupti_graphs_are_whole())
			continue;
		if (others >> i & 1 && (ours_too || !is_ours(kind)) &&
		    (!hangs || kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
			gt_cupti.api.cuptiActivityDisable(kind);
	}
}

/* CUPTI's own clock. */
static uint64_t CUPTIAPI own_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Registers our callbacks, so that the tool's buffers come to us and are returned to it: after a
 * real cuptiFinalize it would not get them back, and it may call that function under a lock that
 * its own callback takes. */
static void redirect_buffers(void)
{
	gt_cupti.api.cuptiActivityRegisterCallbacks(on_request, on_complete);
	if (gt_cupti_buffers_count()
		    .requested) /* otherwise CUPTI has no buffer, and a flush may hang */
		gt_cupti_flush_all(true);
}

bool gt_cupti_detach(const struct gt_cupti_other *other)
{
	const struct gt_cupti_api *api = &gt_cupti.api;

	if (!gt_forkguard_holds() || !atomic_load(&gt_cupti.active) || atomic_load(&gt_cupti.dead))
		return false;
	if (other->subscriber && !atomic_load(&gt_cupti.subscribed))
		api->cuptiUnsubscribe(other->subscriber);
	disable_kinds(other->kinds, other->registered);
	if (other->registered)
		redirect_buffers();
	if (!other->clock || !api->cuptiActivityRegisterTimestampCallback)
		return true;
	gt_cupti_clock_changing();
	api->cuptiActivityRegisterTimestampCallback(own_clock);
	gt_cupti_clock_changed();
	return true;
}

/* A kind of external ids that CUPTI leaves to tools; PyTorch's profiler uses the first two. */
#define EXTERNAL_KIND CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2

static void push_external_id(uint64_t id)
{
	gt_cupti.api.cuptiActivityPushExternalCorrelationId(EXTERNAL_KIND, id);
}

static void pop_external_id(void)
{
	gt_cupti.api.cuptiActivityPopExternalCorrelationId(EXTERNAL_KIND, NULL);
}

static void note_kind(CUpti_ActivityKind kind, bool enabled)
{
	uint64_t bit = (uint64_t)1 << kind;

	if (enabled)
		atomic_fetch_or(&gt_cupti.kinds, bit);
	else
		atomic_fetch_and(&gt_cupti.kinds, ~bit);
}

void gt_cupti_share(bool shared)
{
	static const CUpti_ActivityKind extra[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
						   CUPTI_ACTIVITY_KIND_RUNTIME};
	const struct gt_cupti_api *api = &gt_cupti.api;
	bool before;

	if (!api->cuptiActivityPushExternalCorrelationId ||
	    !api->cuptiActivityPopExternalCorrelationId)
		return;
	before = atomic_exchange(&gt_cupti.shared, shared);
	if (!before && !shared)
		return; /* who shares already enables again what another tool may have disabled */
	gt_call_set_tags(shared ? push_external_id : NULL, pop_external_id);
	for (size_t i = 0; i < sizeof(extra) / sizeof(extra[0]); i++) {
		if (shared)
			api->cuptiActivityEnable(extra[i]);
		else
			api->cuptiActivityDisable(extra[i]);
		note_kind(extra[i], shared);
	}
}

static CUptiResult enable_kind(CUpti_ActivityKind kind, bool dump)
{
	CUptiResult result = CUPTI_ERROR_NOT_SUPPORTED;

	if (dump && gt_cupti.api.cuptiActivityEnableAndDump)
		result = gt_cupti.api.cuptiActivityEnableAndDump(kind);
	if (result != CUPTI_SUCCESS)
		result = gt_cupti.api.cuptiActivityEnable(kind);
	note_kind(kind, result == CUPTI_SUCCESS);
	return result;
}

static void enable_kinds(const struct gt_config *config, struct gt_cupti_status *status)
{
	gt_cupti_graphs_enable(status);
	if (gt_cupti.waits)
		return;
	for (size_t i = 0; i < GT_CUPTI_KIND_COUNT; i++) {
		if (!gt_cupti_kind_is_wanted(config, i))
			continue;
		gt_cupti_note_refused(status, gt_cupti_kinds[i].name,
				      enable_kind(gt_cupti_kinds[i].kind, gt_cupti_kinds[i].dump));
	}
	gt_cupti_unified_enable(config);
	if (gt_cupti_has_quirk(status->version, GT_QUIRK_KERNELS_NEED_API_KIND))
		gt_cupti_note_refused(status, "RUNTIME",
				      enable_kind(CUPTI_ACTIVITY_KIND_RUNTIME, false));
}

static void begin_again(struct gt_cupti_status *status)
{
	gt_cupti.parted = false;
	*status->why = 0;
	resume();
	gt_cupti_attach(status);
}

void gt_cupti_begin(struct gt_cupti_status *status)
{
	gt_cupti.waits = false;
	if (gt_cupti.parted) {
		begin_again(status);
		return;
	}
	if (!is_ours_now())
		return;
	resume();
	enable_kinds(gt_cupti.config, status);
}

void gt_cupti_part_with(void)
{
	if (!gt_forkguard_holds() || atomic_load(&gt_cupti.dead))
		return;
	atomic_store(&gt_cupti.away, true);
	gt_cupti.parted = true;
	gt_cupti_unsubscribe();
}

/* CUPTI's CUpti_SubscriberParams, which headers before 13.0 lack. */
struct subscriber_params {
	size_t size;
	const char *name;
	char *other;
	size_t other_size;
};

#ifdef CUPTI_SUBSCRIBER_NAME_MAX_LEN
_Static_assert(sizeof(struct subscriber_params) == CUpti_SubscriberParams_STRUCT_SIZE, "params");
#endif

static CUptiResult subscribe_unnamed(void)
{
	return gt_cupti.api.cuptiSubscribe(&gt_cupti.subscriber, gt_cupti_callback, NULL);
}

/* Asks CUPTI for the name of the subscriber. Uses the named form of subscribing for this question
 * only: a subscriber of that form must not call the activity functions that we use (CUPTI 13.3). */
static void query_name(char *ret_name, size_t size)
{
	struct subscriber_params params = {
		.size = sizeof(params), .other = ret_name, .other_size = size};
	CUpti_SubscriberHandle handle = NULL;

	*ret_name = 0;
	if (gt_cupti.api.cuptiSubscribe_v2 &&
	    gt_cupti.api.cuptiSubscribe_v2(&handle, gt_cupti_callback, NULL, &params) ==
		    CUPTI_SUCCESS)
		gt_cupti.api.cuptiUnsubscribe(
			handle); /* the other tool unsubscribed between the two calls */
}

/* The name that CUPTI knows and the library that was seen to subscribe, as far as known. */
static void name_other(char *ret_name, size_t size)
{
	char name[GT_CUPTI_NAME_BYTES];
	const char *library = gt_cupti_foreign_library();

	query_name(name, sizeof(name));
	if (!*library)
		gt_text_format(ret_name, size, "%s", name);
	else if (!*name)
		gt_text_format(ret_name, size, "%s", library);
	else
		gt_text_format(ret_name, size, "%s (%s)", library, name);
}

static int subscribe(struct gt_cupti_status *status)
{
	CUptiResult result = subscribe_unnamed();
	char other[GT_CUPTI_NAME_BYTES * 2];
	size_t used;

	if (result == CUPTI_SUCCESS)
		return 0;
	gt_cupti_refusal("cuptiSubscribe", result, status->why, sizeof(status->why));
	if (result != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		return -EIO;
	name_other(other, sizeof(other));
	used = strlen(status->why);
	if (*other)
		gt_text_format(status->why + used, sizeof(status->why) - used, ": %s", other);
	return -EBUSY;
}

static int make_buffers(struct gt_cupti_status *status)
{
	int error;

	if (gt_cupti.has_buffers)
		return 0;
	error = gt_cupti_buffers_start(
		(size_t)gt_config_number(gt_cupti.config, GT_CONFIG_BUFFER_SIZE),
		(size_t)gt_config_number(gt_cupti.config, GT_CONFIG_MAX_MEMORY) / 2,
		gt_cupti_settings_per_thread(status->version),
		!gt_cupti_has_quirk(status->version, GT_QUIRK_NULL_BUFFER_CRASHES));
	if (error)
		gt_text_format(status->why, sizeof(status->why), "no memory for activity buffers");
	gt_cupti.has_buffers = error == 0;
	return error;
}

static int register_buffers(struct gt_cupti_status *status)
{
	int error = make_buffers(status);
	CUptiResult result;

	if (error)
		return error;
	gt_cupti_buffers_forget();
	result = gt_cupti.api.cuptiActivityRegisterCallbacks(on_request, on_complete);
	if (result == CUPTI_SUCCESS)
		return 0;
	gt_cupti_refusal("cuptiActivityRegisterCallbacks", result, status->why,
			 sizeof(status->why));
	return -EIO;
}

/* Only after subscribing: these settings are process-wide. */
static int prepare(struct gt_cupti_status *status)
{
	int error;

	status->refused[0] = 0;
	gt_cupti.hears_init = false;
	if (gt_cupti.api.cuptiSetThreadIdType)
		gt_cupti_note_refused(
			status, "THREAD_ID_TYPE",
			gt_cupti.api.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
	gt_cupti_settings_apply(gt_cupti.config, status);
	error = register_buffers(status);
	if (error)
		return error;
	atomic_store(&gt_cupti.away, false);
	atomic_store(&gt_cupti.active, true);
	return 0;
}

/* With the subscription alone: its callbacks give our records their calls. */
static void serve_tools(void)
{
	if (!gt_cupti_relay_may_serve(gt_cupti.config))
		return;
	atomic_store(&gt_cupti.serves, true);
	gt_cupti_relay_restore();
	gt_cupti_foreign_adopt();
}

int gt_cupti_attach_buffers(struct gt_cupti_status *status)
{
	int error = prepare(status);

	if (error)
		return error;
	enable_kinds(gt_cupti.config, status);
	serve_tools();
	return 0;
}

int gt_cupti_attach(struct gt_cupti_status *status)
{
	int error = subscribe(status);

	if (error)
		return error;
	atomic_store(&gt_cupti.serves, false); /* until all is set: CUPTI wants one at a time */
	atomic_store(&gt_cupti.subscribed, true);
	error = prepare(status);
	if (error) {
		gt_cupti_unsubscribe();
		return error;
	}
	gt_cupti_share(false);
	gt_cupti_contexts_forget();
	enable_callbacks(gt_cupti.config);
	enable_kinds(gt_cupti.config, status);
	serve_tools();
	return 0;
}

void gt_cupti_unsubscribe(void)
{
	if (atomic_exchange(&gt_cupti.subscribed, false))
		gt_cupti.api.cuptiUnsubscribe(gt_cupti.subscriber);
}

bool gt_cupti_is_subscribed(void)
{
	uint32_t enabled = 0;

	/* a callback that hardly any other tool enables: CUPTI may give two clients one handle */
	return !gt_cupti.api.cuptiGetCallbackState ||
	       (gt_cupti.api.cuptiGetCallbackState(
			&enabled, gt_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
			CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) == CUPTI_SUCCESS &&
		enabled);
}
