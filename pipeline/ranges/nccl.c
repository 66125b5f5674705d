/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's own NVTX ranges as calls of NCCL: push/pop ranges of the domain "NCCL", registered under
 * the function's name, with a payload. Its entries are found by name, whatever their order, as
 * NCCL's versions differ (NVIDIA/nccl src/include/nvtx_payload_schemas.h):
 *
 *   2.16 to 2.24  message size, root, peer, reduction; no communicator
 *   2.25          communicator; that of ncclCommInitRank is there at the pop, when it is made
 *   2.28          ncclAlltoAll, ncclGather, ncclScatter
 *   2.29          ncclPutSignal, ncclSignal, ncclWaitSignal, ncclCommGrow
 *
 * "No. of ranks" and "Rank" of ncclCommSplit are those of the parent, of ncclCommShrink (2.27) the
 * communicator, too; of ncclCommGrow rank and communicator are not there yet. A range inside the
 * same call as --libraries=nccl sees it tells nothing more. Any library may call its domain so:
 * what does not fit is left out.
 */
#include <string.h>

#include "collectors/nvtx/nvtx.h"
#include "collectors/nvtx/payload.h"
#include "collectors/nvtx/record.h"
#include "pipeline/ranges/internal.h"

enum nccl_entry {
	COMMUNICATOR,
	BYTES,
	ROOT,
	PEER,
	REDUCTION,
	RANKS,
	RANK,
	DEVICE,
	DEVICES,
	ENTRY_COUNT,
};

static const struct {
	const char *name;
	enum nccl_entry entry;
	uint8_t width;
} entries[] = {
	{"NCCL communicator ID", COMMUNICATOR, 8},
	{"Message size [bytes]", BYTES, 8},
	{"Bytes", BYTES, 8}, /* before 2.25 */
	{"Root", ROOT, 4},
	{"Peer rank", PEER, 4},
	{"Reduction operation", REDUCTION, 4},
	{"No. of ranks", RANKS, 4},
	{"Rank", RANK, 4},
	{"CUDA device", DEVICE, 4},
	{"No. of devices", DEVICES, 4},
};

/* What a payload tells. */
struct nccl_payload {
	bool has[ENTRY_COUNT];
	uint64_t value[ENTRY_COUNT];
};

enum nccl_role {
	OTHER,
	COLLECTIVE,
	MESSAGE,
	BEGINS_GROUP,
	ENDS_GROUP,
	MAKES,
	SPLITS,
	SHRINKS,
	GROWS,
	ENDS,
};

static const uint8_t roles[GT_NCCL_FUNCTION_COUNT_] = {
	[GT_NCCL_ALL_REDUCE] = COLLECTIVE,
	[GT_NCCL_BROADCAST] = COLLECTIVE,
	[GT_NCCL_BCAST] = COLLECTIVE,
	[GT_NCCL_REDUCE] = COLLECTIVE,
	[GT_NCCL_ALL_GATHER] = COLLECTIVE,
	[GT_NCCL_REDUCE_SCATTER] = COLLECTIVE,
	[GT_NCCL_ALL_TO_ALL] = COLLECTIVE,
	[GT_NCCL_GATHER] = COLLECTIVE,
	[GT_NCCL_SCATTER] = COLLECTIVE,
	[GT_NCCL_SEND] = MESSAGE,
	[GT_NCCL_RECV] = MESSAGE,
	[GT_NCCL_PUT_SIGNAL] = MESSAGE,
	[GT_NCCL_SIGNAL] = MESSAGE,
	[GT_NCCL_WAIT_SIGNAL] = MESSAGE,
	[GT_NCCL_GROUP_START] = BEGINS_GROUP,
	[GT_NCCL_GROUP_END] = ENDS_GROUP,
	[GT_NCCL_GROUP_SIMULATE_END] = ENDS_GROUP,
	[GT_NCCL_INIT_RANK] = MAKES,
	[GT_NCCL_INIT_RANK_CONFIG] = MAKES,
	[GT_NCCL_INIT_RANK_SCALABLE] = MAKES,
	[GT_NCCL_INIT_ALL] = MAKES,
	[GT_NCCL_SPLIT] = SPLITS,
	[GT_NCCL_SHRINK] = SHRINKS,
	[GT_NCCL_GROW] = GROWS,
	[GT_NCCL_DESTROY] = ENDS,
	[GT_NCCL_ABORT] = ENDS,
};

