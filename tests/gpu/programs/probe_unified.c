/* SPDX-License-Identifier: Apache-2.0
 *
 * Unified memory. See probes.def.
 */
#include "probes.h"

#define BYTES ((size_t)1 << 20)
#define KINDS 8u /* as the tracer */

/* Counters in @seen by their kind, of addresses in the memory. */
static unsigned count_counters(CUdeviceptr memory, unsigned seen[16])
{
	unsigned elsewhere = 0;

	for (unsigned i = 0; i < rig_count(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER); i++) {
		const CUpti_ActivityUnifiedMemoryCounter2 *r =
			rig_find(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, i);

		if (r->address < memory || r->address >= memory + BYTES)
			elsewhere++;
		else
			seen[(uint32_t)r->counterKind % 16]++;
	}
	return elsewhere;
}

static CUptiResult configure(void)
{
	CUpti_ActivityUnifiedMemoryCounterConfig config[KINDS] = {{0}};

	for (uint32_t i = 0; i < KINDS; i++) {
		config[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES;
		config[i].kind = (CUpti_ActivityUnifiedMemoryCounterKind)(i + 1);
		config[i].enable = 1;
	}
	return rig.cupti.cuptiActivityConfigureUnifiedMemoryCounter(config, KINDS);
}

static CUptiResult enable(void)
{
	return rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

/* Little, and touched once: managed memory beyond what is there can hang a GPU. */
static bool touch(void)
{
	unsigned seen[16] = {0}, elsewhere, sum = 0;
	CUdeviceptr memory = 0;

	if (cuMemAllocManaged(&memory, BYTES, CU_MEM_ATTACH_GLOBAL))
		return probe_seen(false, "no managed memory");
	memset((void *)(uintptr_t)memory, 1, BYTES);
	cuMemsetD8Async(memory, 2, BYTES, rig.stream);
	rig_launch();
	rig_flush(0);
	for (size_t i = 0; i < BYTES; i += 4096)
		sum += ((volatile unsigned char *)(uintptr_t)memory)[i];
	rig_flush(1);
	elsewhere = count_counters(memory, seen);
	return probe_seen(seen[1] && seen[2] && seen[3] && seen[4],
			  "%u migrations HtoD, %u DtoH, %u CPU faults, %u GPU faults, %u of other "
			  "kinds, %u elsewhere; sum %u",
			  seen[1], seen[2], seen[3], seen[4], seen[5] + seen[6] + seen[7] + seen[8],
			  elsewhere, sum);
}

bool probe_unified_memory(void)
{
	CUptiResult configured, enabled;

	rig_start();
	configured = configure();
	enabled = enable();
	if (configured || enabled)
		return probe_seen(false, "configured: %d, enabled: %d", configured, enabled);
	return touch();
}

static bool is_counted;

/* Which attributes can be read by now, of those that the start refuses. */
static void ask_attributes(void)
{
	static const int attributes[] = {3, 4, 7};

	for (size_t i = 0; i < 3; i++) {
		size_t value = 0, size = sizeof(value);
		CUptiResult result = rig.cupti.cuptiActivityGetAttribute(
			(CUpti_ActivityAttribute)attributes[i], &size, &value);

		printf("; attribute %d: result %d, %zu", attributes[i], result, value);
	}
	putchar('\n');
}

static void attempt(const char *when)
{
	uint64_t since = rig_realtime();
	CUptiResult configured = CUPTI_SUCCESS, enabled = CUPTI_SUCCESS;

	printf("%s: ", when);
	fflush(stdout);
	if (!is_counted) {
		configured = configure();
		printf("configured %d, ", configured);
		fflush(stdout);
		enabled = configured ? CUPTI_SUCCESS : enable();
		printf("enabled %d, %lu us", enabled,
		       (unsigned long)((rig_realtime() - since) / 1000));
		is_counted = !configured && !enabled;
	}
	ask_attributes();
}

static void on_resource(CUpti_CallbackId id)
{
	if (id == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED)
		attempt("in the callback CU_INIT_FINISHED");
	else if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		attempt("in the callback of the first context");
}

static void inside(void)
{
	rig_open();
	attempt("in the injection");
}

/* @start: in the injection. */
static bool begin_by(void (*start)(void))
{
	char address[32];

	snprintf(address, sizeof(address), "0x%lx", (unsigned long)(uintptr_t)start);
	setenv("PROBE_INSIDE", address, 1);
	probe_inject();
	rig.resource = on_resource;
	rig_use_device();
	attempt("behind all that");
	return touch();
}

bool probe_unified_memory_inside_injection(void)
{
	return begin_by(inside);
}

/* What --unified-memory does: CUPTI is started in the injection, and not asked before cuInit has
 * finished. */
bool probe_unified_memory_behind_init(void)
{
	return begin_by(rig_open);
}
