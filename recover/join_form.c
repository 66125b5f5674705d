/* SPDX-License-Identifier: Apache-2.0
 *
 * Which form a trace has, and whether it is whole, see join.h.
 */
#include <string.h>
#include <sys/stat.h>

#include "readers/events.h"
#include "readers/input.h"
#include "readers/perfetto/pftrace.h"
#include "recover/join.h"
#include "trace/segment_files.h"

bool gt_join_is_pftrace(const char *path, const char *name)
{
	const char *ending = strstr(name, ".pftrace");
	struct gt_input in;
	struct stat st;
	bool is_pftrace;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || gt_input_open(&in, path))
		return false;
	is_pftrace = gt_input_more(&in) > 0 && gt_input_is_pftrace(&in);
	if (!is_pftrace && ending &&
	    (!strcmp(ending, ".pftrace") || !strcmp(ending, ".pftrace.gz")))
		/* too little of it to tell */
		is_pftrace = !in.size || *in.data == '\n';
	gt_input_close(&in);
	return is_pftrace;
}

/* Results only. */
static bool read_whole(struct gt_events *events, const char *path)
{
	return !gt_events_init(events) &&
	       !(gt_join_is_pftrace(path, path) ? gt_events_read_pftrace(events, path)
						: gt_events_read_json(events, path));
}

bool gt_join_is_closed(const char *path)
{
	struct gt_events events = {0};
	bool closed = read_whole(&events, path) && events.closed;

	gt_events_fini(&events);
	return closed;
}

/* 1: it was. */
static int see_beside(const char *path, void *data)
{
	struct gt_events events = {0};
	bool is_joined =
		read_whole(&events, path) && events.has_ledger && events.metadata.repaired.done;

	(void)data;
	gt_events_fini(&events);
	return is_joined;
}

bool gt_join_is_told_beside(const char *path)
{
	return gt_segments_beside(path, see_beside, NULL) > 0;
}
