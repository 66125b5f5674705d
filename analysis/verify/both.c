/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of whole lists: those of tracks and those of ids have no list in common, and of a
 * large file each takes a while, so they run at once where there is another thread to have.
 */
#include <pthread.h>
#include <stdlib.h>

#include "analysis/verify/state.h"

/* Lines of a check: what one thread finds is held until the other one is done. */
#define MOST_LINES 1000

/* What the second thread finds. */
struct verify_links {
	struct gt_verify v;
	struct gt_verify_result result;
	char *text;
	size_t size;
};

static void *check_links(void *data)
{
	struct gt_verify *v = data;

	gt_verify_flows(v);
	gt_verify_externals(v);
	return NULL;
}

/* A copy that finds what it finds in a text. False: no memory. */
static bool begin_links(struct verify_links *links, const struct gt_verify *v)
{
	links->v = *v;
	links->v.result = &links->result;
	links->result = *v->result;
	links->v.out = open_memstream(&links->text, &links->size);
	return links->v.out;
}

/* Behind what @v has found, as if it had been found after it. */
static void add_links(struct gt_verify *v, struct verify_links *links,
		      const struct gt_verify_result *before)
{
	fclose(links->v.out);
	if (links->text)
		fwrite(links->text, 1, links->size, v->out);
	v->result->findings += links->result.findings - before->findings;
	for (int check = 0; check < GT_CHECK_COUNT_; check++)
		v->result->count[check] += links->result.count[check] - before->count[check];
	for (int list = 0; list < GT_VERIFY_LISTS; list++)
		if (list != GT_VERIFY_BY_TRACK)
			v->lists[list] = links->v.lists[list];
}

void gt_verify_lists(struct gt_verify *v)
{
	const struct gt_verify_result before = *v->result;
	struct verify_links links = {.text = NULL};
	bool is_apart = v->options->lines_per_check <= MOST_LINES && begin_links(&links, v);
	pthread_t thread;
	bool runs = is_apart && !pthread_create(&thread, NULL, check_links, &links.v);

	gt_verify_tracks(v);
	if (runs)
		pthread_join(thread, NULL);
	else
		check_links(is_apart ? &links.v : v);
	if (is_apart)
		add_links(v, &links, &before);
	free(links.text);
}
