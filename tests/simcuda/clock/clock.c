/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of another host, for a process that preloads it: CLOCK_REALTIME is SIMCLOCK_AHEAD_NS
 * ahead, and it and CLOCK_MONOTONIC gain SIMCLOCK_PPM ns in each ms from the moment SIMCLOCK_FROM
 * (CLOCK_REALTIME, ns) on. libsimnccl asks it for the time that all hosts share.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define S 1000000000ll

uint64_t sim_clock_shared(uint64_t own);
uint64_t sim_clock_own(uint64_t shared);

static int64_t ahead, from, from_monotonic;
static double rate; /* that is gained */

static int64_t read_clock(clockid_t id)
{
	struct timespec time = {0};

	syscall(SYS_clock_gettime, id, &time);
	return (int64_t)time.tv_sec * S + time.tv_nsec;
}

static int64_t number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoll(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void)
{
	ahead = number("SIMCLOCK_AHEAD_NS");
	from = number("SIMCLOCK_FROM");
	rate = (double)number("SIMCLOCK_PPM") / 1e6;
	from_monotonic = read_clock(CLOCK_MONOTONIC) - (read_clock(CLOCK_REALTIME) - from);
}

static int64_t gained(int64_t since)
{
	return (int64_t)((double)since * rate);
}

uint64_t sim_clock_own(uint64_t shared)
{
	int64_t t = (int64_t)shared;

	return (uint64_t)(t + ahead + gained(t - from));
}

uint64_t sim_clock_shared(uint64_t own)
{
	int64_t since = (int64_t)own - ahead - from;

	return (uint64_t)(from + (int64_t)((double)since / (1 + rate)));
}

int clock_gettime(clockid_t id, struct timespec *ret_time)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ret_time);
	int64_t t = (int64_t)ret_time->tv_sec * S + ret_time->tv_nsec;

	if (rc || !from || (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC))
		return rc;
	t = id == CLOCK_REALTIME ? (int64_t)sim_clock_own((uint64_t)t)
				 : t + gained(t - from_monotonic);
	*ret_time = (struct timespec){.tv_sec = t / S, .tv_nsec = t % S};
	return 0;
}
