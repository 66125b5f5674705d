/* SPDX-License-Identifier: Apache-2.0
 *
 * See dist.h. Whether the values are kept follows from their number alone, and so does each bucket
 * from its values: that is why no order of merging changes the result.
 */
#include "analysis/reduce/dist.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reduce/sums.h"

#define DIGIT_BITS  11
#define DIGITS      (1u << DIGIT_BITS)
#define MANY_VALUES 1024 /* to sort them digit by digit */
#define PARTS       (1 << GT_SKETCH_BITS)
#define LAST_BUCKET (55 * PARTS + 2 * PARTS - 1) /* of INT64_MAX */

enum dist_form {
	FORM_VALUES,
	FORM_BUCKETS,
};

/* From here on all values have 64 bits. False: no memory. */
static bool widen(struct gt_dist *dist)
{
	int64_t *at = dist->at ? dist->at : malloc((dist->count + 1) * sizeof(*at));

	if (!at || dist->at)
		return at;
	for (size_t i = 0; i < dist->count; i++)
		at[i] = dist->small[i];
	free(dist->small);
	dist->small = NULL;
	dist->at = at;
	dist->room = dist->count + 1;
	return true;
}

static bool is_small(int64_t value)
{
	return value >= 0 && value <= UINT32_MAX;
}

bool gt_dist_add(struct gt_dist *dist, int64_t value)
{
	if (dist->at || !is_small(value))
		return widen(dist) && gt_vec_push(dist, value);
	if (!gt_vec_reserve((void **)&dist->small, &dist->room, dist->count, sizeof(*dist->small)))
		return false;
	dist->small[dist->count++] = (uint32_t)value;
	return true;
}

bool gt_dist_extend(struct gt_dist *dist, int64_t more)
{
	size_t last = dist->count - 1;
	int64_t value = (int64_t)((uint64_t)gt_dist_at(dist, last) + (uint64_t)more);

	if (!dist->at && is_small(value))
		dist->small[last] = (uint32_t)value;
	else if (widen(dist))
		dist->at[last] = value;
	else
		return false;
	return true;
}

static void drop_values(struct gt_dist *dist)
{
	free(dist->small);
	dist->small = NULL;
	gt_vec_free(dist);
}

static void drop_sketch(struct gt_dist *dist)
{
	if (dist->sketch)
		gt_vec_free(&dist->sketch->buckets);
	free(dist->sketch);
	dist->sketch = NULL;
}

