/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a message between processes that compare ranks (message.h), each written and read.
 */
#ifndef GT_ANALYSIS_RANKS_FIELDS_H
#define GT_ANALYSIS_RANKS_FIELDS_H

#include "analysis/ranks/message.h"
#include "trace/meetings.h"

/* A message in the making. */
struct gt_rank_writer {
	const struct gt_model *model; /* the one that is written */
	uint32_t *number;             /* by name of it: that in the message, + 1 */
	struct gt_names names;        /* of the message */
	struct gt_pack body;
};

/* One that is read. */
struct gt_rank_reader {
	struct gt_pack_in in;
	struct gt_rank_sent *sent; /* the one that is read */
	const char **text;         /* names of the message */
	size_t *length;
	size_t count;
	uint32_t *local; /* by name of the message: that in the model, + 1 */
	bool failed;     /* no memory */
};

/* What the next collective is written as a difference to. */
struct gt_rank_fields {
	int64_t start, correlation;
	uint64_t sequence;
	struct gt_rank_mark came, left;
};

/* A number as its difference to the one before, whichever is greater. */
void gt_rank_put_step(struct gt_pack *out, uint64_t number, uint64_t before);
uint64_t gt_rank_take_step(struct gt_pack_in *in, uint64_t before);

/* The number in the message of a name of the model, and the reverse. */
uint32_t gt_rank_write_name(struct gt_rank_writer *w, uint32_t name);
uint32_t gt_rank_read_name(struct gt_rank_reader *r);

/* What names a process, its clock and host. -EBADMSG, -ENOMEM. */
void gt_rank_write_head(struct gt_rank_writer *w, const struct gt_rank_excerpt *excerpt);
int gt_rank_read_head(struct gt_rank_reader *r);

/* A collective that is a kernel, or a call of MPI. -EBADMSG, -ENOMEM. */
void gt_rank_write_kernel(struct gt_rank_writer *w, const struct gt_rank_meeting *meeting,
			  struct gt_rank_fields *last);
int gt_rank_read_kernel(struct gt_rank_reader *r, struct gt_rank_fields *last);
void gt_rank_write_call(struct gt_rank_writer *w, const struct gt_rank_meeting *meeting,
			struct gt_rank_fields *last);
int gt_rank_read_call(struct gt_rank_reader *r, struct gt_rank_fields *last);

/* Names and times. -ENOMEM. */
void gt_rank_write_times(struct gt_rank_writer *w, const struct gt_rank_time *times, size_t count);
int gt_rank_read_times(struct gt_rank_reader *r, struct gt_rank_times *ret_times);

#endif
