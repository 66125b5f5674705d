/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy against figures that Kineto wrote into public traces (A100 and V100), and against the
 * limits one by one.
 */
#include "collectors/cupti/records/occupancy.h"

#include <string.h>

#include <criterion/criterion.h>

static const struct gt_device_event h200 = {
	.compute_major = 9,
	.compute_minor = 0,
	.sm_count = 132,
	.warp_size = 32,
	.max_threads_per_block = 1024,
	.max_threads_per_sm = 2048,
	.registers_per_block = 65536,
	.registers_per_sm = 65536,
	.shared_per_block = 49152,
	.shared_per_block_optin = 232448,
	.shared_per_sm = 233472,
};

static struct gt_kernel_event kernel(uint32_t blocks, uint32_t threads, uint32_t registers,
				     uint32_t shared)
{
	struct gt_kernel_event k = {.grid = {blocks, 1, 1},
				    .block = {threads, 1, 1},
				    .registers = registers,
				    .dynamic_shared = shared};

	gt_occupancy_fill(&h200, &k, NULL);
	return k;
}

/* Rows of public Kineto traces: what it wrote for these launches on these devices. */
static const struct {
	uint32_t major, sms, shared_optin, shared_per_sm;
	uint32_t blocks, threads, registers, shared;
	uint32_t percent;
} kineto[] = {
	{8, 108, 166912, 167936, 64, 128, 90, 49152, 4},
	{8, 108, 166912, 167936, 56, 512, 40, 0, 13},
	{8, 108, 166912, 167936, 512, 512, 40, 400, 75},
	{8, 108, 166912, 167936, 7168, 256, 32, 4224, 100},
	{8, 108, 166912, 167936, 1024, 128, 35, 0, 59},
	{7, 80, 98304, 98304, 424, 128, 30, 0, 33},
	{7, 80, 98304, 98304, 3136, 128, 160, 16384, 19},
	{7, 80, 98304, 98304, 64, 512, 64, 144, 20},
	{7, 80, 98304, 98304, 1440, 128, 20, 0, 100},
};

Test(occupancy, is_what_kineto_writes)
{
	for (size_t i = 0; i < sizeof(kineto) / sizeof(kineto[0]); i++) {
		struct gt_device_event device = h200;
		struct gt_kernel_event k = {.grid = {kineto[i].blocks, 1, 1},
					    .block = {kineto[i].threads, 1, 1},
					    .registers = kineto[i].registers,
					    .dynamic_shared = kineto[i].shared};

		device.compute_major = kineto[i].major;
		device.sm_count = kineto[i].sms;
		device.shared_per_block_optin = kineto[i].shared_optin;
		device.shared_per_sm = kineto[i].shared_per_sm;
		gt_occupancy_fill(&device, &k, NULL);
		cr_assert_eq(k.est_occupancy_percent, kineto[i].percent, "row %zu", i);
	}
}

Test(occupancy, the_example_of_the_format_page)
{
	struct gt_kernel_event k = {.grid = {64, 8, 1},
				    .block = {256, 1, 1},
				    .registers = 122,
				    .dynamic_shared = 49152};

	gt_occupancy_fill(&h200, &k, NULL);
	cr_assert(k.has_occupancy);
	cr_assert_eq(k.blocks_per_sm_micro, 3878788);
	cr_assert_eq(k.warps_per_sm_micro, 31030303);
	cr_assert_eq(k.theoretical_occupancy_percent, 25, "two blocks of 256 by registers");
	cr_assert_eq(k.resident_blocks, 2);
	cr_assert_eq(k.limit_registers, 2);
	cr_assert_eq(k.limit_warps, 8, "64 warps in blocks of 8");
	cr_assert_eq(k.limit_blocks, 32);
	cr_assert_eq(k.est_occupancy_percent, 25);
}

Test(occupancy, a_small_grid_is_limited_by_its_size)
{
	struct gt_kernel_event k = kernel(24, 544, 96, 0);

	cr_assert_eq(k.blocks_per_sm_micro, 181818);
	cr_assert_eq(k.est_occupancy_percent, 5, "as Kineto says for this NCCL kernel");
}

Test(occupancy, large_shared_memory_leaves_one_block)
{
	cr_assert_eq(kernel(1000, 256, 32, 200000).theoretical_occupancy_percent, 13);
}

Test(occupancy, full)
{
	cr_assert_eq(kernel(100000, 1024, 32, 0).theoretical_occupancy_percent, 100);
	cr_assert_eq(kernel(100000, 1024, 32, 0).est_occupancy_percent, 100);
}

Test(occupancy, nothing_without_a_device)
{
	struct gt_kernel_event k = {.grid = {1, 1, 1}, .block = {32, 1, 1}};

	gt_occupancy_fill(&(struct gt_device_event){0}, &k, NULL);
	cr_assert_not(k.has_occupancy);
}

Test(occupancy, optin_shared_memory_follows_the_compute_capability)
{
	cr_assert_eq(gt_occupancy_shared_optin(9, 0, 233472, 49152), 232448);
	cr_assert_eq(gt_occupancy_shared_optin(8, 0, 167936, 49152), 166912);
	cr_assert_eq(gt_occupancy_shared_optin(7, 5, 65536, 49152), 65536);
	cr_assert_eq(gt_occupancy_shared_optin(6, 1, 98304, 49152), 49152);
}

/* A record may say anything: what no device is like is not given to the calculator, whose ints it
 * would overflow. */
Test(occupancy, metadata_of_no_device)
{
	static const struct gt_kernel_event launch = {
		.grid = {1, 1, 1}, .block = {256, 1, 1}, .registers = 122};
	struct gt_device_event warps = h200, registers = h200, shared = h200;
	const struct gt_device_event *devices[] = {&warps, &registers, &shared};

	warps.warp_size = 1u << 26;
	registers.registers_per_sm = registers.registers_per_block = UINT32_MAX;
	shared.shared_per_sm = UINT32_MAX;
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		struct gt_kernel_event k = launch;

		gt_occupancy_fill(devices[i], &k, NULL);
		cr_assert_not(k.has_occupancy, "%zu", i);
	}
}

/* Of launches of which many fall into the same slot. */
Test(occupancy, answers_that_are_kept)
{
	struct gt_device_event other = h200;
	const struct gt_device_event *devices[] = {&h200, &other};
	static struct gt_occupancy_answers answers;
	uint32_t seed = 7;

	other.id = 1;
	other.max_threads_per_sm = 1536;
	for (int i = 0; i < 20000; i++) {
		struct gt_kernel_event k = {.grid = {1 + (seed >> 28) * 3000000, 1, 1}}, again;

		seed = seed * 1664525u + 1013904223u;
		k.block[0] = 32 << (seed >> 8) % 7;
		k.block[1] = k.block[2] = 1;
		k.registers = 16 << (seed >> 12) % 4;
		k.static_shared = (seed >> 16) % 3 * 1024;
		k.dynamic_shared = (seed >> 20) % 4 * 49152;
		again = k;
		gt_occupancy_fill(devices[i % 2], &k, NULL);
		gt_occupancy_fill(devices[i % 2], &again, &answers);
		cr_assert_eq(memcmp(&k, &again, sizeof(k)), 0, "%d", i);
	}
}
