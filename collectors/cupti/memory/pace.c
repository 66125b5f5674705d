/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A size is at most twice or half of the previous one, as one short measurement
 * says little. One long measurement may go down to the least size, and one at a good rate up to
 * the size that CUPTI asks for.
 */
#include "collectors/cupti/memory/pace.h"

#include <stdbool.h>

#define FILL_NS     250000000u /* intended time to fill a buffer */
#define LEAST_NS    10000000u  /* a shorter time does not show the rate */
#define LONG_NS     (2u * FILL_NS)
#define LEAST_BYTES (8u * 1024u)

/* CUPTI's guide asks for 1 to 10 MB: as soon as the rate is worth it. Not at first: while a buffer
 * is kept for work in progress, its records are delayed, and a tool that takes the buffers unseen
 * is noticed only when more launches are unanswered than fit into one. One of the first size shows
 * the rate. */
#define GOOD_BYTES  (1024u * 1024u)
#define FIRST_BYTES (64u * 1024u)

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

void gt_cupti_pace_start(struct gt_cupti_pace *pace, size_t most)
{
	pace->most = most;
	pace->least = smaller(LEAST_BYTES, most);
	atomic_store(&pace->bytes, smaller(FIRST_BYTES, most));
}

/* The largest power of two up to @bytes, but not below @least. */
static size_t step_below(double bytes, size_t least)
{
	size_t step = least;

	while ((double)step * 2 <= bytes)
		step *= 2;
	return step;
}

/* The next size at a rate that fills @wanted in time. */
static size_t larger(size_t bytes, double wanted, size_t most)
{
	bool good = bytes < GOOD_BYTES && wanted >= (double)GOOD_BYTES;

	return smaller(good ? GOOD_BYTES : bytes * 2, most);
}

void gt_cupti_pace_note(struct gt_cupti_pace *pace, size_t valid, uint64_t took)
{
	size_t bytes = atomic_load_explicit(&pace->bytes, memory_order_relaxed);
	double wanted = (double)valid * FILL_NS / (double)(took > LEAST_NS ? took : LEAST_NS);

	if (!valid) /* another thread's buffer was used instead */
		return;
	if (wanted >= (double)bytes * 2)
		bytes = larger(bytes, wanted, pace->most);
	else if (wanted <= (double)bytes / 2)
		bytes = smaller(took > LONG_NS ? step_below(wanted, pace->least) : bytes / 2,
				bytes);
	if (bytes < pace->least)
		bytes = pace->least;
	atomic_store_explicit(&pace->bytes, bytes, memory_order_relaxed);
}
