/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks of GPU slices: their numbers, and that no two slices of a track ever overlap partly.
 */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "core/tracks.h"

static struct gt_track get(struct gt_tracks *tracks, enum gt_track_kind kind, uint32_t context,
			   uint32_t stream, uint64_t start, uint64_t end)
{
	struct gt_track_request request = {
		.kind = kind, .context = context, .stream = stream, .start = start, .end = end};
	struct gt_track track;

	gt_tracks_get(tracks, &request, &track);
	return track;
}

static uint32_t work(struct gt_tracks *tracks, uint32_t context, uint32_t stream, uint64_t start,
		     uint64_t end)
{
	return get(tracks, GT_TRACK_WORK, context, stream, start, end).tid;
}

Test(tracks, stream_id_where_free)
{
	struct gt_tracks *tracks = gt_tracks_new();

	cr_assert_eq(work(tracks, 1, 7, 0, 10), 7);
	cr_assert_eq(work(tracks, 1, 7, 10, 20), 7, "touching slices share a track");
	cr_assert_eq(work(tracks, 1, 7, 20, 20), 7, "so does an empty one at an end");
	cr_assert_eq(work(tracks, 1, 20, 0, 10), 20);
	gt_tracks_free(tracks);
}

Test(tracks, overlap_and_nesting_take_further_tracks)
{
	struct gt_tracks *tracks = gt_tracks_new();

	cr_assert_eq(work(tracks, 1, 7, 0, 10), 7);
	cr_assert_eq(work(tracks, 1, 7, 5, 15), 2000007);
	cr_assert_eq(work(tracks, 1, 7, 6, 8), 3000007, "inside another is not beside it");
	cr_assert_eq(work(tracks, 1, 7, 9, 9), 3000007);
	cr_assert_eq(work(tracks, 1, 7, 10, 12), 7);
	cr_assert_eq(work(tracks, 1, 7, 1, 2), 2000007, "late, inside the first");
	gt_tracks_free(tracks);
}

static uint32_t wait(struct gt_tracks *tracks, uint64_t start, uint64_t end)
{
	return get(tracks, GT_TRACK_SYNC, 1, 7, start, end).tid;
}

Test(tracks, late_slices_go_where_they_fit)
{
	struct gt_tracks *tracks = gt_tracks_new();

	cr_assert_eq(work(tracks, 1, 7, 100, 200), 7);
	cr_assert_eq(work(tracks, 1, 7, 300, 400), 7);
	cr_assert_eq(work(tracks, 1, 7, 10, 20), 7, "before all");
	cr_assert_eq(work(tracks, 1, 7, 200, 300), 7, "it fills the gap");
	cr_assert_eq(work(tracks, 1, 7, 20, 101), 2000007, "by a ns too long");
	cr_assert_eq(work(tracks, 1, 7, 99, 101), 3000007);
	cr_assert_eq(work(tracks, 1, 7, 20, 100), 7);
	cr_assert_eq(work(tracks, 1, 7, 200, 200), 2000007, "an empty one begins with another");
	cr_assert_eq(work(tracks, 1, 7, 150, 150), 2000007);
	cr_assert_eq(work(tracks, 1, 7, 400, 500), 7);
	cr_assert_eq(wait(tracks, 100, 200), 1000007);
	cr_assert_eq(wait(tracks, 110, 120), 1000007);
	cr_assert_eq(wait(tracks, 300, 400), 1000007);
	cr_assert_eq(wait(tracks, 200, 300), 1000007);
	cr_assert_eq(wait(tracks, 310, 320), 1000007, "what is open stays open");
	cr_assert_eq(wait(tracks, 130, 140), 48000007, "what is in there is not known any more");
	gt_tracks_free(tracks);
}

