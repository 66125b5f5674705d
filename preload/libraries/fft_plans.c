/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/fft_plans.h"

#include <stddef.h>

#include "preload/libraries/cublas_args.h"
#include "preload/libraries/freed.h"
#include "preload/libraries/handles.h"
#include "preload/libraries/math.h"

#define BITS         12
#define MOST_RANK    3
#define FORWARD      1 /* gt_math_call.side */
#define INVERSE      2
#define NO_DIRECTION 3

static _Atomic uintptr_t keys[1u << BITS];
static struct gt_math_call plans[1u << BITS];
static const struct handles handles = {keys, BITS};

/* cufftType, and cudaDataType + 1 of its sides and of what it is computed by. */
static const struct {
	int type;
	uint8_t in, out, by;
} types[] = {
	{0x29, 5, 5, 1}, {0x2a, 1, 5, 1}, {0x2c, 5, 1, 1},
	{0x69, 6, 6, 2}, {0x6a, 2, 6, 2}, {0x6c, 6, 2, 2},
};

/* cudaDataType + 1 of complex numbers, and of their parts. */
static const uint8_t parts[][2] = {{5, 1}, {6, 2}, {7, 3}, {16, 15}};

static void set_type(struct gt_math_call *call, int type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == type) {
			call->a = types[i].in;
			call->c = types[i].out;
			call->compute = types[i].by;
		}
}

static void set_sizes(struct gt_math_call *call, int rank, const long long *n, long long batch)
{
	int64_t *const sizes[MOST_RANK] = {&call->m, &call->n, &call->k};

	if (rank < 1 || rank > MOST_RANK || !n) {
		call->unknown = GT_MATH_OUT_OF_RANGE;
		return;
	}
	for (int i = 0; i < rank; i++) {
		*sizes[i] = n[i];
		call->sizes |= 1u << i & 7;
	}
	if (batch == 1)
		return;
	call->batch = batch;
	call->sizes |= GT_MATH_BATCH;
}

void fft_describe(struct gt_math_call *call, int rank, const long long *n, int type,
		  long long batch)
{
	set_sizes(call, rank, n, batch);
	set_type(call, type);
}

void fft_describe_ints(struct gt_math_call *call, int rank, const int *n, int type, long long batch)
{
	long long sizes[MOST_RANK] = {0};

	for (int i = 0; n && i < rank && rank <= MOST_RANK; i++)
		sizes[i] = n[i];
	fft_describe(call, rank, n ? sizes : NULL, type, batch);
}

void fft_describe_typed(struct gt_math_call *call, int rank, const long long *n, int in, int out,
			int by, long long batch)
{
	set_sizes(call, rank, n, batch);
	call->a = plus_1(in);
	call->c = plus_1(out);
	call->compute = plus_1(by);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (call->compute == parts[i][0])
			call->compute = parts[i][1];
}

/* 0 may be a plan, and is no handle. */
static uintptr_t key_of(int plan)
{
	return (uintptr_t)(unsigned int)plan + 1;
}

void fft_forget_sizes(struct gt_math_call *call)
{
	bool had = call->sizes || call->a || call->unknown;

	*call = (struct gt_math_call){.unknown = had ? GT_MATH_UNKNOWN_VERSION : 0};
}

void fft_plan_made(const int *plan, int failed)
{
	if (plan && !failed)
		freed_forget(key_of(*plan));
}

/* Counted once: any function that executes it computes the same. */
void fft_plan_keep(int plan, const struct gt_math_call *call, int failed)
{
	uint32_t at = failed ? HANDLES_NONE : handles_add(&handles, key_of(plan));

	fft_plan_made(&plan, failed);
	if (at == HANDLES_NONE)
		return;
	plans[at] = *call;
	plans[at].function = GT_MATH_cufftXtExec;
	plans[at].flops = plans[at].bytes = plans[at].overflow = plans[at].unknown = 0;
	if (call->sizes)
		gt_math_count(&plans[at]);
}

void fft_plan_forget(int plan)
{
	if (handles_find(&handles, key_of(plan)) != HANDLES_NONE)
		freed_note(key_of(plan));
	handles_remove(&handles, key_of(plan));
}

static bool is_complex(uint8_t type)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (type == parts[i][0])
			return true;
	return false;
}

static uint8_t way_of(const struct gt_math_call *call, int direction)
{
	if (is_complex(call->c) && !is_complex(call->a))
		return FORWARD;
	if (is_complex(call->a) && !is_complex(call->c))
		return INVERSE;
	return direction == -1 ? FORWARD : direction == 1 ? INVERSE : NO_DIRECTION;
}

void fft_plan_use(int plan, int type, int direction, struct gt_math_call *call)
{
	uint32_t at;

	if (!math_is_told())
		return;
	at = handles_find(&handles, key_of(plan));
	if (at != HANDLES_NONE)
		*call = plans[at];
	else
		set_type(call, type);
	if (at == HANDLES_NONE)
		freed_blame(key_of(plan), call);
	call->side = way_of(call, direction) & 3;
}
