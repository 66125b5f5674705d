/* SPDX-License-Identifier: Apache-2.0
 *
 * The header of a trace in whichever form it is, without its events. Any thread.
 */
#ifndef GT_TRACE_FILE_HEADER_H
#define GT_TRACE_FILE_HEADER_H

#include "readers/chrome/reader.h"

/* Reads the header of the file @path: for JSON up to its first event; of a .pftrace what it tells
 * last. 0, or a negative errno with ret_reading->error filled; free it with gt_reading_fini in
 * either case. */
int gt_file_header(const char *path, struct gt_reading *ret_reading);

/* The same of a process of the .pftrace @path, counted from 0, which may hold several. -ENODATA: it
 * has fewer. */
int gt_file_header_part(const char *path, uint32_t part, struct gt_reading *ret_reading);

/* The same with the members behind the events: reads the whole file unless the base of the times,
 * the rank and the devices stand before them, as in gputrace's own. */
int gt_file_header_whole(const char *path, struct gt_reading *ret_reading);

/* Whether the .pftrace @path has the last packet of the last of its @parts processes, 0 and 1: of
 * one. Reads the whole file. */
bool gt_file_is_whole_pftrace(const char *path, uint32_t parts);

#endif