Test(tracks, ends_before_their_starts_are_empty)
{
	struct gt_tracks *tracks = gt_tracks_new();

	cr_assert_eq(work(tracks, 1, 7, 100, 50), 7);
	cr_assert_eq(work(tracks, 1, 7, 40, 101), 2000007);
	cr_assert_eq(work(tracks, 1, 7, 60, 100), 7);
	cr_assert_eq(work(tracks, 1, 7, 80, 10), 3000007);
	cr_assert_eq(work(tracks, 1, 7, 100, 200), 3000007);
	cr_assert_eq(work(tracks, 1, 7, 101, 200), 7);
	gt_tracks_free(tracks);
}

Test(tracks, what_is_refused_closes_nothing)
{
	struct gt_tracks *tracks = gt_tracks_new();

	cr_assert_eq(wait(tracks, 0, 100), 1000007);
	cr_assert_eq(wait(tracks, 10, 20), 1000007);
	cr_assert_eq(wait(tracks, 30, 150), 48000007);
	cr_assert_eq(wait(tracks, 15, 25), 48000007, "it cuts the second one");
	gt_tracks_free(tracks);
}

/* One thread's work, and that of another in between, which comes @late slices later. */
static void check_late(uint64_t late, uint64_t count, uint64_t batch)
{
	struct gt_tracks *tracks = gt_tracks_new();
	uint64_t next = 0;

	for (uint64_t i = 0; i < count; i++) {
		cr_assert_eq(work(tracks, 1, 7, i * 1000, i * 1000 + 400), 7);
		if (i < late || i % batch)
			continue;
		for (; next <= i - late; next++)
			cr_assert_eq(work(tracks, 1, 7, next * 1000 + 400, next * 1000 + 1000), 7,
				     "%lu of %lu", next, i);
	}
	gt_tracks_free(tracks);
}

Test(tracks, work_of_a_stream_keeps_to_its_track_however_late)
{
	check_late(0, 100000, 1);
	check_late(1, 100000, 1);
	check_late(100, 100000, 7);
	check_late(3000, 100000, 500);
	check_late(10000, 100000, 4000);
}

Test(tracks, what_is_forgotten_is_occupied)
{
	struct gt_tracks *tracks = gt_tracks_new();

	for (uint64_t i = 0; i < 100000; i++)
		work(tracks, 1, 7, i * 1000, i * 1000 + 400);
	cr_assert_eq(work(tracks, 1, 7, 500, 600), 2000007);
	cr_assert_eq(work(tracks, 1, 7, 99000500, 99000600), 7);
	cr_assert_eq(work(tracks, 1, 7, 80000500, 80000600), 7);
	gt_tracks_free(tracks);
}

Test(tracks, streams_at_rest_give_back_what_they_remember_with)
{
	struct gt_tracks *tracks = gt_tracks_new();
	uint64_t at = 1000;

	for (uint32_t stream = 1; stream <= 40; stream++, at += 3000000000)
		for (uint64_t i = 0; i < 40000; i++)
			cr_assert_eq(work(tracks, 1, stream, at + i * 1000, at + i * 1000 + 400),
				     stream);
	cr_assert_eq(work(tracks, 1, 99, at, at + 400), 99);
	cr_assert_eq(work(tracks, 1, 99, at + 1000, at + 1400), 99);
	cr_assert_eq(work(tracks, 1, 99, at + 500, at + 600), 99, "late");
	gt_tracks_free(tracks);
}

Test(tracks, same_stream_id_in_two_contexts)
{
	struct gt_tracks *tracks = gt_tracks_new();
	struct gt_track track;

	cr_assert_eq(work(tracks, 2, 7, 0, 10), 7, "the first context owns the id");
	track = get(tracks, GT_TRACK_WORK, 1, 7, 0, 10);
	cr_assert_eq(track.tid, 64000007);
	cr_assert(track.foreign && track.fresh && track.k == 0);
	cr_assert_eq(work(tracks, 1, 7, 5, 10), 66000007);
	cr_assert_eq(work(tracks, 1, 8, 5, 10), 8, "which is another stream");
	gt_tracks_free(tracks);
}

