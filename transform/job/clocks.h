/* SPDX-License-Identifier: Apache-2.0
 *
 * The clocks of the processes that a merge brings together (trace/clocks.h). Of one machine the
 * headers tell all; else each trace is read once, one after the other, for its collectives. One
 * thread per merge.
 */
#ifndef GT_TRANSFORM_JOB_CLOCKS_H
#define GT_TRANSFORM_JOB_CLOCKS_H

#include <stdio.h>

#include "trace/clocks.h"

/* What a merge says of clocks: processes that are not on the machine of the first one. */
struct gt_merge_clocks {
	size_t collectives; /* placed by these */
	int64_t error;      /* ns, the largest of theirs; GT_CLOCK_ERROR_UNKNOWN */
	size_t realtime;    /* only by their wall clocks */
	size_t unbounded;   /* of these, traces of gputrace's, which should be known better */
	struct gt_clock_bar_at bar; /* why the first of these has nothing better */
};

/*
 * Relates @count processes, of each of which @sources has what its header tells: the files of each
 * are @paths[firsts[i]] up to that of the next one (firsts has count + 1 members). 0 or -ENOMEM;
 * free with gt_clocks_fini in either case.
 */
int gt_merge_clocks_find(char *const *paths, const size_t *firsts, struct gt_clock_source *sources,
			 size_t count, struct gt_clocks *ret_clocks,
			 struct gt_merge_clocks *ret_summary);

/* Only collectives relate the processes of a merged file, the @group th of a merge, to another one.
 */
void gt_merge_clocks_isolate(struct gt_clock_source *source, size_t group);

/* Why clocks of which some are unbounded are not merged unless that is forced. */
void gt_merge_clocks_refuse(const struct gt_merge_clocks *clocks, char *ret_line, size_t size);

/* Of one machine, and with times that stay: there is nothing to say. */
bool gt_merge_clocks_are_plain(const struct gt_clocks *clocks);

/* The member "clocks" of a merged file (docs/FORMAT.md) and its end of line; nothing where all are
 * of one machine and stay as they are. @before: by process, the line by which a merge before this
 * one moved it (used 0: none did), or NULL. */
void gt_merge_clocks_put(const struct gt_clocks *clocks, const struct gt_clock_line *before,
			 FILE *out);

#endif
