/* SPDX-License-Identifier: Apache-2.0
 *
 * Which frames of a call stack "launched by" shows.
 */
#include "tests/unit/trace_fixture.h"

/* One native frame without a source line, or one of Python. */
static struct gt_stack_frame frame_of(struct trace *t, const char *function, const char *place,
				      uint32_t line)
{
	struct gt_stack_frame frame = {.offset = 0x10, .line = line};

	if (function)
		frame.function = trace_string(t, function);
	if (line)
		frame.file = trace_string(t, place);
	else
		frame.module = trace_string(t, place);
	frame.kind = line ? GT_FRAME_PYTHON : GT_FRAME_NATIVE;
	return frame;
}

static void expect_launched_by(const char *const (*rows)[2], size_t count, const char *expected)
{
	struct gt_stack_frame frames[32];
	struct gt_stack *stack;
	struct gt_event event;
	struct trace t;
	char text[1024];

	trace_open(&t);
	for (size_t i = 0; i < count; i++) {
		const char *colon = strrchr(rows[i][1], ':');
		char place[256];

		snprintf(place, sizeof(place), "%.*s",
			 (int)(colon ? (size_t)(colon - rows[i][1]) : strlen(rows[i][1])),
			 rows[i][1]);
		frames[i] = frame_of(&t, rows[i][0], place,
				     colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0);
	}
	stack = trace_stack(1, frames, (uint32_t)count);
	event = (struct gt_event){.kind = GT_EVENT_KERNEL,
				  .start = AT(12345),
				  .end = AT(12346),
				  .correlation = 7,
				  .place = {.device = 0, .context = 1, .stream = 7}};
	event.kernel.name = trace_string(&t, "gemm");
	event.launch.known = event.launch.first = true;
	event.launch.tid = 4100;
	event.launch.start = AT(12300);
	event.launch.stack = stack;
	trace_event(&t, &event);
	trace_close(&t);
	snprintf(text, sizeof(text), "\"launched by\": \"%s\", \"stack\"", expected);
	cr_assert_not_null(strstr(trace_read(&t), text), "%s", expected);
	free(stack);
	trace_end(&t);
}

#define SITE       "/venv/lib/python3.12/site-packages/"
#define ROWS(rows) rows, sizeof(rows) / sizeof(rows[0])

Test(launched_by, shows_the_users_line)
{
	static const char *const forward[][2] = {
		{NULL, SITE "nvidia/lib/libcublasLt.so.13"},
		{"cublasLtTSTMatmul", SITE "nvidia/lib/libcublasLt.so.13"},
		{"void at::native::f<float>(float*)", SITE "torch/lib/libtorch_cuda.so"},
		{"Linear.forward", SITE "torch/nn/modules/linear.py:134"},
		{"a", SITE "a.py:1"},
		{"b", SITE "b.py:1"},
		{"Block.forward", "/src/train.py:17"},
		{"Module._call_impl", SITE "torch/nn/modules/module.py:1784"},
		{"Net.forward", "/src/train.py:27"},
		{"step", "/src/train.py:37"},
	};
	static const char *const backward[][2] = {
		{NULL, SITE "nvidia/lib/libcublasLt.so.13"},
		{"void at::native::f<float>(float*)", SITE "torch/lib/libtorch_cuda.so"},
		{"at::native::copy_(at::Tensor&)", SITE "torch/lib/libtorch_cpu.so"},
		{"(anonymous namespace)::g(int)", SITE "torch/lib/libtorch_cpu.so"},
		{NULL, "/usr/lib/libc.so.6"},
	};
	static const char *const template[][2] = {
		{NULL, SITE "nvidia/lib/libcublasLt.so.13"},
		{"void at::native::f<float>(float*)", SITE "torch/lib/libtorch_cuda.so"},
	};
	static const char *const nameless[][2] = {
		{NULL, "/opt/nvidia/lib/libcublasLt.so.13"},
		{NULL, "/usr/lib/libc.so.6"},
	};
	static const char *const native[][2] = {
		{"scale(float*)", "/opt/app/libscale.so"},
		{"step", "/src/train.cu:37"},
		{NULL, "/opt/app/train"},
	};

	expect_launched_by(
		ROWS(forward),
		"cublasLtTSTMatmul (libcublasLt.so.13) < Linear.forward (linear.py:134) < "
		"a (a.py:1) < Block.forward (train.py:17) < Net.forward (train.py:27) < "
		"step (train.py:37) < ...");
	expect_launched_by(ROWS(backward), "at::native::copy_(at::Tensor&) (libtorch_cpu.so) < "
					   "(anonymous namespace)::g(int) (libtorch_cpu.so) < ...");
	expect_launched_by(ROWS(template),
			   "void at::native::f<float>(float*) (libtorch_cuda.so) < ...");
	expect_launched_by(ROWS(nameless), "libcublasLt.so.13+0x10 < libc.so.6+0x10");
	expect_launched_by(ROWS(native),
			   "scale(float*) (libscale.so) < step (train.cu:37) < train+0x10");
}

Test(launched_by, leaves_room_for_the_users_line)
{
	char inner[512], expected[1024];
	const char *const rows[][2] = {
		{inner, "/usr/lib/libx.so"},
		{"step", "/src/train.py:37"},
	};

	memset(inner, 'n', 390);
	inner[390] = 0;
	expect_launched_by(ROWS(rows), "step (train.py:37) < ...");
	inner[300] = 0;
	snprintf(expected, sizeof(expected), "%s (libx.so) < step (train.py:37)", inner);
	expect_launched_by(ROWS(rows), expected);
}
