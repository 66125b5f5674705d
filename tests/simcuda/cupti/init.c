/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the driver, reading the fault switches, and time as this CUPTI stamps it. Any thread.
 */
#include "cupti/cupti_sim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cupti_state cupti;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread CUptiResult last_error;

/* With the lock switch one lock is held around everything that calls the client, and taken by what
 * the client calls: a client that takes a lock of its own in both places, in two orders, hangs. */
static pthread_mutex_t big_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void cupti_lock(void)
{
	if (cupti.faults.lock)
		pthread_mutex_lock(&big_lock);
}

void cupti_unlock(void)
{
	if (cupti.faults.lock)
		pthread_mutex_unlock(&big_lock);
}

struct number_switch {
	const char *name;
	uint64_t *value;
};

struct bool_switch {
	const char *name;
	bool *value;
};

static bool read_number(const char *name, const char *value)
{
	struct cupti_faults *f = &cupti.faults;
	const struct number_switch switches[] = {{"drop", &f->drop},
						 {"dropped", &f->dropped},
						 {"zero_ts", &f->zero},
						 {"reverse_ts", &f->reverse},
						 {"early", &f->early},
						 {"null_corr", &f->null_correlation},
						 {"unknown_kind", &f->unknown_kind},
						 {"steal", &f->steal},
						 {"fatal", &f->fatal},
						 {"slow_flush", &f->slow_flush},
						 {"slow_forced_flush", &f->slow_forced_flush},
						 {"slow_enable", &f->slow_enable},
						 {"slow_record", &f->slow_record},
						 {"late_threads", &f->late_threads},
						 {"overheads", &f->overheads},
						 {"hw_trace", &f->hw_trace},
						 {"hw_trace_later", &f->hw_trace_later},
						 {"report", &f->report},
						 {"not_ready", &f->not_ready},
						 {"early_counters", &f->early_counters},
						 {"clock_ahead", &f->clock_ahead}};

	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		if (!strcmp(name, switches[i].name)) {
			*switches[i].value = value ? strtoull(value, NULL, 0) : 1;
			return true;
		}
	return false;
}

static bool read_bool(const char *name)
{
	struct cupti_faults *f = &cupti.faults;
	const struct bool_switch switches[] = {{"tsc", &f->ticks},
					       {"invalid_last", &f->invalid_last},
					       {"shuffle", &f->shuffle},
					       {"poison", &f->poison},
					       {"poison_complete", &f->poison_complete},
					       {"unreadable", &f->unreadable},
					       {"pool", &f->pool},
					       {"pool_crash", &f->pool_crash},
					       {"lost_with_context", &f->lost_with_context},
					       {"memset_kernels", &f->memset_kernels},
					       {"first_release", &f->first_release},
					       {"loading", &f->loading},
					       {"lock", &f->lock}};

	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		if (!strcmp(name, switches[i].name)) {
			*switches[i].value = true;
			return true;
		}
	return false;
}

static bool is_of_the_driver(const char *name)
{
	return !strncmp(name, "die:", 4) || !strcmp(name, "linger") || !strcmp(name, "slow_sync") ||
	       !strcmp(name, "slow_init");
}

static void read_fault(char *word)
{
	struct cupti_faults *f = &cupti.faults;
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	if (read_number(word, value) || read_bool(word) || is_of_the_driver(word))
		return;
	if (!strcmp(word, "subscribe") && value)
		f->subscribe = (CUptiResult)atoi(value);
	else if (!strncmp(word, "enable:", 7) && value)
		f->enable[(unsigned int)atoi(word + 7) % CUPTI_KINDS] = (CUptiResult)atoi(value);
	else if (!strcmp(word, "clock_step") && value) {
		f->clock_step = strtoll(value, &value, 0);
		f->clock_step_after = *value == '@' ? strtoull(value + 1, NULL, 0) : 0;
	} else if (!strcmp(word, "flush")) {
		f->flush_hangs = value && !strcmp(value, "hang");
		f->locked_flush_hangs = value && !strcmp(value, "hang_locked");
		f->unused_flush_hangs = value && !strcmp(value, "unused");
	} else
		dprintf(STDERR_FILENO, "simcuda: SIMCUDA_FAULT: unknown switch '%s'\n", word);
}

static void read_faults(void)
{
	const char *text = getenv("SIMCUDA_FAULT");
	char *copy = text ? strdup(text) : NULL, *rest = NULL;

	for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word;
	     word = strtok_r(NULL, ",", &rest))
		read_fault(word);
	free(copy);
}

/* Of this CUPTI; a driver of an older one is of no use. */
#define CUDA_MAJOR                                                                                 \
	(SIM_CUPTI_VERSION >= 130000 ? SIM_CUPTI_VERSION / 10000 : SIM_CUPTI_VERSION > 18 ? 12 : 11)

static bool is_too_old(void *driver)
{
	int (*get)(int *), version = 0;

	*(void **)&get = dlsym(driver, "cuDriverGetVersion");
	return !get || get(&version) || version / 1000 < CUDA_MAJOR;
}

