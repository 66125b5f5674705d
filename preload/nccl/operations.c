/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Two rings: a number's place is its remainder. A place is taken again when what
 * was there is over; a proxy operation that never ends (an aborted communicator) keeps only its own
 * place and its operation's.
 */
#include "preload/nccl/operations.h"

#include <stdatomic.h>
#include <stddef.h>

#include "core/guest/clock.h"
#include "preload/nccl/abi.h"

#define OPERATIONS 4096u
#define PROXIES    4096u
#define TRIES      8u
#define STEPS      8u /* of a proxy operation at a time: NCCL_STEPS */

/* The lowest bits of a handle. */
#define KIND_BITS  4
#define OPERATION  1u
#define PROXY      2u
#define STEP       8u /* and the place of the step */

#define REPLACED   UINT64_MAX

/* An operation. open: proxy operations that have not ended. */
struct nccl_operation {
	_Atomic uint64_t number;
	_Atomic uint32_t open, transfers;
	_Atomic uint64_t began, ended;
	_Atomic uint64_t wait[GT_NCCL_WAIT_COUNT_];
	_Atomic uint64_t sent, received;
	struct gt_library_call call;
};

/* A proxy operation: one thread's, from its begin on. */
struct nccl_proxy {
	_Atomic uint64_t number;
	_Atomic bool is_open;
	uint64_t operation;
	bool sends;
	int steps; /* that have not ended */
	struct {
		uint8_t state; /* 0: none */
		uint64_t since;
	} at[STEPS];
};

static struct nccl_operation operations[OPERATIONS];
static struct nccl_proxy proxies[PROXIES];
static _Atomic uint64_t last_operation, last_proxy;

/* What is waited for in a state, plus 1. */
static const uint8_t waits[NCCL_STATE_COUNT] = {
	[NCCL_STATE_SEND_GPU_WAIT] = 1 + GT_NCCL_WAIT_GPU,
	[NCCL_STATE_SEND_PEER_WAIT] = 1 + GT_NCCL_WAIT_PEER,
	[NCCL_STATE_SEND_WAIT] = 1 + GT_NCCL_WAIT_SEND,
	[NCCL_STATE_RECEIVE_WAIT] = 1 + GT_NCCL_WAIT_RECEIVE,
	[NCCL_STATE_RECEIVE_FLUSH_WAIT] = 1 + GT_NCCL_WAIT_GPU,
	[NCCL_STATE_RECEIVE_GPU_WAIT] = 1 + GT_NCCL_WAIT_GPU,
};

static void *handle_of(uint64_t number, unsigned int kind)
{
	return (void *)(uintptr_t)(number << KIND_BITS | kind);
}

static uint64_t number_of(const void *handle)
{
	return (uintptr_t)handle >> KIND_BITS;
}

static unsigned int bits_of(const void *handle)
{
	return (uintptr_t)handle & ((1u << KIND_BITS) - 1);
}

enum nccl_handle_kind nccl_handle_kind(const void *handle)
{
	unsigned int bits = bits_of(handle);

	if (bits >= STEP)
		return NCCL_HANDLE_STEP;
	if (bits == PROXY)
		return NCCL_HANDLE_PROXY;
	return bits == OPERATION ? NCCL_HANDLE_OPERATION : NCCL_HANDLE_NONE;
}

/* ---- operations ---- */

static struct nccl_operation *operation_at(uint64_t number)
{
	struct nccl_operation *o = &operations[number % OPERATIONS];

	return number && atomic_load_explicit(&o->number, memory_order_acquire) == number ? o
											  : NULL;
}

/* False: what is there is not over, or another thread takes it. */
static bool claim_operation(struct nccl_operation *o)
{
	uint64_t before = atomic_load_explicit(&o->number, memory_order_relaxed);

	if (before == REPLACED || atomic_load_explicit(&o->open, memory_order_relaxed) ||
	    !atomic_compare_exchange_strong(&o->number, &before, REPLACED))
		return false;
	if (!atomic_load(&o->open))
		return true;
	atomic_store(&o->number, before); /* hold() came first */
	return false;
}

