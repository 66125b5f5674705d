/* SPDX-License-Identifier: Apache-2.0
 *
 * See start_at.h.
 */
#include "cli/start_at.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/window/when.h"

#define SECOND_NS UINT64_C(1000000000)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* The offset that local time has at @seconds since 1970, "+0100". */
static void zone_at(time_t seconds, char *ret_zone, size_t size)
{
	struct tm local;

	if (!localtime_r(&seconds, &local) || !strftime(ret_zone, size, "%z", &local))
		snprintf(ret_zone, size, "Z");
}

/* @text has a day and no zone. The offset may change in between: that of the moment itself. */
static int parse_local(const char *text, uint64_t now, uint64_t *ret_ns)
{
	char zone[16], whole[128];
	int error;

	zone_at((time_t)(now / SECOND_NS), zone, sizeof(zone));
	for (int i = 0; i < 2; i++) {
		snprintf(whole, sizeof(whole), "%s%s", text, zone);
		error = gt_when_moment(whole, now, ret_ns);
		if (error)
			return error;
		zone_at((time_t)(*ret_ns / SECOND_NS), zone, sizeof(zone));
	}
	return 0;
}

/* "@10:30": today. */
static int parse_today(const char *text, uint64_t now, uint64_t *ret_ns)
{
	char day[128], whole[128];
	time_t seconds = (time_t)(now / SECOND_NS);
	struct tm local;

	if (*text != '@' || strlen(text) > 32 || !localtime_r(&seconds, &local) ||
	    !strftime(day, sizeof(day), "@%Y-%m-%dT", &local))
		return -EINVAL;
	snprintf(whole, sizeof(whole), "%.40s%.32s", day, text + 1);
	return parse_local(whole, now, ret_ns);
}

static int parse(const char *text, uint64_t now, uint64_t *ret_ns)
{
	int error = gt_when_moment(text, now, ret_ns);

	if (error == -EINVAL && strlen(text) < 64 && strlen(text) > 5 && text[5] == '-')
		error = parse_local(text, now, ret_ns);
	if (error == -EINVAL)
		error = parse_today(text, now, ret_ns);
	return error;
}

bool gt_start_at(const char *text, char *ret_moment, size_t moment_size, char *ret_wrong,
		 size_t size)
{
	uint64_t now = now_ns(), moment;
	int error;

	snprintf(ret_moment, moment_size, "%s", "");
	if (!*text)
		return true;
	error = parse(text, now, &moment);
	if (error)
		snprintf(ret_wrong, size,
			 "'%s' is no value for --start-at: it takes @2026-11-23T10:00:00+01:00, "
			 "@10:00:00, @+30s or @SECONDS%s",
			 text, error == -ERANGE ? "; there is no such day or time" : "");
	else if (moment < now)
		snprintf(ret_wrong, size, "--start-at=%s passed %" PRIu64 ".%" PRIu64 " s ago",
			 text, (now - moment) / SECOND_NS, (now - moment) / (SECOND_NS / 10) % 10);
	else
		snprintf(ret_moment, moment_size, "@%" PRIu64 ".%09" PRIu64, moment / SECOND_NS,
			 moment % SECOND_NS);
	return *ret_moment;
}
