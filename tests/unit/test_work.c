/* SPDX-License-Identifier: Apache-2.0
 *
 * FLOPs of PyTorch's operators by their shapes, and peaks of GPUs by their data sheets.
 */
#include <criterion/criterion.h>

#include "analysis/usage/peaks.h"
#include "trace/load/work.h"

static struct gt_model_work work_of(const char *name, const char *dims, const char *types)
{
	struct gt_model_work work = {0};
	bool known = gt_work_of_operator(name, dims, strlen(dims), types, types ? strlen(types) : 0,
					 &work);

	work.number = known;
	return work;
}

Test(work, products)
{
	struct gt_model_work work = work_of("aten::mm", "[[4, 16], [16, 8]]", NULL);

	cr_assert_eq(work.flops, 2 * 4 * 16 * 8);
	cr_assert_eq(work.bytes, 0);
	work = work_of("aten::addmm", "[[8], [4, 16], [16, 8], [], []]",
		       "[\"c10::Half\", \"c10::Half\", \"c10::Half\", \"Scalar\", \"Scalar\"]");
	cr_assert_eq(work.flops, 2 * 4 * 16 * 8);
	cr_assert_eq(work.bytes, 2 * (64 + 128 + 32));
	cr_assert_eq(work.type, GT_WORK_F16);
	work = work_of("aten::bmm", "[[3,4,16],[3,16,8]]", "[\"double\",\"double\"]");
	cr_assert_eq(work.flops, 3 * 2 * 4 * 16 * 8);
	cr_assert_eq(work.bytes, 3 * 8 * (64 + 128 + 32));
	cr_assert_eq(work.type, GT_WORK_F64);
	work = work_of("aten::baddbmm", "[[3, 4, 8], [3, 4, 16], [3, 16, 8]]",
		       "[\"float\", \"float\"]");
	cr_assert_eq(work.flops, 3 * 2 * 4 * 16 * 8);
	cr_assert_eq(work.type, GT_WORK_UNKNOWN, "it may be TF32");
}

Test(work, no_products)
{
	static const char *const wrong[] = {"",
					    "[",
					    "[]",
					    "[[4, 16]]",
					    "[[4, 16], [15, 8]]",
					    "[[4, 16], []]",
					    "[[4, 16], [[16, 8], [16, 8]]]",
					    "[[4, 16], [16, 8, 1]]",
					    "[[4, 16], [16, 8]",
					    "[[",
					    "[[[[[[[[[[",
					    "x",
					    "[[4, 16] 16, 8]"};

	cr_assert(!work_of("aten::add", "[[4, 16], [16, 8]]", NULL).number);
	cr_assert(!work_of("aten::bmm", "[[3,4,16],[2,16,8]]", NULL).number);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (i != 8) /* the end of the list is not asked for */
			cr_assert(!work_of("aten::mm", wrong[i], NULL).number, "%s", wrong[i]);
}

Test(work, too_large_is_said)
{
	struct gt_model_work work =
		work_of("aten::mm", "[[4294967296, 4294967296], [4294967296, 1]]", NULL);

	cr_assert(work.overflow);
	cr_assert_eq(work.flops, 0);
	work = work_of("aten::mm", "[[99999999999999999999999, 1], [1, 99999999999999999999999]]",
		       "[\"double\", \"double\"]");
	cr_assert(work.overflow);
	cr_assert_eq(work.bytes, 0);
}

static double tera(const char *gpu, int major, int minor, int sms, enum gt_work_type type)
{
	return gt_peak_of(gpu, major, minor, sms, type) / 1e12;
}

/* Dense TFLOP/s as NVIDIA's data sheets print them. */
Test(work, peaks_of_data_sheets)
{
	cr_assert_float_eq(tera("NVIDIA H100 80GB HBM3", 9, 0, 132, GT_WORK_F16), 989.4, 0.5);
	cr_assert_float_eq(tera("NVIDIA H200", 9, 0, 132, GT_WORK_F8), 1979, 1);
	cr_assert_float_eq(tera("NVIDIA H200", 9, 0, 132, GT_WORK_TF32), 494.7, 0.5);
	cr_assert_float_eq(tera("NVIDIA H200", 9, 0, 132, GT_WORK_F64), 67, 0.5);
	cr_assert_float_eq(tera("NVIDIA H100 PCIe", 9, 0, 114, GT_WORK_BF16), 756, 1);
	cr_assert_float_eq(tera("NVIDIA A100-SXM4-80GB", 8, 0, 108, GT_WORK_BF16), 312, 0.5);
	cr_assert_float_eq(tera("NVIDIA A100-SXM4-80GB", 8, 0, 108, GT_WORK_TF32), 156, 0.5);
	cr_assert_float_eq(tera("NVIDIA A100-SXM4-80GB", 8, 0, 108, GT_WORK_F64), 19.5, 0.1);
	cr_assert_float_eq(tera("NVIDIA A10", 8, 6, 72, GT_WORK_F32), 31.2, 0.1);
	cr_assert_float_eq(tera("NVIDIA L4", 8, 9, 58, GT_WORK_F16), 121, 0.5);
	cr_assert_float_eq(tera("NVIDIA L40S", 8, 9, 142, GT_WORK_F16), 362, 0.5);
	cr_assert_float_eq(tera("NVIDIA L40S", 8, 9, 142, GT_WORK_F32), 91.6, 0.1);
	cr_assert_float_eq(tera("Tesla T4", 7, 5, 40, GT_WORK_F16), 65, 0.2);
	cr_assert_float_eq(tera("Tesla V100-SXM2-16GB", 7, 0, 80, GT_WORK_F16), 125, 0.5);
}

Test(work, bandwidths)
{
	cr_assert_eq(gt_peak_bandwidth("NVIDIA H100 80GB HBM3", 9, 0, 132), 3350e9);
	cr_assert_eq(gt_peak_bandwidth("NVIDIA A100-SXM4-40GB", 8, 0, 108), 1555e9);
	cr_assert_eq(gt_peak_bandwidth("NVIDIA A100 80GB PCIe", 8, 0, 108), 1935e9);
	cr_assert_eq(gt_peak_bandwidth("NVIDIA A100-SXM-64GB", 8, 0, 108), 0);
	cr_assert_eq(gt_peak_bandwidth("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 9, 0, 16), 0);
	cr_assert_eq(gt_peak_bandwidth(NULL, 9, 0, 132), 0);
}

Test(work, peaks_that_are_not_known)
{
	cr_assert_eq(tera("NVIDIA L40", 8, 9, 142, GT_WORK_F16), 0);
	cr_assert_eq(tera("NVIDIA A10G", 8, 6, 80, GT_WORK_F16), 0);
	cr_assert_eq(tera("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 9, 0, 16, GT_WORK_F16), 0);
	cr_assert_eq(tera("NVIDIA H200", 9, 0, 132, GT_WORK_UNKNOWN), 0);
	cr_assert_eq(tera("Tesla V100-SXM2-16GB", 7, 0, 80, GT_WORK_BF16), 0);
	cr_assert_eq(tera(NULL, 9, 0, 132, GT_WORK_F16), 0);
}