static void clear(struct nccl_operation *o)
{
	atomic_store_explicit(&o->transfers, 0, memory_order_relaxed);
	atomic_store_explicit(&o->began, 0, memory_order_relaxed);
	atomic_store_explicit(&o->sent, 0, memory_order_relaxed);
	atomic_store_explicit(&o->received, 0, memory_order_relaxed);
	for (size_t i = 0; i < GT_NCCL_WAIT_COUNT_; i++)
		atomic_store_explicit(&o->wait[i], 0, memory_order_relaxed);
}

void *nccl_operation_begin(const struct gt_library_call *call, uint64_t *ret_number)
{
	for (unsigned int i = 0; i < TRIES; i++) {
		uint64_t number =
			atomic_fetch_add_explicit(&last_operation, 1, memory_order_relaxed) + 1;
		struct nccl_operation *o = &operations[number % OPERATIONS];

		if (!claim_operation(o))
			continue;
		clear(o);
		o->call = *call;
		atomic_store_explicit(&o->number, number, memory_order_release);
		*ret_number = number;
		return handle_of(number, OPERATION);
	}
	return NULL;
}

/* ---- proxy operations ---- */

static struct nccl_proxy *claim_proxy(uint64_t *ret_number)
{
	for (unsigned int i = 0; i < TRIES; i++) {
		uint64_t number =
			atomic_fetch_add_explicit(&last_proxy, 1, memory_order_relaxed) + 1;
		struct nccl_proxy *p = &proxies[number % PROXIES];

		if (atomic_exchange_explicit(&p->is_open, true, memory_order_acquire))
			continue;
		*ret_number = number;
		return p;
	}
	return NULL;
}

/* NULL: it has ended. */
static struct nccl_proxy *proxy_at(const void *handle)
{
	uint64_t number = number_of(handle);
	struct nccl_proxy *p = &proxies[number % PROXIES];

	return number && atomic_load_explicit(&p->number, memory_order_acquire) == number ? p
											  : NULL;
}

/* An operation is not replaced as long as a proxy operation of it is open. */
static struct nccl_operation *hold(uint64_t number)
{
	struct nccl_operation *o = operation_at(number);

	if (!o)
		return NULL;
	atomic_fetch_add(&o->open, 1);
	if (atomic_load(&o->number) == number)
		return o;
	atomic_fetch_sub(&o->open, 1);
	return NULL;
}

void *nccl_proxy_begin(void *operation, bool sends, int steps)
{
	struct nccl_operation *o = nccl_handle_kind(operation) == NCCL_HANDLE_OPERATION
					   ? hold(number_of(operation))
					   : NULL;
	uint64_t number = 0;
	struct nccl_proxy *p = o ? claim_proxy(&number) : NULL;

	if (!p) {
		if (o)
			atomic_fetch_sub(&o->open, 1);
		return NULL;
	}
	p->operation = number_of(operation);
	p->sends = sends;
	p->steps = steps;
	for (unsigned int i = 0; i < STEPS; i++)
		p->at[i].state = 0;
	atomic_store_explicit(&p->number, number, memory_order_release);
	return handle_of(number, PROXY);
}

static uint64_t take(_Atomic uint64_t *from)
{
	return atomic_exchange_explicit(from, 0, memory_order_relaxed);
}

/* Another proxy operation may begin later: what that waits for is reported then. */
static void take_sums(struct nccl_operation *o, uint64_t now, struct nccl_sums *ret_sums)
{
	*ret_sums = (struct nccl_sums){.call = o->call, .number = o->number, .ended = now};
	ret_sums->began = take(&o->began);
	ret_sums->call.is_network = true;
	ret_sums->call.in = take(&o->sent);
	ret_sums->call.out = take(&o->received);
	ret_sums->call.operations = atomic_exchange(&o->transfers, 0);
	for (size_t i = 0; i < GT_NCCL_WAIT_COUNT_; i++)
		ret_sums->call.wait[i] = take(&o->wait[i]);
	ret_sums->began = ret_sums->began ? ret_sums->began : now;
}