Test(tracks, kinds_do_not_meet)
{
	struct gt_tracks *tracks = gt_tracks_new();

	cr_assert_eq(work(tracks, 1, 7, 0, 10), 7);
	cr_assert_eq(get(tracks, GT_TRACK_SYNC, 1, 7, 0, 10).tid, 1000007);
	cr_assert_eq(get(tracks, GT_TRACK_SYNC, 1, 7, 2, 10).tid, 1000007, "waits may nest");
	cr_assert_eq(get(tracks, GT_TRACK_SYNC, 1, 7, 4, 11).tid, 48000007,
		     "but not overlap partly");
	cr_assert_eq(get(tracks, GT_TRACK_ANNOTATION, 1, 9, 0, 10).tid, 32000009,
		     "no work to be around");
	cr_assert_eq(work(tracks, 1, 0, 0, 10), 31000000, "track 0 would be the main thread");
	gt_tracks_free(tracks);
}

Test(tracks, call_stacks_keep_to_one_track)
{
	struct gt_tracks *tracks = gt_tracks_new();
	struct gt_track first = get(tracks, GT_TRACK_STACK, 0, 4100, 50, 60);

	cr_assert_eq(first.tid, 25165824 + 4100);
	cr_assert(first.fresh);
	cr_assert_eq(get(tracks, GT_TRACK_STACK, 0, 4100, 0, 100).tid, first.tid,
		     "outer ones come late");
	cr_assert_not(get(tracks, GT_TRACK_STACK, 0, 4100, 70, 80).fresh);
	cr_assert_eq(get(tracks, GT_TRACK_RANGE, 0, 4100, 0, 10).tid, 16777216 + 4100);
	gt_tracks_free(tracks);
}

Test(tracks, numbers_beyond_the_blocks_are_never_used_twice)
{
	struct gt_tracks *tracks = gt_tracks_new();

	cr_assert_eq(work(tracks, 1, 5000000, 0, 10), GT_TRACK_OVERFLOW);
	cr_assert_eq(work(tracks, 1, 5000000, 10, 20), GT_TRACK_OVERFLOW);
	cr_assert_eq(work(tracks, 1, 5000001, 0, 10), GT_TRACK_OVERFLOW + 1);
	cr_assert_eq(work(tracks, 1, 7, 0, 10), 7);
	cr_assert_eq(work(tracks, 90, 7, 0, 10), GT_TRACK_OVERFLOW + 2);
	for (uint32_t i = 0; i < 200; i++)
		work(tracks, 1, 9, 100, 200);
	cr_assert_geq(work(tracks, 1, 9, 100, 200), GT_TRACK_OVERFLOW + 3 + 150);
	gt_tracks_free(tracks);
}

static uint32_t shadow(struct gt_tracks *tracks, uint64_t start, uint64_t end)
{
	return get(tracks, GT_TRACK_ANNOTATION, 1, 7, start, end).tid;
}

Test(tracks, shadows_are_around_their_work)
{
	struct gt_tracks *tracks = gt_tracks_new();
	struct gt_track track;

	work(tracks, 1, 7, 100, 200);
	work(tracks, 1, 7, 1000, 1100);
	work(tracks, 1, 7, 1110, 1200);
	track = get(tracks, GT_TRACK_ANNOTATION, 1, 7, 100, 201);
	cr_assert_eq(track.tid, 7);
	cr_assert_eq(track.kind, GT_TRACK_WORK, "it is named after the work");
	cr_assert_not(track.fresh);
	cr_assert_eq(shadow(tracks, 100, 202), 7, "the next one outwards");
	cr_assert_eq(shadow(tracks, 100, 202), 32000007, "which of them is outside?");
	cr_assert_eq(shadow(tracks, 1000, 1101), 7, "it ends in a gap of 10 ns");
	cr_assert_eq(shadow(tracks, 1000, 1200), 7);
	cr_assert_eq(shadow(tracks, 100, 1200), 7, "around both");
	cr_assert_eq(shadow(tracks, 1110, 1200), 32000007,
		     "what is inside it is not known any more");
	cr_assert_eq(work(tracks, 1, 7, 1150, 1190), 2000007, "late");
	cr_assert_eq(work(tracks, 1, 7, 1200, 1300), 7);
	gt_tracks_free(tracks);
}