static void start(void)
{
	static const CUuuid id = SIM_TABLE_UUID;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	CUresult (*get)(const void **, const CUuuid *) = NULL;

	read_faults();
	cupti.pid = getpid();
	cupti.thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
	if (driver && !is_too_old(driver))
		*(void **)&get = dlsym(driver, "cuGetExportTable");
	if (!get || get((const void **)&cupti.table, &id))
		return;
	cupti.table->set_client(&cupti_client);
}

/* Whatever a real one does there: CUDA does not survive fork. */
static void tell_of_child(void)
{
	if (cupti.pid != getpid())
		cupti.table->truth(
			"{\"truth\":\"fault\",\"fault\":\"cupti_in_child\",\"pid\":%d}\n",
			(int)getpid());
}

/* CUPTI 13.2 logs a failed start by a function that begins with that start. */
static CUptiResult fail_to_start(void)
{
	const char *text;

	if (SIM_CUPTI_VERSION >= 130200 && SIM_CUPTI_VERSION < 130300)
		return cuptiGetResultString(CUPTI_ERROR_UNKNOWN, &text);
	return cupti_fail(SIM_CUPTI_VERSION < 130000 ? CUPTI_ERROR_NOT_INITIALIZED
						     : CUPTI_ERROR_UNKNOWN);
}

/* After a fatal error, or once the driver's atexit handler has run, nothing works any more. */
CUptiResult cupti_check(void)
{
	pthread_once(&once, start);
	if (!cupti.table)
		return fail_to_start();
	tell_of_child();
	if (cupti.dead || cupti.table->driver_gone())
		return cupti_fail(CUPTI_ERROR_NOT_INITIALIZED);
	return CUPTI_SUCCESS;
}

CUptiResult cupti_check_started(void)
{
	pthread_once(&once, start);
	return SIM_CUPTI_VERSION >= 130200 && !cupti.table ? fail_to_start() : CUPTI_SUCCESS;
}

CUptiResult cupti_fail(CUptiResult error)
{
	last_error = error;
	return error;
}

CUptiResult CUPTIAPI cuptiGetLastError(void)
{
	CUptiResult error = last_error;

	last_error = CUPTI_SUCCESS;
	return error;
}

uint32_t cupti_thread_id(void)
{
	static __thread uint32_t tid;

	if (cupti.thread_id_type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return (uint32_t)pthread_self();
	if (!tid)
		tid = (uint32_t)syscall(SYS_gettid);
	return tid;
}

/* A client's clock, and when it was registered on both clocks. Stays what it is, and stays: another
 * thread may be making a record with it. */
struct client_clock {
	CUpti_TimestampCallbackFunc now;
	uint64_t device, client;
	struct client_clock *before;
};

static struct client_clock *_Atomic client_clock; /* NULL: the device's */

uint64_t cupti_time(void)
{
	struct client_clock *clock = client_clock;

	return clock && clock->now ? clock->now() : cupti.table->now() + cupti.faults.clock_ahead;
}

void cupti_clock_set(CUpti_TimestampCallbackFunc timestamp)
{
	struct client_clock *clock = calloc(1, sizeof(*clock));

	if (!clock)
		return;
	clock->now = timestamp;
	clock->device = timestamp ? cupti.table->now() : 0;
	clock->client = timestamp ? timestamp() : 0;
	clock->before = client_clock;
	client_clock = clock;
}

/* Linear interpolation between the registration and now, as the header has it. The client's clock
 * may count anything, faster or slower than nanoseconds. */
static uint64_t client_time(const struct client_clock *clock, uint64_t time)
{
	uint64_t device = cupti.table->now(), client = clock->now();
	double rate = device > clock->device
			      ? (double)(client - clock->client) / (double)(device - clock->device)
			      : 1;

	return client - (uint64_t)(int64_t)((double)(int64_t)(device - time) * rate);
}

/* Whether a client has registered its clock since then: such work has no times. */
bool cupti_clock_is_after(uint64_t time)
{
	const struct client_clock *clock = client_clock;

	return clock && clock->now && time < clock->device;
}

/* A device time, on the clock that the client chose; tsc: as raw ticks of some counter. */
uint64_t cupti_gpu_time(uint64_t time)
{
	const struct client_clock *clock = client_clock;

	if (cupti.faults.ticks)
		return time / 2 * 5 % ((uint64_t)1 << 52);
	return clock && clock->now ? client_time(clock, time) : time + cupti.faults.clock_ahead;
}

void cupti_switch_all(_Atomic bool *switches, size_t count, bool on)
{
	for (size_t i = 0; i < count; i++)
		atomic_store_explicit(&switches[i], on, memory_order_relaxed);
}

/* True for every so-manyth; 0 is never. */
bool cupti_fault_due(uint64_t every, _Atomic uint64_t *count)
{
	return every && (atomic_fetch_add(count, 1) + 1) % every == 0;
}

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	CUptiResult result = cupti_check_started(); /* reads the faults */

	*version = SIM_CUPTI_VERSION;
	if (SIM_CUPTI_VERSION == 130000 && !cupti.faults.first_release)
		*version = 130001;
	return result;
}

CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
	if (!timestamp)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	CUptiResult result = cupti_check();
	if (!result)
		*timestamp = cupti_time();
	return result;
}