static bool end(struct nccl_proxy *p, uint64_t now, struct nccl_sums *ret_sums)
{
	struct nccl_operation *o = operation_at(p->operation);
	uint32_t open = o ? atomic_load(&o->open) : 0;
	bool has_sums = false;

	do {
		if (open == 1 && !has_sums)
			take_sums(o, now, ret_sums);
		has_sums |= open == 1;
	} while (o && !atomic_compare_exchange_weak(&o->open, &open, open - 1));
	atomic_store_explicit(&p->number, 0, memory_order_relaxed);
	atomic_store_explicit(&p->is_open, false, memory_order_release);
	return has_sums && ret_sums->call.operations;
}

bool nccl_proxy_end(void *handle, struct nccl_sums *ret_sums)
{
	struct nccl_proxy *p = proxy_at(handle);

	return p && end(p, gt_clock_now(), ret_sums);
}

/* ---- transfers ---- */

/* The first one is where the network begins: proxy operations are begun at the launch, and may wait
 * for many kernels before. */
void *nccl_step_begin(void *proxy, int step)
{
	struct nccl_proxy *p =
		nccl_handle_kind(proxy) == NCCL_HANDLE_PROXY ? proxy_at(proxy) : NULL;
	struct nccl_operation *o = p ? operation_at(p->operation) : NULL;
	unsigned int place = (unsigned int)step % STEPS;
	uint64_t nothing = 0;

	if (!p)
		return NULL;
	if (o && !atomic_load_explicit(&o->began, memory_order_relaxed))
		atomic_compare_exchange_strong(&o->began, &nothing, gt_clock_now());
	p->at[place].state = 0;
	return handle_of(number_of(proxy), STEP | place);
}

/* Until @now it was in the state before. */
static void leave(struct nccl_proxy *p, unsigned int place, uint64_t now)
{
	uint8_t wait = waits[p->at[place].state];
	struct nccl_operation *o = wait ? operation_at(p->operation) : NULL;

	if (o)
		atomic_fetch_add_explicit(&o->wait[wait - 1], now - p->at[place].since,
					  memory_order_relaxed);
}

/* Sends tell their bytes when the network has them, receives when they have come. */
static void count_bytes(const struct nccl_proxy *p, int state, uint64_t bytes)
{
	struct nccl_operation *o = operation_at(p->operation);

	if (o && state == NCCL_STATE_SEND_WAIT)
		atomic_fetch_add_explicit(&o->sent, bytes, memory_order_relaxed);
	else if (o && state == NCCL_STATE_RECEIVE_FLUSH_WAIT)
		atomic_fetch_add_explicit(&o->received, bytes, memory_order_relaxed);
}

void nccl_step_state(void *step, int state, uint64_t bytes)
{
	struct nccl_proxy *p = proxy_at(step);
	unsigned int place = bits_of(step) % STEPS;
	uint64_t now;

	/* the same one comes at each turn of the proxy's thread */
	if (!p || state <= 0 || state >= NCCL_STATE_COUNT || p->at[place].state == state)
		return;
	now = gt_clock_now();
	leave(p, place, now);
	count_bytes(p, state, bytes);
	p->at[place].state = (uint8_t)state;
	p->at[place].since = now;
}

bool nccl_step_end(void *step, struct nccl_sums *ret_sums)
{
	struct nccl_proxy *p = proxy_at(step);
	unsigned int place = bits_of(step) % STEPS;
	struct nccl_operation *o = p ? operation_at(p->operation) : NULL;
	uint64_t now;

	if (!o)
		return false;
	now = gt_clock_now();
	leave(p, place, now);
	p->at[place].state = 0;
	atomic_fetch_add_explicit(&o->transfers, 1, memory_order_relaxed);
	return --p->steps == 0 && end(p, now, ret_sums);
}
