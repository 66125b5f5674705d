/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that asks, see the header. A value is handed on when it has changed, and once a second
 * otherwise: a new file has it soon, and a reader sees that it was read.
 */
#include "collectors/nvml/nvml.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "collectors/nvml/gate.h"
#include "collectors/nvml/library.h"
#include "collectors/nvml/read.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/guest/futex.h"
#include "core/guest/text.h"

#define DEVICES    64u
#define UUID_BYTES 64u
#define SAMPLES    4096u /* a power of two; some seconds of 8 GPUs */
#define AGAIN_NS   1000000000ull
#define IDLE_NS    (3600 * 1000000000ull)

_Static_assert(GT_HEALTH_READINGS_ <= 32, "struct gt_nvml_gpu.lacks");

enum nvml_target_state {
	TARGET_NONE,
	TARGET_ASKED,   /* the drain thread has filled in its uuid */
	TARGET_READ,    /* has a handle */
	TARGET_REFUSED, /* no longer asked */
};

struct nvml_target {
	_Atomic uint32_t state;
	char uuid[UUID_BYTES];
	struct gt_nvml_gpu gpu;
	uint64_t value[GT_HEALTH_READINGS_]; /* handed on last */
	uint64_t at[GT_HEALTH_READINGS_];    /* when, 0: never */
};

static struct {
	uint64_t period;
	_Atomic uint32_t wake; /* futex: changed to wake the thread */
	_Atomic uint32_t stop, running, finished;
	_Atomic uint32_t active;
	_Atomic uint32_t devices; /* all targets are below */
	_Atomic uint64_t read, lost, failed;
	_Atomic(const char *) why;
	_Atomic(const char *) driver;
	char why_text[160], driver_text[80];
	struct gt_nvml_library library;
	gt_nvml_events events; /* NULL: none */
	struct nvml_target targets[DEVICES];
	_Atomic uint32_t head, tail; /* of samples: next to write, next to take */
	struct gt_nvml_sample samples[SAMPLES];
} nvml;

void gt_nvml_configure(uint32_t hz)
{
	memset(&nvml, 0, offsetof(__typeof__(nvml), samples));
	nvml.period = 1000000000u / (hz ? hz : 1);
	atomic_store(&nvml.active, 1);
	atomic_store(&nvml.running, 1);
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void wake(void)
{
	atomic_fetch_add(&nvml.wake, 1);
	gt_futex_wake(&nvml.wake);
}

/* ---- to the drain thread ---- */

static void hand_on(uint32_t device, uint32_t what, uint64_t at, uint64_t value)
{
	uint32_t head = atomic_load_explicit(&nvml.head, memory_order_relaxed);

	if (head - atomic_load_explicit(&nvml.tail, memory_order_acquire) >= SAMPLES) {
		count(&nvml.lost);
		return;
	}
	nvml.samples[head % SAMPLES] =
		(struct gt_nvml_sample){.at = at, .value = value, .device = device, .what = what};
	atomic_store_explicit(&nvml.head, head + 1, memory_order_release);
}

bool gt_nvml_take(struct gt_nvml_sample *ret_sample)
{
	uint32_t tail = atomic_load_explicit(&nvml.tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&nvml.head, memory_order_acquire))
		return false;
	*ret_sample = nvml.samples[tail % SAMPLES];
	atomic_store_explicit(&nvml.tail, tail + 1, memory_order_release);
	return true;
}

static void fail(uint32_t device, enum gt_nvml_result result)
{
	atomic_store(&nvml.targets[device].state, TARGET_REFUSED);
	count(&nvml.failed);
	hand_on(device, GT_NVML_FAILED, gt_clock_now(), result);
}

/* ---- a GPU ---- */

static void register_events(gt_nvml_device handle)
{
	if (nvml.events && nvml.library.nvmlDeviceRegisterEvents)
		nvml.library.nvmlDeviceRegisterEvents(handle, GT_NVML_EVENT_XID, nvml.events);
}

