/* SPDX-License-Identifier: Apache-2.0
 *
 * Values and what follows from them: count, total, least, greatest, standard deviation, quantiles.
 * All of it can be merged, in any order and grouping, with one and the same result. As long as the
 * values are kept, all is exact; else they are counted in buckets, and of the above only the
 * quantiles have an error. One thread per set.
 */
#ifndef GT_ANALYSIS_REDUCE_DIST_H
#define GT_ANALYSIS_REDUCE_DIST_H

#include <stdint.h>

#include "analysis/reduce/pack.h"
#include "readers/vec.h"

/* A bucket is a value below 256, or one of 128 parts of a power of two; its middle stands for what
 * is in it, so that a quantile is wrong by at most 1/256 of itself. */
#define GT_SKETCH_BITS    7
#define GT_SKETCH_ERROR   (1.0 / 256)

/* Values that a process gives to another one as they are; of more it gives buckets. */
#define GT_DIST_MOST_SENT 1024

/* Exact sums. */
struct gt_sums {
	uint64_t count;
	int64_t total, min, max;
	uint64_t squares[3]; /* of all values, 192 bits, the lowest ones first */
};

/* How many values are in a bucket. */
struct gt_bucket {
	int32_t at;
	uint64_t count;
};

/* Values that are no longer known one by one. */
struct gt_sketch {
	struct gt_sums sums;
	GT_VEC(struct gt_bucket) buckets; /* by at, none is empty */
};

/* Values: gt_dist_at(). */
struct gt_dist {
	int64_t *at;              /* NULL: all of them are in @small */
	size_t count, room;       /* of the one of both that is used */
	uint32_t *small;          /* as long as all fit: times below 4.3 s do */
	struct gt_sketch *sketch; /* instead of both, which are empty then; else NULL */
};

/* Numbers that follow from the values. */
struct gt_moments {
	uint64_t count;
	int64_t total, min, max;
	double mean, median;
	double p90, p99; /* percentiles, interpolated between the two nearest values */
	double stddev;   /* of a sample (n - 1), as nsys and pandas do; 0 for one value */
};

/* Adds a value to those that are kept. False: no memory. */
bool gt_dist_add(struct gt_dist *dist, int64_t value);
/* Adds @more to the value that was added last; there must be one. False: no memory. */
bool gt_dist_extend(struct gt_dist *dist, int64_t more);
/* Value number @i of those that are kept. */
static inline int64_t gt_dist_at(const struct gt_dist *dist, size_t i)
{
	return dist->at ? dist->at[i] : dist->small[i];
}
/* Frees the values. Also of a zeroed struct. */
void gt_dist_fini(struct gt_dist *dist);

/* Sorts the values. */
struct gt_moments gt_dist_moments(struct gt_dist *dist);

/* How many values there are, and their total. */
uint64_t gt_dist_count(const struct gt_dist *dist);
int64_t gt_dist_total(const struct gt_dist *dist);

/* The value in the middle, of two the greater one, 0 of none. Sorts the values. */
int64_t gt_dist_middle(struct gt_dist *dist);

#define GT_DIST_POWERS 64

/* Adds to @bins how many values there are from 0 to 1, and from each power of two to the next: of
 * buckets, too, exactly. What is below 0 counts as 0. */
void gt_dist_powers(const struct gt_dist *dist, uint64_t bins[GT_DIST_POWERS]);

/* Counts the values in buckets if there are more than @most. False: no memory. */
bool gt_dist_limit(struct gt_dist *dist, size_t most);

/* Adds those of @from; where there are more than @most, both go into buckets. False: no memory. */
bool gt_dist_merge(struct gt_dist *dist, struct gt_dist *from, size_t most);

/* The bucket of a value, and the value that stands for a bucket. Pure. */
int32_t gt_sketch_bucket(int64_t value);
int64_t gt_sketch_value(int32_t bucket);

/* Sorts the values and writes them; more than GT_DIST_MOST_SENT of them as buckets. */
void gt_dist_write(struct gt_dist *dist, struct gt_pack *out);

/* Reads what gt_dist_write has written into @ret_dist, which is empty. -EBADMSG: it cannot be;
 * -ENOMEM. */
int gt_dist_read(struct gt_pack_in *in, struct gt_dist *ret_dist);

#endif
