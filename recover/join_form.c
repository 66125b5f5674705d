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

bool gt_join_is_closed(const char *path)
{
	struct gt_events events = {0};
	bool closed = !gt_events_init(&events) &&
		      !(gt_join_is_pftrace(path, path) ? gt_events_read_pftrace(&events, path)
						       : gt_events_read_json(&events, path)) &&
		      events.closed;

	gt_events_fini(&events);
	return closed;
}
