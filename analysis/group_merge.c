/* SPDX-License-Identifier: Apache-2.0
 *
 * See group_merge.h.
 */
#include "analysis/group_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Changes with every change of what is written. */
#define ANSWER "gputrace answer 1"

static struct gt_dist *dist_of(struct gt_group *group, int i)
{
	return i ? &group->other[i - 1] : &group->value;
}

static void write_group(const struct gt_groups *groups, struct gt_group *group,
			const enum gt_tag_join joins[GT_GROUP_TAGS], struct gt_pack *out)
{
	const char *name = gt_group_name(groups, group);
	const char *label = gt_names_get(&groups->names, group->label);

	gt_pack_put_text(out, name, strlen(name));
	gt_pack_put_text(out, label, strlen(label));
	gt_pack_put(out, group->trace);
	gt_pack_put(out, group->place);
	for (int t = 0; t < GT_GROUP_TAGS; t++)
		if (joins[t] != GT_TAG_DROP)
			gt_pack_put_signed(out, group->tag[t]);
	for (int d = 0; d < GT_GROUP_DISTS; d++)
		gt_dist_write(dist_of(group, d), out);
}

void gt_groups_write(struct gt_groups *groups, const enum gt_tag_join joins[GT_GROUP_TAGS],
		     struct gt_pack *out)
{
	gt_pack_put(out, groups->list.count);
	for (size_t i = 0; !out->failed && i < groups->list.count; i++)
		write_group(groups, &groups->list.at[i], joins, out);
}

static bool is_before(const struct gt_group *a, const struct gt_group *b)
{
	return a->trace != b->trace ? a->trace < b->trace : a->place < b->place;
}

static int64_t join(enum gt_tag_join how, int64_t a, int64_t b, bool b_is_first)
{
	switch (how) {
	case GT_TAG_SUM:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case GT_TAG_OR:
		return a | b;
	case GT_TAG_MAX:
		return a > b ? a : b;
	default:
		return b_is_first ? b : a;
	}
}

/* The group @from, which has no values yet, with the one of its name; @is_new: there was none. */
static void join_groups(struct gt_group *group, const struct gt_group *from, bool is_new,
			const enum gt_tag_join joins[GT_GROUP_TAGS])
{
	bool is_first = is_new || is_before(from, group);

	for (int t = 0; t < GT_GROUP_TAGS; t++)
		group->tag[t] = is_new ? from->tag[t]
				       : join(joins[t], group->tag[t], from->tag[t], is_first);
	if (!is_first)
		return;
	group->label = from->label;
	group->trace = from->trace;
	group->place = from->place;
}

static int read_dists(struct gt_group *group, struct gt_pack_in *in)
{
	int rc = 0;

	for (int d = 0; !rc && d < GT_GROUP_DISTS; d++) {
		struct gt_dist from = {0};

		rc = gt_dist_read(in, &from);
		if (!rc && !gt_dist_merge(dist_of(group, d), &from, GT_DIST_MOST_SENT))
			rc = -ENOMEM;
		gt_dist_fini(&from);
	}
	return rc;
}

static int read_group(struct gt_groups *groups, const enum gt_tag_join joins[GT_GROUP_TAGS],
		      struct gt_pack_in *in)
{
	struct gt_group from = {0}, *group;
	size_t length, label_length, before = groups->list.count;
	const char *name = gt_pack_take_text(in, &length);
	const char *label = gt_pack_take_text(in, &label_length);

	from.trace = gt_pack_take(in);
	from.place = (uint32_t)gt_pack_take_most(in, UINT32_MAX);
	for (int t = 0; t < GT_GROUP_TAGS; t++)
		if (joins[t] != GT_TAG_DROP)
			from.tag[t] = gt_pack_take_signed(in);
	if (in->bad)
		return -EBADMSG;
	from.label =
		label_length ? gt_names_put(&groups->names, label, label_length) : GT_NAME_NONE;
	group = gt_groups_get_text(groups, name, length);
	if (!group || (label_length && from.label == GT_NAME_NONE))
		return -ENOMEM;
	join_groups(group, &from, groups->list.count > before, joins);
	return read_dists(group, in);
}

int gt_groups_merge(struct gt_groups *groups, const enum gt_tag_join joins[GT_GROUP_TAGS],
		    struct gt_pack_in *in)
{
	size_t count = gt_pack_take_count(in);
	int rc = in->bad ? -EBADMSG : 0;

	for (size_t i = 0; !rc && i < count; i++)
		rc = read_group(groups, joins, in);
	return rc;
}

static int by_sight(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : is_before(b, a);
}

bool gt_groups_settle(struct gt_groups *groups)
{
	if (groups->list.count)
		qsort(groups->list.at, groups->list.count, sizeof(*groups->list.at), by_sight);
	for (size_t i = 0; i < groups->list.count; i++) {
		groups->index[groups->list.at[i].name] = (uint32_t)i + 1;
		for (int d = 0; d < GT_GROUP_DISTS; d++)
			if (!gt_dist_limit(dist_of(&groups->list.at[i], d), GT_DIST_MOST_SENT))
				return false;
	}
	return true;
}

void gt_group_sets_write(struct gt_group_set *sets, size_t count, struct gt_pack *out)
{
	gt_pack_put_text(out, ANSWER, strlen(ANSWER));
	gt_pack_put(out, count);
	for (size_t i = 0; i < count; i++)
		gt_pack_put_text(out, sets[i].name, strlen(sets[i].name));
	for (size_t i = 0; i < count; i++)
		gt_groups_write(&sets[i].groups, sets[i].joins, out);
}

static bool is_next(struct gt_pack_in *in, const char *text)
{
	size_t length;
	const char *next = gt_pack_take_text(in, &length);

	return length == strlen(text) && !memcmp(next, text, length);
}

int gt_group_sets_merge(struct gt_group_set *sets, size_t count, const void *bytes, size_t size)
{
	struct gt_pack_in in = {bytes, (const uint8_t *)bytes + size, false};
	bool same = is_next(&in, ANSWER) && gt_pack_take(&in) == count;
	int rc = 0;

	for (size_t i = 0; same && i < count; i++)
		same = is_next(&in, sets[i].name);
	if (!same)
		return in.bad ? -EBADMSG : -EPROTO;
	for (size_t i = 0; !rc && i < count; i++)
		rc = gt_groups_merge(&sets[i].groups, sets[i].joins, &in);
	return rc || in.at == in.end ? rc : -EBADMSG;
}