Test(tracks, shadows_that_do_not_nest_are_beside)
{
	struct gt_tracks *tracks = gt_tracks_new();

	work(tracks, 1, 7, 100, 200);
	work(tracks, 1, 7, 200, 300);
	cr_assert_eq(work(tracks, 1, 7, 250, 400), 2000007);
	work(tracks, 1, 7, 500, 600);
	cr_assert_eq(shadow(tracks, 100, 201), 32000007, "the next kernel begins before its end");
	cr_assert_eq(shadow(tracks, 100, 200), 7);
	cr_assert_eq(shadow(tracks, 250, 401), 32000007, "its kernel is on another track");
	cr_assert_eq(shadow(tracks, 200, 400), 33000007, "so is the one that it ends with");
	cr_assert_eq(shadow(tracks, 200, 601), 7);
	cr_assert_eq(get(tracks, GT_TRACK_ANNOTATION, 2, 7, 100, 200).tid, 160000007,
		     "of another context");
	gt_tracks_free(tracks);
}

Test(tracks, late_work_inside_shadows)
{
	struct gt_tracks *tracks = gt_tracks_new();

	work(tracks, 1, 7, 100, 200);
	work(tracks, 1, 7, 300, 400);
	work(tracks, 1, 7, 600, 700);
	cr_assert_eq(shadow(tracks, 100, 401), 7);
	cr_assert_eq(shadow(tracks, 100, 700), 7);
	cr_assert_eq(work(tracks, 1, 7, 200, 300), 7, "inside both");
	cr_assert_eq(work(tracks, 1, 7, 401, 500), 7, "inside the outer one");
	cr_assert_eq(work(tracks, 1, 7, 400, 401), 7, "inside the inner one");
	cr_assert_eq(work(tracks, 1, 7, 90, 100), 7, "before");
	work(tracks, 1, 7, 800, 900);
	cr_assert_eq(shadow(tracks, 800, 930), 7);
	cr_assert_eq(work(tracks, 1, 7, 920, 1000), 2000007, "a shadow ends in it");
	cr_assert_eq(work(tracks, 1, 7, 930, 1000), 7);
	gt_tracks_free(tracks);
}

Test(tracks, shadows_around_late_work)
{
	struct gt_tracks *tracks = gt_tracks_new();

	work(tracks, 1, 7, 100, 200);
	work(tracks, 1, 7, 900, 1000);
	work(tracks, 1, 7, 210, 400);
	work(tracks, 1, 7, 700, 880);
	cr_assert_eq(shadow(tracks, 100, 211), 32000007, "late work begins before its end");
	cr_assert_eq(shadow(tracks, 700, 901), 32000007, "the work behind late work does");
	cr_assert_eq(shadow(tracks, 100, 210), 7);
	cr_assert_eq(shadow(tracks, 700, 900), 7);
	cr_assert_eq(shadow(tracks, 100, 1000), 7);
	gt_tracks_free(tracks);
}

