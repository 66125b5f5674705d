#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What counts as communication: names as profilers show them, from the libraries' sources."""

import cases
import generate
import reference

YES = [
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
    "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
    "ncclSymkDevKernel_AllReduce_AGxLLMC_R_sum_bf16(ncclSymkDevWorkArgs4K)",
    "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)",
    "ncclDevKernelDebug_Generic(ncclDevComm*, channelMasks, ncclWork*)",
    "mscclKernel_Sum_half_LL_false(ncclDevComm*, mscclAlgo*, mscclWork*)",
    "void alltoall_on_stream_kernel<float, (threadgroup_t)2>(int, float*, float const*, "
    "unsigned long)",
    "void barrier_on_stream_kernel_threadgroup<(threadgroup_t)2>(int, int)",
    "void nvshmemi_reduce_kernel<int, (rdxn_ops)4>(int, int, int, int*, int const*, int, "
    "int*, long*)",
    "nvshmemi_signal_wait_until_on_stream_kernel(unsigned long volatile*, int, unsigned long)",
    "void mscclpp::executionKernel<__half, mscclpp::LL16Packet, false>(int, __half*, "
    "__half*, __half*)",
    "void mscclpp::collective::allreduceNvlsPacket<(mscclpp::ReduceOp)0, float>(float "
    "const*, float*)",
    "void allreduceAllPairs<(Op)0, float>(float*, float*, float*)",
    "allreduce_kernel_vec32(unsigned int*, unsigned long)",
    "reduce_scatter_kernel_scalar64(unsigned int*)",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, "
    "vllm::RankSignals, vllm::Signal*)",
    "void sglang::cross_device_reduce_2stage<__half, 4>(sglang::RankData*, sglang::RankSignals)",
    "void vllm::mnnvl_lamport_reduce_scatter_kernel<float, 4>(vllm::RankData*)",
    "_ZN4vllm26cross_device_reduce_1stageI13__nv_bfloat16Li8EEEvPNS_8RankDataE",
    "void quickreduce::allreduce_prototype_twoshot<AllReduceTwoshot<__half, CodecQ4<__half, "
    "4>, true>, __half>(__half const*)",
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, true, "
    "false>(tensorrt_llm::kernels::AllReduceParams)",
    "void tensorrt_llm::kernels::twoShotAllReduceKernel<float, "
    "2>(tensorrt_llm::kernels::AllReduceParams)",
    "void tensorrt_llm::kernels::reduce_fusion::lamport_style_one_shot_all_reduce_norm_kern"
    "el<__half, 2>(int)",
    "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<(int)1, "
    "__half, 8>(int)",
    "void c10d::(anonymous namespace)::multimem_all_reduce_kernel<float, 16>(float*, "
    "unsigned long, unsigned int**)",
    "void (anonymous namespace)::multimem_one_shot_all_reduce_kernel<c10::BFloat16, 16, "
    "8>(c10::BFloat16*)",
    "void one_shot_all_reduce_kernel<float, 16, 8, false>(float**, float*, float*, unsigned long)",
    "two_shot_all_reduce_kernel_inplace<float, 16>(float**)",
    "one_shot_all_reduce_kernel_0d1d2d3",
    "_multimem_all_gather_kernel",
    "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)",
    "deep_ep::legacy::internode_ll::combine(void*, void*)",
]
NO = [
    "void gemm_kernel<float, 128, 64>(float const*, float const*, float*, int)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> "
    ">(at::native::ReduceOp<float>)",
    "void use_of<ncclDevComm>(int)",
    "void cub::DeviceReduceKernel<int>(int*)",
    "void moe::dispatch<int>(int*)",
    "combine(float*)",
    "gemm_one_shot_all_reduce_kernel",
    "my_own_exchange(float*)",
    "_Z16my_own_exchangesPf",
    "_Z999999",
    "nvshmemi_init_array_kernel(int*, int, int)",
    "Memcpy HtoD",
]


def trace(names):
    """Kernels one behind the other, each of another length."""
    events = []
    for i, name in enumerate(names):
        events += [
            generate.call("cudaLaunchKernel", i * 1000, 5, i + 1),
            generate.kernel(name, i * 1000 + 10, 100 + i, i + 1),
        ]
    return cases.write(generate.trace(events))


def communication(path, *options):
    (device,) = cases.tables("gaps", path, *options)["gpu_devices"]
    return device["Communication (ns)"]


def each_name_of_a_library():
    for name in YES:
        assert communication(trace([name])) == 100_000, name
    for name in NO:
        assert communication(trace([name])) == 0, name


def what_the_user_says():
    """Names, functions and their ends; several options; only kernels."""
    path = trace(
        ["void lib::my_own_exchange<int>(int*)", "other_exchange", "gemm", "_Z16my_own_exchangesPf"]
    )
    assert communication(path) == 0
    for glob, want in (
        ("my_own_*", 203),
        ("lib::my_own_exchange", 100),
        ("void lib::my*(int[*])", 100),
        ("exchange", 0),
        ("*_exchange*", 304),
    ):
        assert communication(path, "--communication=" + glob) == want * 1000, glob
    assert communication(path, "--communication=gemm", "--communication=other*") == 203_000
    (row,) = cases.tables("stats", "--report=gpu_rank_use", "--communication=gemm", path)["gpu_rank_use"]
    assert row["Communication (ns)"] == 102_000, row
    out = cases.run("report", "--output=-", "--communication=gemm", path)[0]
    assert out != cases.run("report", "--output=-", path)[0]


def union(spans):
    total, end = 0, None
    for start, stop in sorted(spans):
        if end is None or start > end:
            total, end = total + stop - start, stop
        elif stop > end:
            total, end = total + stop - end, stop
    return total


def public_traces():
    found = 0
    for path in cases.public():
        ops = [
            op
            for op in reference.Trace(path).ops
            if op.kind == "kernel" and op.name.startswith("nccl")
        ]
        devices = {}
        for op in ops:
            devices.setdefault(int(op.args.get("device", op.pid)), []).append((op.start, op.end))
        got = sum(row["Communication (ns)"] for row in cases.tables("gaps", path)["gpu_devices"])
        assert got == sum(union(spans) for spans in devices.values()), path
        found += len(ops)
    assert found


cases.main([each_name_of_a_library, what_the_user_says, public_traces])
