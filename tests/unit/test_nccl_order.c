/* SPDX-License-Identifier: Apache-2.0
 *
 * The places of collectives in their communicators: by time over all threads, and none where they
 * are not certain. What an untyped call tells.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/schema/library_call.h"
#include "pipeline/ranges/nccl_order.h"

static struct gt_nccl_order *order;
static uint64_t told;

static void setup(void)
{
	order = calloc(1, sizeof(*order));
	cr_assert_not_null(order);
	told = 0;
}

static void teardown(void)
{
	gt_nccl_order_fini(order);
	free(order);
}

TestSuite(nccl_order, .init = setup, .fini = teardown);

static void tell(void *context, const struct gt_nccl_communicator *of,
		 const struct gt_nccl_ticket *ticket)
{
	(void)context;
	(void)of;
	told += ticket->place != 0;
}

/* What was recorded before @until is read by now. */
static void end_round(uint64_t until, uint64_t losses)
{
	gt_nccl_order_round_begins(order, until, losses);
	gt_nccl_order_round_ends(order, losses, &(struct gt_nccl_told){tell, NULL});
}

static void make(uint64_t id, uint64_t time)
{
	gt_nccl_order_begin(
		order,
		&(struct gt_nccl_communicator){.id = id, .ranks = 4, .rank = 2, .members = 1},
		time);
}

static uint64_t call(uint64_t id, uint64_t time)
{
	return gt_nccl_order_call(order, id, GT_NCCL_ALL_REDUCE, time);
}

Test(nccl_order, by_time_over_threads)
{
	uint64_t first, second, third, other, late;

	make(7, 10);
	make(8, 11);
	first = call(7, 20);
	third = call(7, 40); /* of one thread's ring */
	second = call(7, 30);
	other = call(8, 25);
	late = call(7, 60); /* while the rings are read: another thread's may be before it */
	cr_assert_eq(gt_nccl_order_place(order, first), 0);
	end_round(50, 0);
	cr_assert_eq(gt_nccl_order_place(order, first), 1);
	cr_assert_eq(gt_nccl_order_place(order, second), 2);
	cr_assert_eq(gt_nccl_order_place(order, third), 3);
	cr_assert_eq(gt_nccl_order_place(order, other), 1);
	cr_assert_eq(gt_nccl_order_place(order, late), 0);
	end_round(70, 0);
	cr_assert_eq(gt_nccl_order_place(order, late), 4);
	cr_assert_eq(told, 5);
}

Test(nccl_order, none_where_it_is_not_certain)
{
	uint64_t before, stranger, lost, after, of_new;

	stranger = call(9, 5); /* nobody saw it made */
	make(7, 10);
	before = call(7, 20);
	end_round(30, 0);
	cr_assert_eq(gt_nccl_order_place(order, before), 1);
	cr_assert_eq(gt_nccl_order_place(order, stranger), 0);
	lost = call(7, 40);
	end_round(50, 1); /* something was lost meanwhile */
	after = call(7, 60);
	make(8, 61);
	of_new = call(8, 62);
	end_round(70, 1);
	cr_assert_eq(gt_nccl_order_place(order, lost), 0);
	cr_assert_eq(gt_nccl_order_place(order, after), 0);
	cr_assert_eq(gt_nccl_order_place(order, of_new), 1);
}

Test(nccl_order, losses_before_the_first_communicator_do_not_matter)
{
	uint64_t ticket;

	end_round(5, 3);
	gt_nccl_order_round_begins(order, 30, 3);
	make(7, 10);
	ticket = call(7, 20);
	gt_nccl_order_round_ends(order, 3, &(struct gt_nccl_told){tell, NULL});
	cr_assert_eq(gt_nccl_order_place(order, ticket), 1);
}

Test(nccl_order, a_collective_of_which_communicator)
{
	uint64_t ticket;

	make(7, 10);
	cr_assert_eq(call(0, 20), 0);
	ticket = call(7, 30);
	end_round(50, 0);
	cr_assert_eq(gt_nccl_order_place(order, ticket), 0);
}

Test(nccl_order, one_that_comes_too_late)
{
	uint64_t first, early, next;

	make(7, 10);
	first = call(7, 40);
	end_round(50, 0);
	early = call(7, 30);
	next = call(7, 60);
	end_round(70, 0);
	cr_assert_eq(gt_nccl_order_place(order, first), 1);
	cr_assert_eq(gt_nccl_order_place(order, early), 0);
	cr_assert_eq(gt_nccl_order_place(order, next), 0);
}