/* The GPU that an instance (MIG) is a part of: an instance has no sensors. */
static bool find_whole(gt_nvml_device *handle)
{
	gt_nvml_device whole = NULL;

	if (!nvml.library.nvmlDeviceGetDeviceHandleFromMigDeviceHandle ||
	    nvml.library.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(*handle, &whole) !=
		    GT_NVML_SUCCESS ||
	    !whole)
		return false;
	*handle = whole;
	return true;
}

static void find(uint32_t device)
{
	struct nvml_target *target = &nvml.targets[device];
	gt_nvml_device handle = NULL;
	enum gt_nvml_result result;
	bool is_shared;

	if (!gt_nvml_enter())
		return;
	result = nvml.library.nvmlDeviceGetHandleByUUID(target->uuid, &handle);
	is_shared = result == GT_NVML_SUCCESS && !strncmp(target->uuid, "MIG", 3) &&
		    find_whole(&handle);
	if (result == GT_NVML_SUCCESS)
		register_events(handle);
	gt_nvml_leave();
	if (result != GT_NVML_SUCCESS) {
		fail(device, result);
		return;
	}
	target->gpu = (struct gt_nvml_gpu){.handle = handle};
	atomic_store(&target->state, TARGET_READ);
	if (is_shared)
		hand_on(device, GT_NVML_SHARED, gt_clock_now(), 0);
}

/* False: the GPU is lost. */
static bool read_one(uint32_t device, enum gt_health_reading reading)
{
	struct nvml_target *target = &nvml.targets[device];
	enum gt_nvml_result result;
	uint64_t value = 0, now;

	if (!gt_nvml_read(&nvml.library, &target->gpu, reading, gt_clock_now(), &value, &result)) {
		if (result == GT_NVML_LOST)
			fail(device, result);
		else if (result != GT_NVML_SUCCESS)
			count(&nvml.failed);
		return result != GT_NVML_LOST;
	}
	now = gt_clock_now();
	count(&nvml.read);
	if (target->at[reading] && target->value[reading] == value &&
	    now - target->at[reading] < AGAIN_NS)
		return true;
	target->value[reading] = value;
	target->at[reading] = now;
	hand_on(device, reading, now, value);
	return true;
}

static void read_all(uint32_t device)
{
	for (int i = 0; i < GT_HEALTH_READINGS_ && !atomic_load(&nvml.stop); i++)
		if (!read_one(device, (enum gt_health_reading)i))
			return;
}

/* ---- events of all GPUs ---- */

static void take_event(const struct gt_nvml_event *event)
{
	for (uint32_t i = 0; i < atomic_load(&nvml.devices); i++)
		if (atomic_load(&nvml.targets[i].state) != TARGET_NONE &&
		    nvml.targets[i].gpu.handle == event->device)
			hand_on(i, GT_NVML_XID, gt_clock_now(), event->data);
}

static void read_events(void)
{
	struct gt_nvml_event event;
	enum gt_nvml_result result = GT_NVML_SUCCESS;

	for (int i = 0; nvml.events && i < 16 && result == GT_NVML_SUCCESS; i++) {
		if (!gt_nvml_enter())
			return;
		event = (struct gt_nvml_event){0};
		result = nvml.library.nvmlEventSetWait_v2(nvml.events, &event, 0);
		gt_nvml_leave();
		if (result == GT_NVML_SUCCESS && event.type & GT_NVML_EVENT_XID)
			take_event(&event);
	}
}

/* ---- the thread ---- */