/* ---- payloads ---- */

static bool fits(const struct gt_nvtx_number *number, uint8_t width)
{
	if (number->is_real)
		return false;
	if (number->is_enum)
		return width == 4 && number->integer >= 0 && number->integer <= INT32_MAX;
	if (gt_nvtx_type_size(number->type) != width)
		return false;
	return width == 8 ? !gt_nvtx_is_signed(number->type)
			  : number->integer >= 0 && number->integer < INT32_MAX;
}

/* The first one of a name counts. */
static void take_entry(void *context, const struct gt_nvtx_number *number)
{
	struct nccl_payload *payload = context;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		enum nccl_entry entry = entries[i].entry;

		if (strcmp(entries[i].name, number->name) != 0 || payload->has[entry] ||
		    !fits(number, entries[i].width))
			continue;
		payload->has[entry] = true;
		payload->value[entry] = (uint64_t)number->integer;
	}
}

static struct nccl_payload read_payload(const struct gt_nvtx_record *record)
{
	struct nccl_payload payload = {0};

	gt_nvtx_decode_numbers(record->domain,
			       record->data + gt_nvtx_payload_offset(record->text_length),
			       record->payload_length, take_entry, &payload);
	return payload;
}

/* As struct gt_library_call has numbers that may be unknown. */
static uint32_t plus_one(const struct nccl_payload *payload, enum nccl_entry entry)
{
	return payload->has[entry] ? (uint32_t)payload->value[entry] + 1 : 0;
}

/* ---- communicators ---- */

static struct gt_nccl_communicator made_by(const struct gt_library_call *call,
					   const struct nccl_payload *payload)
{
	struct gt_nccl_communicator made = {.id = payload->value[COMMUNICATOR], .members = 1};

	if (roles[call->function] == GROWS) /* before it has a rank and an id */
		made.id = 0;
	if (roles[call->function] == SPLITS || roles[call->function] == GROWS)
		return made;
	if (call->function == GT_NCCL_INIT_ALL) {
		made.ranks = made.members = (uint32_t)payload->value[DEVICES];
		made.rank = made.ranks == 1;
		return made;
	}
	made.ranks = (uint32_t)payload->value[RANKS];
	made.rank = plus_one(payload, RANK);
	made.device = plus_one(payload, DEVICE);
	if (made.rank > made.ranks)
		made.ranks = made.rank = 0;
	return made;
}

/* ---- ranges ---- */

/* What the call of the library itself tells is more. */
static bool is_inside_library(const struct gt_range *range)
{
	for (const struct gt_range *outer = range->below; outer; outer = outer->below)
		if (outer->event.is_library && !outer->event.library.is_math &&
		    !outer->event.library.is_mpi)
			return true;
	return false;
}

/* After a loss nobody knows which groups are open. */
static struct gt_range_thread *thread_of(struct gt_ranges *ranges, uint32_t tid)
{
	struct gt_range_thread *thread = gt_range_thread_get(ranges, tid);

	if (thread && thread->losses != ranges->nccl.losses) {
		thread->losses = ranges->nccl.losses;
		thread->group_count = thread->group_depth = 0;
	}
	return thread;
}

static void take_group(struct gt_range_thread *thread, struct gt_library_call *call)
{
	enum nccl_role role = roles[call->function];

	thread->group_depth += role == BEGINS_GROUP;
	thread->group_depth -= role == ENDS_GROUP && thread->group_depth;
	call->in_group = thread->group_depth > 0;
}

