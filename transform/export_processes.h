/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose the rows of an export are. As in an nsys export a process is a number made of 16 bits that
 * tell machines apart, 24 of the pid and 24 of the thread (0 in a globalPid). Of processes with one
 * pid, as containers have them, the second and later ones count as on other machines. One thread
 * per instance; zeroed it is empty.
 */
#ifndef GT_TRANSFORM_EXPORT_PROCESSES_H
#define GT_TRANSFORM_EXPORT_PROCESSES_H

#include "readers/chrome/reader.h"
#include "readers/pairmap.h"
#include "readers/vec.h"
#include "transform/as_json.h"

/* A process of the traces. */
struct gt_export_process {
	const char *path; /* its first file; the caller's */
	int64_t pid;      /* -1: not known */
	int64_t machine;
	bool is_merged;   /* gputrace merge wrote the file, */
	bool is_part;     /* a .pftrace, */
	int64_t rank;     /* and says whose it is */
	char name[128];   /* of the program, "": not known */
	bool is_reported; /* for the caller */
};

struct gt_export_process_row { /* of a file that gputrace merge wrote */
	int64_t pid, was;
	size_t process;
};

/* All processes of an export. */
struct gt_export_processes {
	GT_VEC(struct gt_export_process) list;
	GT_VEC(struct gt_export_process_row) rows; /* of the file in hand */
	struct gt_pairmap row_of;                  /* pid, 0 -> place in rows + 1 */
	struct gt_pairmap machines;                /* pid, 0 -> processes that have it */
	size_t first, count;                       /* in list: of the file in hand */
};

/* Begins with a file, which is open. One that can be read twice is looked through for what is
 * reported behind the first GPU work; errors in it are for the real reading to tell. -ENOMEM. */
int gt_export_processes_begin(struct gt_export_processes *all, struct gt_as_json *trace);

/* Learns what an event of that file tells. -ENOMEM. */
int gt_export_processes_see(struct gt_export_processes *all, const struct gt_trace_event *record,
			    const struct gt_header *header);

/* The process's globalPid, packed as in nsys. */
int64_t gt_export_global_pid(const struct gt_export_process *process);

/* Of GPU work on the rows of the device @pid. False: not known. */
bool gt_export_gpu_pid(const struct gt_export_processes *all, int64_t pid, int64_t *ret_global);

/* Of a thread as the file names it. */
int64_t gt_export_global_tid(const struct gt_export_processes *all, int64_t pid, int64_t tid);

/* Frees the list. */
void gt_export_processes_fini(struct gt_export_processes *all);

#endif
