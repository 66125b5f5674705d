/* SPDX-License-Identifier: Apache-2.0
 *
 * The small parts under the analysis: names, groups, shares, intervals, frames, filters.
 */
#include "analysis/group.h"
#include "analysis/cover.h"
#include "analysis/intervals.h"
#include "analysis/key.h"
#include "analysis/queue.h"
#include "analysis/share.h"
#include "trace/code_name/code_name.h"
#include "trace/frame.h"
#include "trace/user_code.h"
#include "trace/names.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(names, each_string_has_one_number)
{
	struct gt_names names;
	char text[32];

	cr_assert_eq(gt_names_init(&names), 0);
	cr_assert_eq(gt_names_put(&names, "", 0), GT_NAME_NONE);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 100000; i++) {
			int n = snprintf(text, sizeof(text), "kernel_%d", i);

			cr_assert_eq(gt_names_put(&names, text, (size_t)n), (uint32_t)i + 1);
		}
	cr_assert_str_eq(gt_names_get(&names, 4712), "kernel_4711");
	cr_assert_eq(gt_names_put(&names, "kernel_47", 8), 5, "a prefix is another string");
	gt_names_fini(&names);
}

Test(names, long_strings)
{
	size_t size = 200000;
	char *text = malloc(size);
	struct gt_names names;
	uint32_t a, b;

	memset(text, 'x', size);
	gt_names_init(&names);
	a = gt_names_put(&names, text, size);
	b = gt_names_put(&names, "short", 5);
	cr_assert_eq(strlen(gt_names_get(&names, a)), size);
	cr_assert_str_eq(gt_names_get(&names, b), "short");
	cr_assert_eq(gt_names_put(&names, text, size), a);
	gt_names_fini(&names);
	free(text);
}

Test(group, moments)
{
	static const int64_t values[] = {4, 1, 3, 2};
	struct gt_groups groups;
	struct gt_moments m;

	gt_groups_init(&groups);
	for (int i = 0; i < 4; i++)
		gt_dist_add(&gt_groups_get(&groups, "a")->value, values[i]);
	gt_dist_add(&gt_groups_get(&groups, "b")->value, 7);
	cr_assert_eq(groups.list.count, 2);
	m = gt_dist_moments(&gt_groups_get(&groups, "a")->value);
	cr_assert(m.count == 4 && m.total == 10 && m.min == 1 && m.max == 4);
	cr_assert_float_eq(m.mean, 2.5, 1e-12);
	cr_assert_float_eq(m.median, 2.5, 1e-12);
	cr_assert_float_eq(m.stddev, 1.2909944487, 1e-9);
	m = gt_dist_moments(&gt_groups_get(&groups, "b")->value);
	cr_assert_float_eq(m.stddev, 0, 1e-12);
	cr_assert_float_eq(m.median, 7, 1e-12);
	cr_assert_float_eq(m.p99, 7, 1e-12);
	gt_groups_fini(&groups);
}

/* As numpy.percentile: between two values by how near each is. */
Test(group, percentiles)
{
	struct gt_dist dist = {0};
	struct gt_moments m;

	for (int i = 10; i >= 0; i--)
		cr_assert(gt_dist_add(&dist, (int64_t)i * 10));
	m = gt_dist_moments(&dist);
	cr_assert_float_eq(m.p90, 90, 1e-9);
	cr_assert_float_eq(m.p99, 99, 1e-9);
	gt_dist_fini(&dist);
	m = gt_dist_moments(&dist);
	cr_assert(m.count == 0 && m.p90 == 0 && m.p99 == 0);
}