static bool begin(void)
{
	enum gt_nvml_result result;

	if (gt_nvml_open(&nvml.library, nvml.why_text, sizeof(nvml.why_text)))
		return false;
	while (!gt_nvml_enter()) /* a fork takes some ms */
		gt_futex_wait(&nvml.stop, 0, 1000000);
	result = nvml.library.nvmlInit_v2();
	if (result == GT_NVML_SUCCESS && nvml.library.nvmlSystemGetDriverVersion)
		nvml.library.nvmlSystemGetDriverVersion(nvml.driver_text, sizeof(nvml.driver_text));
	if (result == GT_NVML_SUCCESS && nvml.library.nvmlEventSetCreate &&
	    nvml.library.nvmlEventSetWait_v2 &&
	    nvml.library.nvmlEventSetCreate(&nvml.events) != GT_NVML_SUCCESS)
		nvml.events = NULL;
	gt_nvml_leave();
	atomic_store(&nvml.driver, nvml.driver_text);
	if (result != GT_NVML_SUCCESS)
		gt_text_format(nvml.why_text, sizeof(nvml.why_text), "nvmlInit returns %d",
			       (int)result);
	return result == GT_NVML_SUCCESS;
}

/* Returns whether there was a GPU to ask. */
static bool round_once(void)
{
	uint32_t devices = atomic_load_explicit(&nvml.devices, memory_order_acquire), state;
	bool has_any = false;

	for (uint32_t i = 0; i < devices; i++) {
		state = atomic_load_explicit(&nvml.targets[i].state, memory_order_acquire);
		if (state == TARGET_ASKED)
			find(i);
		if (atomic_load(&nvml.targets[i].state) == TARGET_READ)
			read_all(i);
		has_any |= state == TARGET_ASKED || state == TARGET_READ;
	}
	if (has_any)
		read_events();
	return has_any;
}

static void turn_rounds(void)
{
	uint64_t next = gt_clock_now(), now;
	uint32_t seen;
	bool has_any;

	while (seen = atomic_load(&nvml.wake), !atomic_load(&nvml.stop)) {
		has_any = atomic_load(&nvml.active) && round_once();
		now = gt_clock_now();
		next += nvml.period;
		if (next < now)
			next = now + nvml.period;
		gt_futex_wait(&nvml.wake, seen, has_any ? next - now : IDLE_NS);
	}
}

void *gt_nvml_run(void *unused)
{
	(void)unused;
	if (begin())
		turn_rounds();
	else
		atomic_store(&nvml.why, nvml.why_text);
	atomic_store(&nvml.finished, 1);
	gt_futex_wake(&nvml.finished);
	return NULL;
}

/* ---- for the drain thread ---- */

void gt_nvml_watch(uint32_t device, const char *uuid)
{
	if (device >= DEVICES || strlen(uuid) >= UUID_BYTES ||
	    atomic_load(&nvml.targets[device].state) != TARGET_NONE)
		return;
	gt_text_format(nvml.targets[device].uuid, UUID_BYTES, "%s", uuid);
	atomic_store_explicit(&nvml.targets[device].state, TARGET_ASKED, memory_order_release);
	if (atomic_load(&nvml.devices) <= device)
		atomic_store_explicit(&nvml.devices, device + 1, memory_order_release);
	wake();
}

void gt_nvml_set_active(bool active)
{
	gt_nvml_give_up(gt_clock_now());
	if (atomic_exchange(&nvml.active, active) != active)
		wake();
}

const char *gt_nvml_why_not(void)
{
	return atomic_load(&nvml.why);
}

const char *gt_nvml_driver(void)
{
	const char *driver = atomic_load(&nvml.driver);

	return driver ? driver : "";
}

struct gt_nvml_counts gt_nvml_count(void)
{
	return (struct gt_nvml_counts){
		.read = atomic_load_explicit(&nvml.read, memory_order_relaxed),
		.lost = atomic_load_explicit(&nvml.lost, memory_order_relaxed),
		.failed = atomic_load_explicit(&nvml.failed, memory_order_relaxed),
	};
}

void gt_nvml_stop(uint64_t timeout_ns)
{
	uint64_t until = gt_clock_now() + timeout_ns, now;

	if (!atomic_exchange(&nvml.running, 0) || !gt_forkguard_holds())
		return;
	atomic_store(&nvml.stop, 1);
	wake();
	while (!atomic_load(&nvml.finished) && (now = gt_clock_now()) < until)
		gt_futex_wait(&nvml.finished, 0, until - now);
}