void gt_dist_fini(struct gt_dist *dist)
{
	drop_sketch(dist);
	drop_values(dist);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int by_small_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_sorted(const struct gt_dist *dist)
{
	size_t i = 1;

	while (i < dist->count && gt_dist_at(dist, i - 1) <= gt_dist_at(dist, i))
		i++;
	return i >= dist->count;
}

/* What is sorted: values of either size. */
struct digits {
	const int64_t *from;
	const uint32_t *small; /* instead */
	size_t count;
	int64_t least;
};

static inline size_t digit_of(const struct digits *digits, size_t i, int shift)
{
	int64_t value = digits->small ? digits->small[i] : digits->from[i];

	return ((uint64_t)value - (uint64_t)digits->least) >> shift & (DIGITS - 1);
}

/* By one digit, which is @shift bits from the right of what a value is more than the least. */
static void sort_by_digit(const struct digits *digits, void *to, int shift)
{
	size_t places[DIGITS] = {0}, next = 0;

	for (size_t i = 0; i < digits->count; i++)
		places[digit_of(digits, i, shift)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t here = places[d];

		places[d] = next;
		next += here;
	}
	for (size_t i = 0; digits->small && i < digits->count; i++)
		((uint32_t *)to)[places[digit_of(digits, i, shift)]++] = digits->small[i];
	for (size_t i = 0; !digits->small && i < digits->count; i++)
		((int64_t *)to)[places[digit_of(digits, i, shift)]++] = digits->from[i];
}

/* Digit by digit, as far as the values differ: for times of one kernel, two or three of them.
 * False: no memory. */
static bool sort_by_digits(struct gt_dist *dist)
{
	size_t bytes = dist->count * (dist->at ? sizeof(*dist->at) : sizeof(*dist->small));
	void *own = dist->at ? (void *)dist->at : dist->small, *other = malloc(bytes);
	void *from = own, *to = other;
	int64_t least = gt_dist_at(dist, 0), most = least;
	uint64_t span;

	if (!other)
		return false;
	for (size_t i = 0; i < dist->count; i++) {
		least = gt_dist_at(dist, i) < least ? gt_dist_at(dist, i) : least;
		most = gt_dist_at(dist, i) > most ? gt_dist_at(dist, i) : most;
	}
	span = (uint64_t)most - (uint64_t)least;
	for (int shift = 0; shift < 64 && span >> shift; shift += DIGIT_BITS) {
		const struct digits digits = {from, dist->at ? NULL : from, dist->count, least};
		void *sorted = to;

		sort_by_digit(&digits, to, shift);
		to = from;
		from = sorted;
	}
	if (from != own)
		memcpy(own, from, bytes);
	free(other);
	return true;
}

static void sort(struct gt_dist *dist)
{
	if (is_sorted(dist) || (dist->count >= MANY_VALUES && sort_by_digits(dist)))
		return;
	if (dist->at)
		qsort(dist->at, dist->count, sizeof(*dist->at), by_value);
	else
		qsort(dist->small, dist->count, sizeof(*dist->small), by_small_value);
}

static struct gt_sums sums_of(const struct gt_dist *dist)
{
	struct gt_sums sums = {0};

	if (dist->sketch)
		return dist->sketch->sums;
	if (!dist->at)
		return gt_sums_of_small(dist->small, dist->count);
	for (size_t i = 0; i < dist->count; i++)
		gt_sums_add(&sums, dist->at[i]);
	return sums;
}

uint64_t gt_dist_count(const struct gt_dist *dist)
{
	return dist->sketch ? dist->sketch->sums.count : dist->count;
}

int64_t gt_dist_total(const struct gt_dist *dist)
{
	uint64_t total = 0;

	if (dist->sketch)
		return dist->sketch->sums.total;
	for (size_t i = 0; i < dist->count; i++)
		total += (uint64_t)gt_dist_at(dist, i);
	return (int64_t)total;
}

int32_t gt_sketch_bucket(int64_t value)
{
	uint64_t size = value < 0 ? ~(uint64_t)value : (uint64_t)value;
	int power = size ? 63 - __builtin_clzll(size) : 0;
	int shift = power > GT_SKETCH_BITS ? power - GT_SKETCH_BITS : 0;
	int32_t bucket = (int32_t)(shift * PARTS + (int)(size >> shift));

	return value < 0 ? ~bucket : bucket;
}

int64_t gt_sketch_value(int32_t bucket)
{
	int32_t at = bucket < 0 ? ~bucket : bucket;
	int shift = at >= 2 * PARTS ? at / PARTS - 1 : 0;
	int64_t low = (int64_t)(at - shift * PARTS) << shift;
	int64_t value = low + (((int64_t)1 << shift) - 1) / 2;

	return bucket < 0 ? ~value : value;
}

static size_t power_of(int64_t value)
{
	return value > 1 ? (size_t)(63 - __builtin_clzll((uint64_t)value)) : 0;
}

void gt_dist_powers(const struct gt_dist *dist, uint64_t bins[GT_DIST_POWERS])
{
	const struct gt_sketch *sketch = dist->sketch;

	for (size_t i = 0; i < dist->count; i++)
		bins[power_of(gt_dist_at(dist, i))]++;
	for (size_t i = 0; sketch && i < sketch->buckets.count; i++)
		bins[power_of(gt_sketch_value(sketch->buckets.at[i].at))] +=
			sketch->buckets.at[i].count;
}

/* The value in place @k of the sorted ones. */
static double nth(const struct gt_dist *dist, uint64_t k)
{
	const struct gt_sketch *sketch = dist->sketch;
	int64_t value;
	size_t i = 0;

	if (!sketch)
		return (double)gt_dist_at(dist, k);
	for (; i + 1 < sketch->buckets.count && k >= sketch->buckets.at[i].count; i++)
		k -= sketch->buckets.at[i].count;
	value = gt_sketch_value(sketch->buckets.at[i].at);
	value = value < sketch->sums.min ? sketch->sums.min : value;
	return (double)(value > sketch->sums.max ? sketch->sums.max : value);
}

int64_t gt_dist_middle(struct gt_dist *dist)
{
	uint64_t count = gt_dist_count(dist);

	sort(dist);
	return count ? (int64_t)nth(dist, count / 2) : 0;
}

/* Linear between the values around it: as numpy and Python's statistics (inclusive) have it. */
static double percentile(const struct gt_dist *dist, uint64_t count, int percent)
{
	double at = (double)(count - 1) * percent / 100, low = floor(at);
	double value = nth(dist, (uint64_t)low);

	return at > low ? value + (nth(dist, (uint64_t)low + 1) - value) * (at - low) : value;
}

struct gt_moments gt_dist_moments(struct gt_dist *dist)
{
	struct gt_sums sums = sums_of(dist);
	uint64_t n = sums.count;
	struct gt_moments m = {.count = n, .total = sums.total, .min = sums.min, .max = sums.max};

	if (!n)
		return m;
	sort(dist);
	m.p90 = percentile(dist, n, 90);
	m.p99 = percentile(dist, n, 99);
	m.mean = (double)m.total / (double)n;
	m.median = n % 2 ? nth(dist, n / 2) : (nth(dist, n / 2 - 1) + nth(dist, n / 2)) / 2;
	m.stddev = gt_sums_stddev(&sums);
	return m;
}

/* Appends @count values of a bucket that is none before the last one. */
static bool count_in(struct gt_sketch *sketch, int32_t at, uint64_t count)
{
	struct gt_bucket *last =
		sketch->buckets.count ? &sketch->buckets.at[sketch->buckets.count - 1] : NULL;

	if (last && last->at == at) {
		last->count += count;
		return true;
	}
	return gt_vec_push(&sketch->buckets, ((struct gt_bucket){at, count}));
}

bool gt_dist_limit(struct gt_dist *dist, size_t most)
{
	struct gt_sketch *sketch;
	bool ok = true;

	if (dist->sketch || dist->count <= most)
		return true;
	sketch = calloc(1, sizeof(*sketch));
	if (!sketch)
		return false;
	sort(dist);
	sketch->sums = sums_of(dist);
	for (size_t i = 0; ok && i < dist->count; i++)
		ok = count_in(sketch, gt_sketch_bucket(gt_dist_at(dist, i)), 1);
	drop_values(dist);
	dist->sketch = sketch;
	return ok;
}

static bool merge_sketches(struct gt_sketch *a, const struct gt_sketch *b)
{
	struct gt_sketch both = {.sums = a->sums};
	size_t i = 0, j = 0;
	bool ok = true;

	gt_sums_merge(&both.sums, &b->sums);
	while (ok && (i < a->buckets.count || j < b->buckets.count)) {
		bool first = j == b->buckets.count ||
			     (i < a->buckets.count && a->buckets.at[i].at < b->buckets.at[j].at);
		const struct gt_bucket *next = first ? &a->buckets.at[i++] : &b->buckets.at[j++];

		ok = count_in(&both, next->at, next->count);
	}
	gt_vec_free(&a->buckets);
	*a = both;
	return ok;
}

bool gt_dist_merge(struct gt_dist *dist, struct gt_dist *from, size_t most)
{
	uint64_t count = gt_dist_count(dist) + gt_dist_count(from);

	if (!gt_dist_count(from))
		return true;
	if (dist->sketch || from->sketch || count > most) {
		if (!gt_dist_limit(dist, 0) || !gt_dist_limit(from, 0))
			return false;
		if (dist->sketch)
			return merge_sketches(dist->sketch, from->sketch);
		dist->sketch = from->sketch; /* there was no value yet */
		from->sketch = NULL;
		return true;
	}
	for (size_t i = 0; i < from->count; i++)
		if (!gt_dist_add(dist, gt_dist_at(from, i)))
			return false;
	return true;
}

static void write_values(const struct gt_dist *dist, struct gt_pack *out)
{
	gt_pack_put(out, FORM_VALUES);
	gt_pack_put(out, dist->count);
	for (size_t i = 0; i < dist->count; i++)
		if (i)
			gt_pack_put(out, (uint64_t)gt_dist_at(dist, i) -
						 (uint64_t)gt_dist_at(dist, i - 1));
		else
			gt_pack_put_signed(out, gt_dist_at(dist, i));
}

static void write_buckets(const struct gt_sketch *sketch, struct gt_pack *out)
{
	int32_t before = -LAST_BUCKET - 2;

	gt_pack_put(out, FORM_BUCKETS);
	gt_pack_put(out, sketch->buckets.count);
	for (size_t i = 0; i < sketch->buckets.count; i++) {
		gt_pack_put(out, (uint64_t)(sketch->buckets.at[i].at - before));
		gt_pack_put(out, sketch->buckets.at[i].count);
		before = sketch->buckets.at[i].at;
	}
	gt_pack_put_signed(out, sketch->sums.total);
	gt_pack_put_signed(out, sketch->sums.min);
	gt_pack_put_signed(out, sketch->sums.max);
	for (int i = 0; i < 3; i++)
		gt_pack_put(out, sketch->sums.squares[i]);
}

void gt_dist_write(struct gt_dist *dist, struct gt_pack *out)
{
	sort(dist);
	if (!gt_dist_limit(dist, GT_DIST_MOST_SENT))
		out->failed = true;
	else if (dist->sketch)
		write_buckets(dist->sketch, out);
	else
		write_values(dist, out);
}

static int read_values(struct gt_pack_in *in, struct gt_dist *ret_dist)
{
	size_t count = gt_pack_take_count(in);
	int64_t value = 0;

	if (count > GT_DIST_MOST_SENT)
		in->bad = true;
	for (size_t i = 0; !in->bad && i < count; i++) {
		if (!i)
			value = gt_pack_take_signed(in);
		else if (__builtin_add_overflow(value, gt_pack_take(in), &value))
			in->bad = true;
		if (!in->bad && !gt_dist_add(ret_dist, value))
			return -ENOMEM;
	}
	return in->bad ? -EBADMSG : 0;
}

static int read_counts(struct gt_pack_in *in, struct gt_sketch *sketch)
{
	size_t count = gt_pack_take_count(in);
	int32_t at = -LAST_BUCKET - 2;

	for (size_t i = 0; !in->bad && i < count; i++) {
		uint64_t step = gt_pack_take_most(in, (uint64_t)(LAST_BUCKET - at));
		uint64_t here = gt_pack_take(in);

		at += (int32_t)step;
		if (!step || !here ||
		    __builtin_add_overflow(sketch->sums.count, here, &sketch->sums.count))
			in->bad = true;
		else if (!gt_vec_push(&sketch->buckets, ((struct gt_bucket){at, here})))
			return -ENOMEM;
	}
	return in->bad ? -EBADMSG : 0;
}

static int read_buckets(struct gt_pack_in *in, struct gt_dist *ret_dist)
{
	struct gt_sketch *sketch = ret_dist->sketch = calloc(1, sizeof(*sketch));
	int rc = sketch ? read_counts(in, sketch) : -ENOMEM;

	if (rc)
		return rc;
	sketch->sums.total = gt_pack_take_signed(in);
	sketch->sums.min = gt_pack_take_signed(in);
	sketch->sums.max = gt_pack_take_signed(in);
	for (int i = 0; i < 3; i++)
		sketch->sums.squares[i] = gt_pack_take(in);
	if (in->bad || sketch->sums.count <= GT_DIST_MOST_SENT ||
	    sketch->sums.min > sketch->sums.max ||
	    gt_sketch_bucket(sketch->sums.min) != sketch->buckets.at[0].at ||
	    gt_sketch_bucket(sketch->sums.max) != sketch->buckets.at[sketch->buckets.count - 1].at)
		in->bad = true;
	return in->bad ? -EBADMSG : 0;
}

int gt_dist_read(struct gt_pack_in *in, struct gt_dist *ret_dist)
{
	uint64_t form = gt_pack_take_most(in, FORM_BUCKETS);
	int rc = form == FORM_BUCKETS ? read_buckets(in, ret_dist) : read_values(in, ret_dist);

	if (rc)
		gt_dist_fini(ret_dist);
	return rc;
}
