/* SPDX-License-Identifier: Apache-2.0
 *
 * See share.h. One thread per set.
 */
#include "analysis/share.h"

#include <errno.h>
#include <stdlib.h>

/* Of both; the place's base, and of a base the time of places that were handed out; what the last
 * span of a base is a part of; time of both. */
enum { TAG_SAMPLES, TAG_BASE, TAG_WHOLE, TAG_TIME };
#define TAG_GIVEN TAG_BASE

int gt_shares_init(struct gt_shares *shares)
{
	int rc = gt_groups_init(&shares->bases);

	return rc ? rc : gt_groups_init(&shares->places);
}

void gt_shares_fini(struct gt_shares *shares)
{
	gt_groups_fini(&shares->bases);
	gt_groups_fini(&shares->places);
}

int gt_shares_span(struct gt_shares *shares, const char *base, int64_t whole, int64_t ns)
{
	struct gt_group *group = gt_groups_get(&shares->bases, base);

	return group ? gt_shares_span_of(shares, (size_t)(group - shares->bases.list.at), whole, ns)
		     : -ENOMEM;
}

int gt_shares_span_of(struct gt_shares *shares, size_t base, int64_t whole, int64_t ns)
{
	struct gt_group *group = &shares->bases.list.at[base];

	if (group->value.count && group->tag[TAG_WHOLE] == whole)
		return gt_dist_extend(&group->value, ns) ? 0 : -ENOMEM;
	group->tag[TAG_WHOLE] = whole;
	return gt_dist_add(&group->value, ns) ? 0 : -ENOMEM;
}

int gt_shares_sample(struct gt_shares *shares, const char *base, const char *place, int64_t ns)
{
	struct gt_group *group = gt_groups_get(&shares->bases, base);

	if (!group)
		return -ENOMEM;
	ns = ns > 0 ? ns : 1; /* several at one time */
	group->tag[TAG_SAMPLES]++;
	group->tag[TAG_TIME] += ns;
	group = gt_pair_get(&shares->places, base, place);
	if (!group)
		return -ENOMEM;
	group->tag[TAG_SAMPLES]++;
	group->tag[TAG_TIME] += ns;
	return 0;
}

static struct gt_share share_of(const struct gt_shares *shares, size_t base,
				const struct gt_moments *spans)
{
	const struct gt_group *group = &shares->bases.list.at[base];

	return (struct gt_share){.base = gt_group_name(&shares->bases, group),
				 .spans = spans[base],
				 .ns = spans[base].total};
}

/* What rounding leaves goes to the last place. */
static int64_t part_of(struct gt_group *base, int64_t total, int64_t ns)
{
	int64_t before = base->tag[TAG_GIVEN];
	double of = base->tag[TAG_TIME] > 0 ? (double)base->tag[TAG_TIME] : 1;

	base->tag[TAG_GIVEN] += ns;
	return (int64_t)((double)total * ((double)base->tag[TAG_GIVEN] / of)) -
	       (int64_t)((double)total * ((double)before / of));
}

static int each_base(struct gt_shares *shares, struct gt_moments *ret_spans, gt_share_fn fn,
		     void *data)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < shares->bases.list.count; i++) {
		struct gt_group *base = &shares->bases.list.at[i];
		struct gt_share share;

		base->tag[TAG_GIVEN] = 0;
		ret_spans[i] = gt_dist_moments(&base->value);
		share = share_of(shares, i, ret_spans);
		if (!base->tag[TAG_SAMPLES])
			rc = fn(&share, data);
	}
	return rc;
}

static int each_place(struct gt_shares *shares, const struct gt_moments *spans, gt_share_fn fn,
		      void *data)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < shares->places.list.count; i++) {
		const struct gt_group *place = &shares->places.list.at[i];
		size_t base = (size_t)place->tag[TAG_BASE];
		struct gt_share share = share_of(shares, base, spans);

		share.place = gt_pair_second(gt_group_name(&shares->places, place));
		share.samples = place->tag[TAG_SAMPLES];
		share.ns = part_of(&shares->bases.list.at[base], share.spans.total,
				   place->tag[TAG_TIME]);
		rc = fn(&share, data);
	}
	return rc;
}

/* Which base each place is of. */
static int find_bases(struct gt_shares *shares)
{
	for (size_t i = 0; i < shares->places.list.count; i++) {
		struct gt_group *place = &shares->places.list.at[i];
		struct gt_group *base =
			gt_pair_first(&shares->bases, gt_group_name(&shares->places, place));

		if (!base)
			return -ENOMEM;
		place->tag[TAG_BASE] = base - shares->bases.list.at;
	}
	return 0;
}

int gt_shares_each(struct gt_shares *shares, gt_share_fn fn, void *data)
{
	int rc = find_bases(shares);
	struct gt_moments *spans = calloc(shares->bases.list.count + 1, sizeof(*spans));

	if (!spans)
		rc = -ENOMEM;
	if (!rc)
		rc = each_base(shares, spans, fn, data);
	if (!rc)
		rc = each_place(shares, spans, fn, data);
	free(spans);
	return rc;
}