Test(tracks, late_work_beside_recalled_work)
{
	struct gt_track_request request = {
		.kind = GT_TRACK_WORK, .context = 1, .stream = 7, .start = 100, .end = 200};
	struct gt_tracks *tracks = gt_tracks_new();
	struct gt_track track;

	gt_tracks_recall(tracks, &request, 7, &track);
	request.start = 300;
	request.end = 400;
	gt_tracks_recall(tracks, &request, 7, &track);
	request.start = 250;
	request.end = 350;
	gt_tracks_recall(tracks, &request, 2000007, &track);
	cr_assert_eq(track.k, 1);
	cr_assert_eq(work(tracks, 1, 7, 200, 300), 7, "late");
	cr_assert_eq(work(tracks, 1, 7, 200, 251), 3000007);
	cr_assert_eq(work(tracks, 1, 7, 150, 250), 2000007);
	request.start = 380;
	request.end = 450;
	gt_tracks_recall(tracks, &request, 7, &track);
	cr_assert_eq(work(tracks, 1, 7, 20, 30), 2000007, "a track that was wrong already");
	cr_assert_eq(work(tracks, 1, 7, 450, 500), 7);
	gt_tracks_free(tracks);
}

Test(tracks, shadows_beside_recalled_work)
{
	struct gt_track_request request = {
		.kind = GT_TRACK_WORK, .context = 1, .stream = 7, .start = 100, .end = 200};
	struct gt_tracks *tracks = gt_tracks_new();
	struct gt_track track;

	gt_tracks_recall(tracks, &request, 7, &track);
	request.kind = GT_TRACK_ANNOTATION;
	gt_tracks_recall(tracks, &request, 7, &track);
	cr_assert_eq(track.tid, 7);
	cr_assert_eq(track.kind, GT_TRACK_WORK);
	cr_assert_eq(work(tracks, 1, 7, 300, 400), 7);
	cr_assert_eq(shadow(tracks, 100, 401), 32000007, "what it is around is not known");
	cr_assert_eq(shadow(tracks, 300, 401), 7);
	gt_tracks_free(tracks);
}

Test(tracks, more_shadows_than_are_remembered)
{
	struct gt_tracks *tracks = gt_tracks_new();

	for (uint64_t i = 1; i <= 5000; i++)
		work(tracks, 1, 7, i * 1000, i * 1000 + 100);
	for (uint64_t i = 1; i <= 5000; i++)
		cr_assert_eq(shadow(tracks, i * 1000, i * 1000 + 101), 7);
	cr_assert_eq(shadow(tracks, 1000, 5000101), 32000007, "around more than is known");
	cr_assert_eq(shadow(tracks, 4000000, 5000101), 7);
	gt_tracks_free(tracks);
}

struct slice {
	uint32_t kind, device, tid;
	uint64_t start, end;
};

static int by_row(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? 1 : -1;
}

/* No partial overlap for any requests in any order. */
static void check_random(uint64_t seed, uint64_t spread, uint64_t grain, size_t count)
{
	struct gt_tracks *tracks = gt_tracks_new();
	struct slice *slices = calloc(count, sizeof(*slices));

	for (size_t i = 0; i < count; i++) {
		struct gt_track_request request;
		struct gt_track track;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		request.kind = (seed >> 60) % 2;
		request.device = (seed >> 58) % 2;
		request.context = (seed >> 54) % 3;
		request.stream = (seed >> 50) % 5;
		request.start = (i * 10 + (seed >> 20) % spread) / grain * grain;
		request.end = request.start + (seed >> 40) % 50 / grain * grain;
		gt_tracks_get(tracks, &request, &track);
		slices[i] = (struct slice){request.kind, request.device, track.tid, request.start,
					   request.end};
	}
	qsort(slices, count, sizeof(*slices), by_row);
	for (size_t i = 1; i < count; i++) {
		const struct slice *a = &slices[i - 1], *b = &slices[i];

		if (a->device != b->device || a->tid != b->tid)
			continue;
		cr_assert_eq(a->kind, b->kind, "track %u holds two kinds", a->tid);
		if (a->kind == GT_TRACK_WORK)
			cr_assert_leq(a->end, b->start, "track %u", a->tid);
		else
			cr_assert(a->end <= b->start || a->end >= b->end, "track %u", a->tid);
	}
	free(slices);
	gt_tracks_free(tracks);
}

