/* SPDX-License-Identifier: Apache-2.0
 *
 * What names of NCCL kernels say.
 */
#include <criterion/criterion.h>

#include "core/schema/collective.h"

static void check(const char *kernel, const char *name, const char *dtype)
{
	struct gt_collective found = {0};

	cr_assert_eq(gt_collective_of_kernel(kernel, &found), name != NULL, "%s", kernel);
	if (name)
		cr_assert_str_eq(found.name, name);
	if (name && dtype)
		cr_assert_str_eq(found.dtype, dtype);
	else if (name)
		cr_assert_null(found.dtype, "%s: %s", kernel, found.dtype);
}

Test(collective, by_the_name_of_the_kernel)
{
	check("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	      "allreduce", "Float");
	check("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	      "_reduce_scatter_base", "BFloat16");
	check("ncclDevKernel_Reduce_Sum_f8e4m3_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce",
	      "Float8_e4m3fn");
	check("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	      "_allgather_base", NULL);
	check("ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "broadcast",
	      NULL);
	check("ncclDevKernel_AllReduce_Sum_u32_TREE_LL(ncclDevKernelArgsStorage<4096ul>)",
	      "allreduce", NULL);
	check("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
	      "allreduce", "Float");
	check("ncclKernel_AllReduce_RING_LL_Sum___nv_bfloat16(ncclDevComm*, unsigned long)",
	      "allreduce", "BFloat16");
}

Test(collective, others)
{
	check("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", NULL, NULL);
	check("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", NULL, NULL);
	check("ncclDevKernel_", NULL, NULL);
	check("ncclDevKernel_AllReduced", NULL, NULL);
	check("void gemm_f32_Sum(float*)", NULL, NULL);
	check("", NULL, NULL);
}