/* Operations wait from their call to their start; one that starts before its call does not. */
Test(queue, depth)
{
	struct gt_call calls[] = {{.start = 0}, {.start = 10}, {.start = 20}, {.start = 90}};
	struct gt_op ops[] = {
		{.start = 30, .call = 0, .stream = 7},       {.start = 50, .call = 1, .stream = 7},
		{.start = 60, .call = 2, .stream = 7},       {.start = 80, .call = 3, .stream = 7},
		{.start = 85, .call = GT_NONE, .stream = 7}, {.start = 95, .call = 3, .stream = 8}};
	struct gt_model model = {0};
	struct gt_job job = {.models = &model, .count = 1};
	struct gt_filter filter = {0};
	const struct gt_queue *queue;
	struct gt_queues queues;

	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(gt_model_add_call(&model, &calls[i]), 0);
	for (size_t i = 0; i < 6; i++)
		cr_assert_eq(gt_model_add_op(&model, &ops[i]), 0);
	cr_assert_eq(gt_queues_build(&job, &filter, &queues), 0);
	cr_assert_eq(queues.list.count, 2);
	queue = &queues.list.at[0];
	cr_assert(queue->stream == 7 && queue->launches == 4 && queue->most == 3);
	cr_assert(queue->first == 0 && queue->last == 60 && queue->empty == 0);
	cr_assert_float_eq(queue->area, 30 + 40 + 40, 1e-9);
	cr_assert_eq(gt_queue_depth_at(queue, -1), 0);
	cr_assert_eq(gt_queue_depth_at(queue, 0), 1);
	cr_assert_eq(gt_queue_depth_at(queue, 29), 3);
	cr_assert_eq(gt_queue_depth_at(queue, 30), 2);
	cr_assert_eq(gt_queue_depth_at(queue, 60), 0);
	gt_queues_fini(&queues);
	gt_model_fini(&model);
}

struct shared {
	int parts;
	int64_t sampled, alone;
};

static int add_share(const struct gt_share *share, void *data)
{
	struct shared *shared = data;

	shared->parts++;
	if (!share->place) {
		shared->alone += share->ns;
		return 0;
	}
	cr_assert_str_eq(share->base, "sampled");
	cr_assert(share->samples == 1);
	cr_assert(share->spans.count == 1000000 && share->spans.max == 1000006);
	shared->sampled += share->ns;
	return 0;
}

/* So many spans that they cannot be sorted for each place. */
Test(share, many_places_of_many_spans)
{
	struct shared shared = {0};
	struct gt_shares shares;
	int64_t total = 0;
	char place[16];

	cr_assert_eq(gt_shares_init(&shares), 0);
	for (int64_t i = 0; i < 1000000; i++) {
		int64_t ns = i * 7919 % 1000003 + 4;

		cr_assert_eq(gt_shares_span(&shares, "sampled", ns, ns), 0);
		total += ns;
	}
	cr_assert_eq(gt_shares_span(&shares, "alone", 0, 5), 0);
	for (int i = 0; i < 4000; i++) {
		snprintf(place, sizeof(place), "place %d", i);
		cr_assert_eq(gt_shares_sample(&shares, "sampled", place, 1), 0);
	}
	cr_assert_eq(gt_shares_each(&shares, add_share, &shared), 0);
	cr_assert_eq(shared.parts, 4001);
	cr_assert_eq(shared.sampled, total);
	cr_assert_eq(shared.alone, 5);
	gt_shares_fini(&shares);
}

static int add_named(const struct gt_share *share, void *data)
{
	int64_t *of = data;

	of[!strcmp(share->place, "decode")] = share->ns;
	return 0;
}