Test(tracks, no_partial_overlap_whatever_comes)
{
	check_random(1, 1, 1, 20000);
	check_random(2, 40, 1, 20000);
	check_random(3, 4000, 1, 20000);
	check_random(4, 4000, 20, 20000);
	check_random(5, 1000000, 1, 20000);
	check_random(6, 1000000, 25, 20000);
}

#define STREAM_WORK 4000

static uint64_t any(uint64_t *seed, uint64_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % below;
}

static void put(struct gt_tracks *tracks, struct slice *slice)
{
	slice->tid = get(tracks, slice->kind, 1, 7, slice->start, slice->end).tid;
}

/* Partly overlapping slices of a track; *ret_joined: shadows on the track of their work. */
static size_t count_crossings(struct slice *slices, size_t count, size_t *ret_joined)
{
	size_t crossings = 0;

	*ret_joined = 0;
	for (size_t i = 0; i < count; i++) {
		*ret_joined += slices[i].kind == GT_TRACK_ANNOTATION && slices[i].tid == 7;
		for (size_t j = 0; j < count; j++)
			crossings += slices[i].tid == slices[j].tid &&
				     slices[i].start < slices[j].start &&
				     slices[j].start < slices[i].end &&
				     slices[i].end < slices[j].end;
	}
	return crossings;
}

/* Work of a stream, of which one in @overlaps begins before the last one ends, with shadows that
 * begin and end with some of it, and may end a few ns late. */
static size_t joined(uint64_t seed, uint64_t overlaps, uint64_t gap)
{
	static struct slice slices[2 * STREAM_WORK];
	struct gt_tracks *tracks = gt_tracks_new();
	size_t count = 0, work_count = 0, joined_count;
	uint64_t at = 1000;

	for (uint64_t i = 0; i < STREAM_WORK; i++) {
		uint64_t early = any(&seed, overlaps) ? 0 : any(&seed, 60);

		slices[i] = (struct slice){.kind = GT_TRACK_WORK,
					   .start = at - early,
					   .end = at + 1 + any(&seed, 100)};
		at = slices[i].end + any(&seed, gap);
	}
	for (work_count = 1; work_count <= STREAM_WORK; work_count++) {
		put(tracks, &slices[work_count - 1]);
		if (any(&seed, 3))
			continue;
		struct slice *around = &slices[STREAM_WORK + count++];
		uint64_t back = any(&seed, any(&seed, 4) ? 3 : 300);
		size_t last = work_count - 1 - any(&seed, 2) * (work_count > 1);
		size_t first = last > back ? last - back : 0;

		*around = (struct slice){.kind = GT_TRACK_ANNOTATION,
					 .start = slices[first].start,
					 .end = slices[last].end + any(&seed, 4)};
		if (around->end < around->start)
			around->end = around->start;
		put(tracks, around);
	}
	cr_assert_eq(count_crossings(slices, STREAM_WORK + count, &joined_count), 0, "seed %lu",
		     seed);
	gt_tracks_free(tracks);
	return joined_count;
}

Test(tracks, shadows_never_cut_work)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		cr_assert_gt(joined(seed, UINT32_MAX, 1000), 300);
		cr_assert_gt(joined(seed, 20, 1000), 300);
		cr_assert_gt(joined(seed, 20, 3), 30);
		cr_assert_gt(joined(seed, 2, 2), 3);
	}
}

Test(tracks, more_streams_than_are_kept)
{
	struct gt_tracks *tracks = gt_tracks_new();
	uint32_t last = 0;

	for (uint32_t stream = 1; stream < 150000; stream++)
		last = work(tracks, 1, stream, 0, 10);
	cr_assert_geq(last, GT_TRACK_OVERFLOW);
	cr_assert_eq(work(tracks, 1, 5, 10, 20), 5, "those that came first keep theirs");
	gt_tracks_free(tracks);
}