static void take_operation(struct gt_ranges *ranges, const struct gt_nvtx_record *record,
			   const struct nccl_payload *payload, struct gt_library_call *call)
{
	call->operations = 1;
	call->communicator = payload->value[COMMUNICATOR];
	call->peer = payload->has[PEER] ? plus_one(payload, PEER) : plus_one(payload, ROOT);
	if (payload->has[REDUCTION])
		call->reduction = payload->value[REDUCTION] < UINT8_MAX
					  ? (uint8_t)(payload->value[REDUCTION] + 1)
					  : UINT8_MAX;
	gt_nccl_order_know(&ranges->nccl, call);
	call->in = payload->value[BYTES];
	if (roles[call->function] == COLLECTIVE)
		call->sequence = gt_nccl_order_call(&ranges->nccl, call->communicator,
						    call->function, record->time);
}

/* On its slice: what is known by now, which is not yet its place. */
static struct gt_library_call shown(struct gt_library_call call)
{
	call.sequence = 0;
	gt_library_count(&call, call.in);
	return call;
}

/* Communicators that come and go, at whichever end of the range the payload is. */
static void tell(struct gt_ranges *ranges, struct gt_range *range,
		 const struct nccl_payload *payload, uint64_t time)
{
	struct gt_library_call *call = &range->event.library;
	struct gt_nccl_communicator made = made_by(call, payload);
	enum nccl_role role = roles[call->function];

	if (call->operations)
		return;
	call->communicator = made.id;
	call->ranks = made.ranks;
	call->rank = made.rank;
	if (role == MAKES || role == SPLITS)
		gt_nccl_order_begin(&ranges->nccl, &made, time);
	else if (role == ENDS)
		gt_nccl_order_end(&ranges->nccl, made.id, time);
}

static bool is_call(const struct gt_range *range, const struct gt_nvtx_record *record)
{
	const struct gt_string *domain = range->event.domain;

	return domain && !strcmp(domain->text, "NCCL") && record->head.flags == GT_NVTX_PUSH &&
	       !is_inside_library(range);
}

void gt_range_nccl_begin(struct gt_ranges *ranges, struct gt_range *range,
			 const struct gt_nvtx_record *record)
{
	const struct gt_string *name = range->event.name;
	struct gt_range_thread *thread =
		is_call(range, record) ? thread_of(ranges, range->tid) : NULL;
	struct gt_library_call call = {.untyped = true};
	struct nccl_payload payload;

	if (!thread)
		return;
	call.function = (uint8_t)gt_library_find_function(name->text, name->length);
	if (!call.function)
		return;
	payload = read_payload(record);
	take_group(thread, &call);
	if (roles[call.function] == COLLECTIVE || roles[call.function] == MESSAGE)
		take_operation(ranges, record, &payload, &call);
	range->library = gt_range_library_begin(ranges, range->tid, &call);
	range->event.library = shown(call);
	tell(ranges, range, &payload, record->time);
}

void gt_range_nccl_end(struct gt_ranges *ranges, struct gt_range *range,
		       const struct gt_nvtx_record *record)
{
	struct nccl_payload payload;

	if (!range->event.library.function || !record->payload_length)
		return;
	payload = read_payload(record);
	tell(ranges, range, &payload, record->time);
}

/* ---- rounds ---- */

static uint64_t losses(const struct gt_ranges *ranges)
{
	struct gt_nvtx_counts nvtx = gt_nvtx_count();

	return nvtx.lost + nvtx.refused + ranges->lost;
}

void gt_ranges_round_begins(struct gt_ranges *ranges)
{
	gt_nccl_order_round_begins(&ranges->nccl, gt_clock_now(), losses(ranges));
}

static void take_place(void *context, const struct gt_nccl_communicator *of,
		       const struct gt_nccl_ticket *ticket)
{
	struct gt_ranges *ranges = context;
	struct gt_library_call call = {.communicator = of->id,
				       .ranks = of->ranks,
				       .rank = of->rank,
				       .sequence = ticket->place,
				       .function = ticket->function,
				       .operations = ticket->place != 0};

	gt_range_collectives_call(&ranges->collectives, &call,
				  gt_clock_from_monotonic(ranges->clock, ticket->time));
}

void gt_range_nccl_round(struct gt_ranges *ranges)
{
	const struct gt_nccl_told told = {take_place, ranges};

	if (ranges->nccl.waiting_count || ranges->nccl.communicator_count)
		gt_nccl_order_round_ends(&ranges->nccl, losses(ranges), &told);
}
