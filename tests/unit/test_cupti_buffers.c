/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity buffers: aligned and zeroed, read in the order of completion, foreign ones left alone,
 * a cap that ends in counted discards and never in a NULL that an old CUPTI cannot stand.
 */
#include "collectors/cupti_buffers.h"

#include <criterion/criterion.h>
#include <string.h>

#define BYTES 65536

static uint8_t *request(size_t *size)
{
	uint8_t *buffer = NULL;
	size_t records = 99;

	gt_cupti_buffers_request(&buffer, size, &records);
	cr_assert_eq(records, 0);
	return buffer;
}

Test(cupti_buffers, come_back_in_the_order_of_completion)
{
	struct gt_cupti_buffer done;
	size_t size;
	uint8_t *a, *b;

	cr_assert_eq(gt_cupti_buffers_start(BYTES, 8 * BYTES, false), 0);
	a = request(&size);
	b = request(&size);
	cr_assert_eq(size, BYTES);
	cr_assert_eq((uintptr_t)a % 8, 0);
	gt_cupti_buffers_complete(b, 100);
	gt_cupti_buffers_complete(a, 200);
	cr_assert(gt_cupti_buffers_next(&done));
	cr_assert_eq(done.data, b);
	cr_assert_eq(done.valid, 100);
	gt_cupti_buffers_recycle(&done);
	cr_assert(gt_cupti_buffers_next(&done));
	cr_assert_eq(done.data, a);
	gt_cupti_buffers_recycle(&done);
	cr_assert_not(gt_cupti_buffers_next(&done));
}

Test(cupti_buffers, are_zero_when_handed_out_again)
{
	struct gt_cupti_buffer done;
	static uint8_t zero[BYTES];
	size_t size;

	gt_cupti_buffers_start(BYTES, 2 * BYTES, false);
	for (int round = 0; round < 5; round++) {
		uint8_t *buffer = request(&size);

		cr_assert_eq(memcmp(buffer, zero, BYTES), 0);
		memset(buffer, 0xDB, BYTES);
		gt_cupti_buffers_complete(buffer, BYTES);
		cr_assert(gt_cupti_buffers_next(&done));
		gt_cupti_buffers_recycle(&done);
	}
}

Test(cupti_buffers, over_the_cap_a_discard_buffer_is_given_and_counted)
{
	size_t size;
	uint8_t *discard;

	gt_cupti_buffers_start(BYTES, 2 * BYTES, false);
	request(&size);
	request(&size);
	discard = request(&size);
	cr_assert_not_null(discard);
	gt_cupti_buffers_complete(discard, 64);
	cr_assert_eq(gt_cupti_buffers_count().discarded, 1);
	cr_assert_eq(gt_cupti_buffers_count().discarded_bytes, 64);
	cr_assert_eq(gt_cupti_buffers_count().completed, 0);
}

Test(cupti_buffers, a_foreign_buffer_is_counted_and_not_touched)
{
	uint8_t foreign[64];
	struct gt_cupti_buffer done;

	memset(foreign, 7, sizeof(foreign));
	gt_cupti_buffers_start(BYTES, 2 * BYTES, true);
	gt_cupti_buffers_complete(foreign, sizeof(foreign));
	cr_assert_eq(gt_cupti_buffers_count().foreign, 1);
	cr_assert_not(gt_cupti_buffers_next(&done));
	cr_assert_eq(foreign[63], 7);
}

Test(cupti_buffers, a_burst_does_not_stay_mapped)
{
	struct gt_cupti_buffer done;
	uint8_t *buffers[8];
	size_t size;

	gt_cupti_buffers_start(BYTES, 8 * BYTES, false);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++)
			buffers[i] = request(&size);
		for (int i = 0; i < 8; i++)
			gt_cupti_buffers_complete(buffers[i], 1 + (size_t)i);
		for (int i = 0; i < 8; i++) {
			cr_assert(gt_cupti_buffers_next(&done));
			cr_assert_eq(done.valid, 1 + (size_t)i);
			gt_cupti_buffers_recycle(&done);
		}
	}
	cr_assert_eq(gt_cupti_buffers_count().discarded, 0, "unmapped slots serve again");
	cr_assert_eq(gt_cupti_buffers_count().completed, 24);
}

Test(cupti_buffers, a_new_start_knows_nothing_of_the_one_before)
{
	struct gt_cupti_buffer done;
	size_t size;

	gt_cupti_buffers_start(BYTES, 4 * BYTES, false);
	gt_cupti_buffers_complete(request(&size), 100);
	gt_cupti_buffers_start(BYTES, 4 * BYTES, false);
	cr_assert_not(gt_cupti_buffers_next(&done), "a forked child has its parent's records");
	cr_assert_eq(gt_cupti_buffers_count().requested, 0);
	cr_assert_eq(gt_cupti_buffers_count().completed, 0);
}
