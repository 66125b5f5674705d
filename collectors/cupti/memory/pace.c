/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A size is at most twice or half of the previous one, as one short measurement
 * says little. One long measurement may go down to the least size.
 */
#include "collectors/cupti/memory/pace.h"

#define FILL_NS     250000000u /* intended time to fill a buffer */
#define LEAST_NS    10000000u  /* a shorter time does not show the rate */
#define LONG_NS     (2u * FILL_NS)
#define FIRST_BYTES (16u * 1024u)
#define LEAST_BYTES (8u * 1024u)

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

void gt_cupti_pace_note(struct gt_cupti_pace *pace, size_t valid, uint64_t took)
{
	size_t bytes = atomic_load_explicit(&pace->bytes, memory_order_relaxed);
	double wanted = (double)valid * FILL_NS / (double)(took > LEAST_NS ? took : LEAST_NS);

	if (!valid) /* another thread's buffer was used instead */
		return;
	if (wanted >= (double)bytes * 2)
		bytes = smaller(bytes * 2, pace->most);
	else if (wanted <= (double)bytes / 2)
		bytes = smaller(took > LONG_NS ? step_below(wanted, pace->least) : bytes / 2,
				bytes);
	if (bytes < pace->least)
		bytes = pace->least;
	atomic_store_explicit(&pace->bytes, bytes, memory_order_relaxed);
}
