/* SPDX-License-Identifier: Apache-2.0
 *
 * libgputrace-torch.so: PyTorch's allocators call c10::reportMemoryUsageToProfiler for each block,
 * through the PLT, whether its profiler runs or not. This definition comes before that of
 * libc10.so, tells libgputrace.so and goes on to it. A library of its own, preloaded by run
 * --memory alone: a program that asks dlsym for a c10:: symbol must not find one where there is no
 * PyTorch.
 *
 * The sizes are int64_t in 1.x and size_t from 2.0 on, which only the mangled names show.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/elf/behind.h"
#include "core/schema/tensor_sink.h"

#define EXPORTED __attribute__((visibility("default")))

/* c10::Device: trivially copyable, so it is passed as this is. */
struct c10_device {
	int8_t type, index;
};

typedef void (*report_fn)(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,
			  struct c10_device device);

/* Each mangled name, and PyTorch's function of that name. */
static const char *const names[] = {"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
				    "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"};
static const char *const sonames[] = {"libc10.so", NULL};
static struct gt_behind reports[2];

EXPORTED _Atomic(gt_tensor_sink) gputrace_tensor_sink;

static void tell(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,
		 struct c10_device device)
{
	gt_tensor_sink sink = atomic_load_explicit(&gputrace_tensor_sink, memory_order_acquire);

	if (sink)
		sink(&(struct gt_tensor){.address = (uintptr_t)address,
					 .bytes = bytes,
					 .allocated = allocated,
					 .reserved = reserved,
					 .device_type = device.type,
					 .device = device.index});
}

/* Who calls us has loaded libc10.so, or a library that it is in. */
static report_fn report_of(int i, const void *caller)
{
	void *report = gt_behind_known(&reports[i]);

	return (report_fn)(report ? report
				  : gt_behind_look(&reports[i], names[i], sonames, caller));
}

static void pass_on(report_fn report, void *address, int64_t bytes, uint64_t allocated,
		    uint64_t reserved, struct c10_device device)
{
	tell(address, bytes, allocated, reserved, device);
	if (report)
		report(address, bytes, allocated, reserved, device);
}

EXPORTED void report_2(
	void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,
	struct c10_device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
EXPORTED void report_1(
	void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,
	struct c10_device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");

void report_2(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,
	      struct c10_device device)
{
	pass_on(report_of(0, __builtin_return_address(0)), address, bytes, allocated, reserved,
		device);
}

void report_1(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,
	      struct c10_device device)
{
	pass_on(report_of(1, __builtin_return_address(0)), address, bytes, allocated, reserved,
		device);
}