/* The sampler had no processor while the host decoded: two samples, but most of the time. */
Test(share, a_sample_stands_for_the_time_around_it)
{
	struct gt_shares shares;
	int64_t of[2] = {0, 0};

	cr_assert_eq(gt_shares_init(&shares), 0);
	cr_assert_eq(gt_shares_span(&shares, "main", 1, 1000), 0);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(gt_shares_sample(&shares, "main", "read", 25), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(gt_shares_sample(&shares, "main", "decode", 400), 0);
	cr_assert_eq(gt_shares_span(&shares, "main", 2, 500), 0); /* no sample fell into it */
	cr_assert_eq(gt_shares_each(&shares, add_named, of), 0);
	cr_assert_eq(of[0], 300);
	cr_assert_eq(of[1], 1200);
	gt_shares_fini(&shares);
}

/* Covers tell at once what sets tell when they are complete. */
Test(analysis, covers_are_sets)
{
	for (uint32_t round = 0; round < 200; round++) {
		struct gt_intervals sets[2] = {0}, both = {0};
		struct gt_cover covers[2] = {GT_COVER_EMPTY, GT_COVER_EMPTY};
		int64_t common = 0, start = -300;
		uint32_t state = round;

		for (int i = 0; i < 60; i++) {
			int which, length;

			state = state * 1664525 + 1013904223;
			which = state >> 31;
			length = (int)(state >> 8 & 15) * (int)(round % 4);
			start += state >> 16 & 7;
			gt_intervals_add(&sets[which], start, start + length);
			common +=
				gt_cover_common(&covers[!which],
						gt_cover_add(&covers[which], start, start + length),
						start + length);
		}
		gt_intervals_merge(&sets[0]);
		gt_intervals_merge(&sets[1]);
		cr_assert_eq(covers[0].total, gt_intervals_total(&sets[0]), "%u", round);
		cr_assert_eq(covers[1].total, gt_intervals_total(&sets[1]), "%u", round);
		cr_assert(gt_intervals_common(&sets[0], &sets[1], &both));
		cr_assert_eq(common, gt_intervals_total(&both), "%u", round);
		gt_intervals_fini(&both);
		gt_intervals_fini(&sets[0]);
		gt_intervals_fini(&sets[1]);
	}
}

Test(intervals, union_and_intersection)
{
	struct gt_intervals a = {0}, b = {0}, both = {0};

	gt_intervals_add(&a, 10, 20);
	gt_intervals_add(&a, 15, 30);
	gt_intervals_add(&a, 0, 5);
	gt_intervals_add(&a, 30, 31);
	gt_intervals_add(&a, 50, 50);
	gt_intervals_merge(&a);
	cr_assert_eq(a.count, 2);
	cr_assert_eq(gt_intervals_total(&a), 26);
	cr_assert_eq(gt_intervals_within(&a, 4, 12), 3);
	cr_assert_eq(gt_intervals_within(&a, 31, 100), 0);
	gt_intervals_add(&b, 3, 12);
	gt_intervals_add(&b, 29, 60);
	gt_intervals_merge(&b);
	cr_assert(gt_intervals_common(&a, &b, &both));
	cr_assert_eq(gt_intervals_total(&both), 2 + 2 + 2);
	cr_assert_eq(both.at[0].start, 3);
	gt_intervals_fini(&both);
	gt_intervals_fini(&a);
	gt_intervals_fini(&b);
}

static void check_frame(const char *text, const char *function, const char *file, long line,
			const char *module)
{
	struct gt_frame frame;

	gt_frame_parse(text, &frame);
	cr_assert(frame.function_len == strlen(function) &&
			  !memcmp(frame.function, function, frame.function_len),
		  "%s: %.*s", text, (int)frame.function_len, frame.function);
	cr_assert_eq(frame.line, line, "%s", text);
	cr_assert_eq(frame.file_len, strlen(file), "%s", text);
	cr_assert_eq(frame.module_len, strlen(module), "%s", text);
}

Test(frame, parts)
{
	check_frame("main (a.out)", "main", "", 0, "a.out");
	check_frame("f(int) (/opt/lib x.so+0x1a2b)", "f(int)", "", 0, "/opt/lib x.so");
	check_frame("f(int (*)(void)) (/src/a b.cu:42)", "f(int (*)(void))", "/src/a b.cu", 42, "");
	check_frame("Trainer.step (train.py:7)", "Trainer.step", "train.py", 7, "");
	check_frame("libfoo.so+0x1a2b", "libfoo.so+0x1a2b", "", 0, "libfoo.so");
	check_frame("train.py(12): step", "step", "train.py", 12, "");
	check_frame("plain", "plain", "", 0, "");
	check_frame("()", "()", "", 0, "");
	check_frame("", "", "", 0, "");
}

Test(frame, users)
{
	static const struct {
		const char *frame;
		uint8_t rank;
	} rows[] = {
		{"launch (/usr/local/cuda-13.0/include/cccl/thrust/x/triple_chevron_launch.h:112)",
		 1},
		{"launch (triple_chevron_launch.h:112)", 1},
		{"thrust::THRUST_300001_NS::for_each<int>(int) (/srv/app+0x12)", 0},
		{"void cub::f<std::vector<int> >(int) (/srv/app+0x12)", 0},
		{"std::enable_if<(1 > 0), int>::type app::run<int>(int) (/srv/app+0x12)", 2},
		{"void (anonymous namespace)::run(std::vector<int>) (/srv/app+0x12)", 2},
		{"app::cub(int) (/srv/app.cu:9)", 3},
		{"thrust::f(int) (/srv/own/thrust_tools.cu:9)", 3},
		{"safe_cuda_api_call (/opt/venv/lib/python3.11/site-packages/numba/driver.py:326)",
		 1},
		{"step (/srv/train.py:7)", 3},
		{"step (/usr/src/app/train.py:7)", 3},
		{"train.py(7): step", 3},
		{"torch/nn/modules/module.py(1520): _call_impl", 1},
		{"threading.py(973): _bootstrap", 1},
		{"/srv/threading.py(973): mine", 3},
		{"<frozen runpy>(88): _run_code", 1},
		{"<string>(1): <module>", 3},
		{"launcher (<string>:5)", 1},
		{"launcher (/srv/app+0x12)", 2},
		{"ncclCudaCallocDebug<char>(char**) "
		 "(/dvs/p4/build/sw/nccl/src/include/alloc.h:342)",
		 1},
		{"cublasGemmEx (/opt/gputrace/lib/libgputrace-cublas.so+0x12)", 0},
		{"cublasGemmEx (/opt/gputrace/core/schema/cublas.def:116)", 1},
		{"cudnnConvolutionForward (/g/build/../core/schema/calls/cudnn.def:9)", 1},
		{"cublasLtMatmul (/g/preload/libraries/cublas_lt.c:102)", 1},
		{"MPI_Allreduce (/g/preload/mpi/mpi.c:12)", 1},
		{"poll (/g/preload/osrt/waits.c:12)", 1},
		{"gt_call_capture (/g/collectors/call/call.c:180)", 1},
		{"f (/srv/preload/libraries/mine.c:12)", 3},
		{"<built-in method softmax of Tensor object>", 0},
		{"/usr/lib/x86_64-linux-gnu/libc.so.6+0x12", 0},
		{"ncclAllReduce (libnccl.so.2)", 0},
		{"_PyEval (/opt/py/bin/python3.11+0x12)", 0},
		{"backward of step (/srv/train.py:7)", 3},
		{"backward of /usr/lib/x86_64-linux-gnu/libc.so.6+0x12", 0},
		{"", 2},
		{"operator()", 2},
	};
	static const char *const globs[] = {"*/numba/*", "app::*"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(gt_user_code_rank(rows[i].frame, NULL, 0), rows[i].rank, "%s: %d",
			     rows[i].frame, gt_user_code_rank(rows[i].frame, NULL, 0));
	cr_assert_eq(gt_user_code_rank("f (/x/site-packages/numba/d.py:3)", globs, 2), 7);
	cr_assert_eq(gt_user_code_rank("int app::f<int>(int) (/usr/lib/x.so+0x1)", globs, 2), 6);
	cr_assert_eq(gt_user_code_rank("f (/x/site-packages/cupy/d.py:3)", globs, 2), 1);
}

Test(frame, print)
{
	static const char *const rows[][2] = {
		{"f(int) (/opt/lib x.so+0x1a2b)", "f(int) (lib x.so)"},
		{"main (a.out)", "main (a.out)"},
		{"f (/src/a.cu:42)", "f (/src/a.cu:42)"},
		{"libfoo.so+0x1a2b", "libfoo.so+0x1a2b"},
		{"", ""},
	};
	char out[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(gt_frame_print(rows[i][0], out, sizeof(out)), strlen(rows[i][1]));
		cr_assert_str_eq(out, rows[i][1]);
	}
}

static void check_short(const char *name, size_t width, const char *expected)
{
	char out[256];

	gt_frame_shorten(name, width, out, sizeof(out));
	cr_assert_str_eq(out, expected);
}

Test(frame, short_names)
{
	check_short("void gemm_kernel<float, 128, 64>(float const*, int)", 0,
		    "gemm_kernel<float, 128, 64>");
	check_short("void a::b<c::very_long_name<int>, 4>(x)", 0,
		    "a::b<c::very_long_name<int>, 4>");
	check_short("(anonymous namespace)::f(int)", 0, "f");
	check_short("a::(anonymous namespace)::g<int>(int)", 0, "a::g<int>");
	check_short("s::operator()(int) const", 0, "s::operator()");
	check_short("s::operator<(s const&)", 0, "s::operator<");
	check_short("s::operator<< <int>(s const&)", 0, "s::operator<< <int>");
	check_short("operator new(unsigned long)", 0, "operator new");
	check_short("unsigned long a::f<int, (b)2>(int)", 0, "a::f<int, (b)2>");
	check_short("non-virtual thunk to a::f(int)", 0, "non-virtual thunk to a::f");
	check_short("Memcpy HtoD (Pinned -> Device)", 0, "Memcpy HtoD (Pinned -> Device)");
	check_short("nccl:all_reduce", 0, "nccl:all_reduce");
	check_short("abcdefghijklmnopqrstuvwxyz", 13, "abcd...uvwxyz");
	check_short("main::{lambda(int)#2}::operator()(int) const", 0,
		    "main::{lambda(int)#2}::operator()");
	check_short("broken<name", 0, "broken<name");
	check_short("broken{name", 0, "broken{name");
	check_short("broken>(name", 0, "broken>(name");
	check_short("a::", 0, "a::");
	check_short("::", 0, "::");
	check_short("f<>()", 0, "f<>");
	check_short("", 10, "");
}

#define LAUNCH(f, type)                                                                            \
	f "(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#4}::"            \
	  "operator()() const::{lambda(" type ")#1}"

/* PyTorch */
Test(frame, short_names_keep_the_functor)
{
	check_short("void at::native::vectorized_elementwise_kernel<4, "
		    "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, "
		    "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)",
		    72, "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, ...>");
	check_short(
		"void at::native::vectorized_elementwise_kernel<4, " LAUNCH(
			"at::native::sigmoid_backward_kernel_cuda",
			"float, float") ", at::detail::Array<char*, 3> >(int, " LAUNCH("f",
										       "float") ")",
		72, "vectorized_elementwise_kernel<4, sigmoid_backward_kernel_cuda, ...>");
	check_short("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<"
		    "at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, "
		    "at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int, x)",
		    72, "elementwise_kernel<128, 2, gpu_kernel_impl<CUDAFunctor_add<float>>>");
	check_short("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
		    "at::native::(anonymous namespace)::TensorListMetadata<2>, "
		    "at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, "
		    "std::plus<float>, float>(int)",
		    60, "multi_tensor_apply...<..., BinaryOpListAlpha..., plus, ...>");
}

#define MULTI(meta, functor, op)                                                                   \
	"void at::native::(anonymous "                                                             \
	"namespace)::multi_tensor_apply_kernel<at::native::(anonymous "                            \
	"namespace)::TensorListMetadata<" meta ">, at::native::(anonymous namespace)::" functor    \
	", " op ", float>(int)"
#define SUM(type)                                                                                  \
	"at::native::func_wrapper_t<" type ", at::native::sum_functor<" type ", float, " type      \
	">::operator()(at::TensorIterator&)::{lambda(float, float)#1}>"

/* In a narrow table, too, a name says what is done: not "multi...<...>". */
Test(frame, narrow_names_keep_what_is_done)
{
	static const char multiplies[] =
		MULTI("1", "BinaryOpScalarFunctor<float, 1, 1, 0>", "std::multiplies<float>");

	check_short(multiplies, 50, "multi...<..., BinaryOpScalar..., multiplies, ...>");
	check_short(multiplies, 37, "multi...<..., BinaryOpScalar..., ...>");
	check_short("void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<"
		    "float, float, float, at::native::binary_internal::MulFunctor<float> >, "
		    "at::detail::Array<char*, 3> >(int)",
		    40, "vectorized...<4, MulFunctor, ...>");
	check_short(
		"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, " SUM(
			"c10::BFloat16") ", unsigned int, c10::BFloat16, 4, 8> >(int)",
		40, "reduce_kernel<128, 4, sum_functor>");
	check_short("void at::native::elementwise_kernel<128, 4, "
		    "at::native::gpu_kernel_impl_nocast<" LAUNCH(
			    "at::native::direct_copy_kernel_cuda",
			    "c10::BFloat16") ">(at::TensorIteratorBase&)::{lambda(int)#1}>(int)",
		    40, "elementwise_kernel<128, 4, direct...>");
}

/* CUTLASS, cuDNN, cuBLAS, NCCL, Triton, CUB, Thrust */
Test(frame, short_names_of_libraries)
{
	check_short("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>("
		    "cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1::Params)",
		    60, "Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>");
	check_short("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_"
		    "tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel_cudnn_"
		    "infer",
		    72, "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32..._tilesize128x128x16...");
	check_short("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, "
		    "float, float, float, false, true, false, false, 7, "
		    "cublasGemvParams<cublasGemvTensorStridedBatched<float const>, float> >("
		    "cublasGemvParams<cublasGemvTensorStridedBatched<float const>, float>)",
		    72, "gemvx::kernel<int, int, float, float, float, float, false, ..., 7, ...>");
	check_short("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, "
		    "ncclWork*)",
		    72, "ncclKernel_AllReduce_RING_LL_Sum_float");
	check_short("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_native_layer_norm_12", 40,
		    "triton_red_fused..._native_layer_norm_12");
	check_short("void cub::CUB_200700_900_NS::DeviceRadixSortOnesweepKernel<"
		    "cub::CUB_200700_900_NS::DeviceRadixSortPolicy<unsigned int, unsigned int, "
		    "unsigned long long>::Policy900, false, unsigned int, unsigned int, int>(int)",
		    72, "cub::DeviceRadixSortOnesweepKernel<..., unsigned int, unsigned int, int>");
	check_short(
		"void thrust::THRUST_200700_900_NS::cuda_cub::core::_kernel_agent<"
		"thrust::THRUST_200700_900_NS::cuda_cub::__parallel_for::ParallelForAgent<"
		"thrust::THRUST_200700_900_NS::cuda_cub::__transform::unary_transform_f<"
		"thrust::device_ptr<float>, no_stencil_tag, square, always_true_predicate>, "
		"long>, long>(long)",
		80,
		"_kernel_agent<ParallelForAgent<unary_transform_f<..., square, ...>, long>, long>");
}

Test(frame, short_names_keep_their_place)
{
	check_short("both(int) (/a/b/two+0x1328)", 0, "both (two+0x1328)");
	check_short("void s<float>(float*) (/a/two.cu:12)", 0, "s<float> (two.cu:12)");
	check_short("both(int) (libtwo.so)", 0, "both (libtwo.so)");
	check_short("call(int (*)(int))", 0, "call");
	check_short("call(void (int))", 0, "call");
	check_short("f(int) (/a/two+0x1) < g(char) (/a/two+0x2) < main (/a/two+0x3)", 0,
		    "f (two+0x1) < g (two+0x2) < main (two+0x3)");
	check_short("f (a.py:1) < g (b/c.py:2)", 0, "f (a.py:1) < g (c.py:2)");
	check_short("main (/a/b/two+0x1328)", 0, "main (two+0x1328)");
	check_short("Memcpy DtoD (a/b -> c)", 0, "Memcpy DtoD (a/b -> c)");
}

Test(frame, short_stacks_lose_their_outermost_frames)
{
	static const char stack[] =
		"f(int) (/a/two+0x1) < g(char) (/a/two+0x2) < main (/a/two+0x3)";

	check_short(stack, 43, "f (two+0x1) < g (two+0x2) < main (two+0x3)");
	check_short(stack, 41, "f (two+0x1) < g (two+0x2) < ...");
	check_short(stack, 31, "f (two+0x1) < g (two+0x2) < ...");
	check_short(stack, 30, "f (two+0x1) < ...");
	check_short(stack, 17, "f (two+0x1) < ...");
	check_short("longer_than_that(int) (/a/two+0x1) < main (/a/two+0x3)", 26,
		    "longer...t (two+0x1) < ...");
}

static void check_apart(const char *first, const char *second, size_t width,
			const char *expected_first, const char *expected_second)
{
	struct gt_code_name *a = gt_code_name_new(first, strlen(first));
	struct gt_code_name *b = gt_code_name_new(second, strlen(second));
	char text[2][256] = {"", ""};

	do {
		gt_code_name_write(a, width, text[0], sizeof(text[0]));
		gt_code_name_write(b, width, text[1], sizeof(text[1]));
	} while (!strcmp(text[0], text[1]) && gt_code_name_tell_apart(a, b));
	cr_expect_str_eq(text[0], expected_first);
	cr_expect_str_eq(text[1], expected_second);
	gt_code_name_free(a);
	gt_code_name_free(b);
}

Test(frame, names_keep_what_they_differ_in)
{
	check_apart("void softmax_warp_forward<float, float, float, 10, true, false>(float*)",
		    "void softmax_warp_forward<float, float, float, 9, true, false>(float*)", 30,
		    "softmax_warp_forward<..., 10, ...>", "softmax_warp_forward<..., 9, ...>");
	check_apart("f(int)", "f(float)", 20, "f(int)", "f(float)");
	check_apart("a::detail::f<1>(int)", "a::native::f<1>(int)", 20, "a::detail::f<1>",
		    "a::native::f<1>");
	check_apart("g<" LAUNCH("f", "c10::Half") ", 1>(int)",
		    "g<" LAUNCH("f", "c10::BFloat16") ", 1>(int)", 12,
		    "g<f::{lambda(c10::Half)}, 1>", "g<f::{lambda(c10::BFloat16)}, 1>");
	check_apart("k<int>(int)", "k<int>(int)", 20, "k<int>", "k<int>");
	check_apart("sm80_xmma_fprop_implicit_gemm_tilesize128x64x16_stage4_kernel",
		    "sm80_xmma_fprop_implicit_gemm_tilesize128x64x16_stage5_kernel", 40,
		    "sm80_xmma..._tilesize128x64x16_stage4...",
		    "sm80_xmma..._tilesize128x64x16_stage5...");
}

static void check_fit(const char *text, size_t width, const char *expected)
{
	char out[256];

	gt_frame_fit(text, width, out, sizeof(out));
	cr_assert_str_eq(out, expected);
}

Test(frame, fit)
{
	static const char text[] = "step (/a/b.cu:10), up to a call in load (c/d.py:2)";

	check_fit(text, 50, text);
	check_fit(text, 49, "step (b.cu:10), up to a call in load (d.py:2)");
	check_fit(text, 35, "step (b.cu:10), up to load (d.py:2)");
	check_fit(text, 20, "step (...ad (d.py:2)");
	check_fit("load" GT_FRAME_ASIDE "mostly step_of_the_program (a.cu:3)", 38,
		  "load" GT_FRAME_ASIDE "mostly...am (a.cu:3)");
	check_fit("load" GT_FRAME_ASIDE "mostly step_of_the_program (a.cu:3)", 37, "load");
	check_fit("f (a/b -> c)", 8, "f ... c)");
	check_fit("", 8, "");
}

static void check_branch(const char *stack, size_t common, size_t width, const char *expected)
{
	char out[256];

	gt_frame_shorten_branch(stack, common, width, out, sizeof(out));
	cr_assert_str_eq(out, expected);
}

Test(frame, short_stacks_show_where_they_part)
{
	static const char stack[] =
		"f(int) (a+0x1) < g(int) (a+0x2) < h(int) (a+0x3) < main (a+0x4)";

	cr_assert_eq(gt_frame_common(stack, "f(int) (a+0x1) < g(int) (a+0x2) < i (a+0x3)"), 2);
	cr_assert_eq(gt_frame_common(stack, "f(int) (a+0x1)"), 1);
	cr_assert_eq(gt_frame_common(stack, stack), 4);
	cr_assert_eq(gt_frame_common(stack, "e (a+0x1) < g(int) (a+0x2)"), 0);
	check_branch(stack, 2, 40, "f (a+0x1) < ... < h (a+0x3) < ...");
	check_branch(stack, 2, 20, "f (a+0x1) < ... < h (a+0x3) < ...");
	check_branch(stack, 3, 40, "f (a+0x1) < ... < main (a+0x4)");
	check_branch(stack, 1, 40, "f (a+0x1) < g (a+0x2) < h (a+0x3) < ...");
	check_branch(stack, 2, 0, "f (a+0x1) < g (a+0x2) < h (a+0x3) < main (a+0x4)");
	check_branch("f(int)", 0, 40, "f");
}

Test(filter, terms)
{
	struct gt_filter filter = {0};

	cr_assert_eq(gt_filter_add(&filter, "kernel=*gemm*"), 0);
	cr_assert_eq(gt_filter_add(&filter, "stream=7"), 0);
	cr_assert_eq(gt_filter_add(&filter, "time=0..1500us"), 0);
	cr_assert_eq(filter.terms.at[2].from, 0);
	cr_assert_eq(filter.terms.at[2].to, 1500000);
	cr_assert_eq(gt_filter_add(&filter, "time=1.5s.."), 0);
	cr_assert_eq(filter.terms.at[3].from, 1500000000);
	cr_assert_eq(gt_filter_add(&filter, "time=..2"), 0);
	cr_assert_eq(filter.terms.at[4].to, 2000000);
	cr_assert_eq(gt_filter_add(&filter, "time=5"), -EINVAL);
	cr_assert_eq(gt_filter_add(&filter, "time=1h..2h"), -EINVAL);
	cr_assert_eq(gt_filter_add(&filter, "stream=x"), -EINVAL);
	cr_assert_str_eq(filter.wrong, "\"x\" is no whole number");
	cr_assert_eq(gt_filter_add(&filter, "time=5..1"), -EINVAL);
	cr_assert_str_eq(filter.wrong, "\"5..1\" ends before it starts");
	cr_assert_eq(gt_filter_add(&filter, "colour=red"), -EINVAL);
	cr_assert_eq(filter.wrong[0], 0);
	cr_assert_eq(gt_filter_add(&filter, "kernel="), -EINVAL);
	gt_filter_fini(&filter);
}