Test(nccl_order, several_ranks_of_one_process)
{
	uint64_t ticket;

	make(7, 10);
	make(7, 11);
	ticket = call(7, 20);
	end_round(50, 0);
	cr_assert_eq(gt_nccl_order_place(order, ticket), 0);
	cr_assert_eq(gt_nccl_order_find(order, 7)->members, 2);
	cr_assert_eq(gt_nccl_order_find(order, 7)->rank, 0);
	cr_assert_eq(gt_nccl_order_find(order, 7)->ranks, 4);
}

Test(nccl_order, made_again)
{
	uint64_t old, fresh;

	make(7, 10);
	old = call(7, 20);
	gt_nccl_order_end(order, 7, 30);
	end_round(35, 0);
	cr_assert_not_null(gt_nccl_order_find(order, 7)); /* its kernels may come */
	make(7, 40);
	fresh = call(7, 50);
	end_round(60, 0);
	cr_assert_eq(gt_nccl_order_place(order, old), 1);
	cr_assert_eq(gt_nccl_order_place(order, fresh), 1);
}

Test(nccl_order, more_than_there_is_room_for)
{
	uint64_t first, last = 0, after;

	for (uint64_t id = 1; id <= GT_NCCL_COMMUNICATORS + 10; id++)
		make(id, id);
	end_round(1000, 0);
	first = call(1, 2000);
	for (uint64_t i = 1; i <= GT_NCCL_TICKETS; i++)
		last = call(2, 2000 + i);
	cr_assert_eq(last, 0);
	end_round(UINT64_MAX, 0);
	after = call(3, UINT64_MAX - 1);
	end_round(UINT64_MAX, 0);
	cr_assert_eq(gt_nccl_order_place(order, first), 0);
	cr_assert_eq(gt_nccl_order_place(order, after), 0);
	cr_assert_null(gt_nccl_order_find(order, GT_NCCL_COMMUNICATORS + 5));
	cr_assert_null(gt_nccl_order_find(order, 0));
}

/* ---- calls without a type ---- */

static struct gt_library_call untyped(enum gt_nccl_function function, uint64_t bytes,
				      uint32_t ranks)
{
	struct gt_library_call made = {.untyped = true,
				       .function = (uint8_t)function,
				       .operations = 1,
				       .communicator = 5,
				       .ranks = ranks};

	gt_library_count(&made, bytes);
	return made;
}

static void check_text(const struct gt_library_call *made, const char *text)
{
	char out[GT_LIBRARY_TEXT_MAX], again[GT_LIBRARY_TEXT_MAX];
	struct gt_library_call read = {0};

	gt_library_text(made, true, out);
	cr_assert_not_null(strstr(out, text), "%s", out);
	gt_library_parse(out, strlen(out), &read);
	cr_assert_eq(read.untyped, made->untyped);
	gt_library_text(&read, true, again);
	cr_assert_str_eq(again, out);
}

Test(nccl_order, bytes_in_place_of_elements)
{
	struct gt_library_call gather = untyped(GT_NCCL_ALL_GATHER, 100, 4);
	struct gt_library_call of_some = untyped(GT_NCCL_ALL_GATHER, 100, 0);
	struct gt_library_call reduce = untyped(GT_NCCL_ALL_REDUCE, 4096, 4);
	struct gt_library_call odd = untyped(GT_NCCL_ALL_REDUCE, 4095, 4);

	check_text(&gather, "sent bytes: 100, received bytes: 400, Group size: 4");
	cr_assert_eq(gt_library_bytes(&gather), 400);
	check_text(&of_some, "sent bytes: 100, Process Group Name");
	cr_assert_eq(gt_library_bytes(&of_some), 0);
	gt_library_see_kernel(&gather, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)");
	check_text(&gather, "sent bytes: 100");
	gt_library_see_kernel(&reduce, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL()");
	check_text(&reduce, "sent bytes: 4096");
	gt_library_see_kernel(&reduce,
			      "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)");
	check_text(&reduce, "dtype: Float, In msg nelems: 1024, Out msg nelems: 1024");
	cr_assert_eq(gt_library_bytes(&reduce), 4096);
	gt_library_see_kernel(&odd, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()");
	check_text(&odd, "dtype: Float, sent bytes: 4095, received bytes: 4095");
}
