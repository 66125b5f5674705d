/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX's calls become records: ranges, marks, domains, registered strings, threads, fork.
 */
#include "tests/unit/nvtx_fixture.h" /* first: it has the bodies of the toolkit's headers */

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/nvtx/early.h"
#include "collectors/nvtx/registry.h"
#include "collectors/nvtx/self.h"
#include "collectors/nvtx/text.h"
#include "core/guest/text.h"

Test(nvtx, levels_count_per_domain_and_names_are_copied)
{
	nvtxDomainHandle_t domain;
	char name[] = "outer";
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
					    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					    .messageType = NVTX_MESSAGE_TYPE_ASCII};

	start_session(1 << 16);
	domain = nvtxDomainCreateA("d");
	cr_assert_not_null(domain);
	cr_assert_eq(domain, nvtxDomainCreateA("d"));
	cr_assert_neq(domain, nvtxDomainCreateA("e"));
	attributes.message.ascii = "in a domain";
	cr_assert_eq(nvtxRangePushA(name), 0);
	memset(name, 'x', 5);
	cr_assert_eq(nvtxRangePushW(L"\u00fcber \U0001f600"), 1);
	cr_assert_eq(nvtxDomainRangePushEx(domain, &attributes), 0);
	cr_assert_eq(nvtxRangePop(), 1);
	cr_assert_eq(nvtxDomainRangePop(domain), 0);
	cr_assert_eq(nvtxRangePop(), 0);
	cr_assert_eq(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
	expect_record(GT_NVTX_PUSH, 0, "outer");
	expect_record(GT_NVTX_PUSH, 1, "\u00fcber \U0001f600");
	expect_record(GT_NVTX_PUSH, 0, "in a domain");
	expect_record(GT_NVTX_POP, 1, "");
	expect_record(GT_NVTX_POP, 0, "");
	expect_record(GT_NVTX_POP, 0, "");
	cr_assert_null(next());
	cr_assert_eq(gt_nvtx_count().wrong, 1);
}

/* Ends of ranges among the records; their beginnings are in @ret_pushes. */
static int count_records(int *ret_pushes)
{
	const struct gt_nvtx_record *record;
	int pops = 0;

	while ((record = next())) {
		*ret_pushes += record->head.flags == GT_NVTX_PUSH;
		pops += record->head.flags == GT_NVTX_POP;
	}
	return pops;
}

/* Each range whole or not at all; steps always. */
Test(nvtx, what_follows_closely_is_left_out_when_asked)
{
	int pushes = 0, pops;

	start_session(1 << 20);
	gt_nvtx_thin(true);
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(nvtxRangePushA("outer"), 0);
		cr_assert_eq(nvtxRangePushA("ProfilerStep#1"), 1);
		cr_assert_eq(nvtxRangePushA("inner"), 2);
		cr_assert_eq(nvtxRangePop(), 2);
		cr_assert_eq(nvtxRangePop(), 1);
		cr_assert_eq(nvtxRangePop(), 0);
	}
	gt_nvtx_thin(false);
	nvtxRangePushA("last");
	nvtxRangePop();
	pops = count_records(&pushes);
	cr_assert_eq(pushes, pops);
	cr_assert_eq((uint64_t)pushes + gt_threads_sum(GT_THREAD_RANGES_THINNED), 3001);
	cr_assert_geq(pushes, 1000 + 2 + 1);
	cr_assert_lt(pushes, 3001);
	cr_assert_eq(gt_nvtx_count().lost, 0);
}

Test(nvtx, a_name_of_a_megabyte_is_cut_and_says_so)
{
	const struct gt_nvtx_record *record;
	char *name = malloc((1 << 20) + 1);

	start_session(1 << 16);
	memset(name, 'n', 1 << 20);
	name[1 << 20] = 0;
	nvtxRangePushA(name);
	record = next();
	cr_assert_eq(record->text_length, GT_NVTX_NAME_MAX);
	cr_assert(record->cut);
	free(name);
}

Test(nvtx, attributes_are_read_as_far_as_their_size_goes)
{
	nvtxEventAttributes_t attributes = {
		.version = 1, .category = 5, .colorType = 1, .color = 7};

	start_session(1 << 16);
	attributes.size = (uint16_t)offsetof(nvtxEventAttributes_t, colorType);
	nvtxRangePushEx(&attributes);
	cr_assert_eq(next()->category, 5);
	attributes.size = 2;
	nvtxRangePushEx(&attributes);
	cr_assert_eq(next()->category, 0);
	nvtxRangePushEx(NULL);
	cr_assert_not_null(next());
}

Test(nvtx, foreign_handles_are_not_followed)
{
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
					    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					    .messageType = NVTX_MESSAGE_TYPE_REGISTERED};

	start_session(1 << 16);
	attributes.message.registered = (nvtxStringHandle_t)(uintptr_t)0x1000;
	cr_assert_eq(nvtxDomainRangePushEx((nvtxDomainHandle_t)(uintptr_t)0x1001, &attributes), 0);
	cr_assert_eq(next()->domain, 0);
	attributes.message.registered = nvtxDomainRegisterStringA(NULL, "known");
	nvtxMarkEx(&attributes);
	cr_assert_str_eq(gt_nvtx_at(next()->string)->text, "known");
}

Test(nvtx, a_full_ring_loses_ranges_counted_and_levels_stay_right)
{
	uint64_t records = 0;

	start_session(4096);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(nvtxRangePushA("deep"), i);
	while (next())
		records++;
	cr_assert_eq(gt_nvtx_count().lost, 1000 - records);
	cr_assert_eq(gt_threads_sum(GT_THREAD_RANGES_LOST), 1000 - records, "recovery finds it");
	cr_assert_eq(nvtxRangePop(), 999);
	cr_assert_null(next(), "its begin was lost");
	for (int i = 999; i > (int)records; i--)
		nvtxRangePop();
	cr_assert_eq(gt_nvtx_count().lost, 1000 - records, "counted once");
	cr_assert_null(next());
	cr_assert_eq(nvtxRangePop(), (int)records - 1);
	cr_assert_eq(next()->id, records - 1);
}

Test(nvtx, a_range_whose_begin_is_lost_is_counted_once)
{
	int pushes = 0, pops;

	start_session(4096);
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(nvtxRangePushA("outer"), 0);
		cr_assert_eq(nvtxRangePushA("inner"), 1);
		cr_assert_eq(nvtxRangePop(), 1);
		cr_assert_eq(nvtxRangePop(), 0);
	}
	pops = count_records(&pushes);
	cr_assert_lt(pushes, 2000);
	cr_assert_leq(pops, pushes);
	cr_assert_eq(gt_nvtx_count().lost + gt_threads_sum(GT_THREAD_RANGES_THINNED),
		     (uint64_t)(2000 - pops));
}

/* Loses what is pushed and popped until somebody reads the ring. */
static void fill_ring(void)
{
	uint64_t before = gt_nvtx_count().lost;

	while (gt_nvtx_count().lost == before)
		nvtxMarkA("full");
}

static void empty_ring(void)
{
	while (next())
		continue;
}

/* The ends of all that is open; how many are written, the first is that of @level. */
static int pop_all(int depth, uint64_t first)
{
	int pops = 0, pushes = 0;

	while (depth-- > 1)
		nvtxRangePop();
	cr_assert_eq(next()->id, first);
	pops = 1 + count_records(&pushes);
	cr_assert_eq(pushes, 0);
	return pops;
}

/* However deep: the end of a lost range would be that of an earlier one whose end was lost. */
Test(nvtx, the_end_of_a_lost_range_is_no_other_s)
{
	start_session(1 << 16);
	for (int i = 0; i < 41; i++)
		nvtxRangePushA("outer");
	fill_ring();
	nvtxRangePop();
	nvtxRangePushA("lost");
	empty_ring();
	nvtxRangePop();
	cr_assert_null(next());
	cr_assert_eq(pop_all(41, 39), 40);
}

/* Deeper than is known for each level: no end is written before that of the lost range. */
Test(nvtx, ends_inside_a_lost_range_are_lost_where_levels_are_not_known)
{
	uint64_t before;

	start_session(1 << 16);
	for (int i = 0; i < 100; i++)
		nvtxRangePushA("outer");
	fill_ring();
	nvtxRangePop();
	nvtxRangePushA("lost");
	empty_ring();
	before = gt_nvtx_count().lost;
	nvtxRangePushA("inner");
	cr_assert_eq(next()->id, 100);
	nvtxRangePop();
	cr_assert_null(next());
	nvtxRangePop();
	cr_assert_null(next());
	cr_assert_eq(gt_nvtx_count().lost, before + 1, "the end of the inner one");
	cr_assert_eq(pop_all(100, 98), 99);
}

/* It would be taken for a wrong call. */
Test(nvtx, the_end_of_a_lost_start_is_not_written)
{
	nvtxRangeId_t lost, whole;

	start_session(1 << 16);
	fill_ring();
	lost = nvtxRangeStartA("lost");
	empty_ring();
	whole = nvtxRangeStartA("whole");
	cr_assert_neq(lost, whole);
	nvtxRangeEnd(lost);
	cr_assert_eq(next()->head.flags, GT_NVTX_START);
	cr_assert_null(next());
	nvtxRangeEnd(whole);
	cr_assert_eq(next()->head.flags, GT_NVTX_END);
}

Test(nvtx, levels_over_the_limit_are_counted_and_pops_still_match)
{
	const uint64_t extra = 10;
	const struct gt_nvtx_record *record;

	start_session(32 << 20);
	for (uint64_t i = 0; i < GT_NVTX_LEVELS + extra; i++)
		cr_assert_eq(nvtxRangePushA("deep"), (int)i);
	cr_assert_eq(gt_nvtx_count().lost, extra);
	for (uint64_t i = 0; i < GT_NVTX_LEVELS; i++) {
		record = next();
		cr_assert_eq(record->id, i);
	}
	cr_assert_null(next());
	for (uint64_t i = GT_NVTX_LEVELS + extra; i-- > 0;)
		cr_assert_eq(nvtxRangePop(), (int)i);
	for (uint64_t i = GT_NVTX_LEVELS; i-- > 0;) {
		record = next();
		cr_assert_eq(record->head.flags, GT_NVTX_POP);
		cr_assert_eq(record->id, i);
	}
	cr_assert_null(next());
	cr_assert_eq(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
	cr_assert_eq(gt_nvtx_count().wrong, 1);
	cr_assert_eq(gt_nvtx_count().lost, extra);
}

Test(nvtx, nothing_happens_in_a_forked_child)
{
	int status;
	pid_t child;

	start_session(1 << 16);
	nvtxRangePushA("parent");
	child = fork();
	if (child == 0) {
		nvtxRangePushA("child");
		nvtxRangePop();
		_exit(next() && next() ? 1 : 0); /* one record only: the parent's */
	}
	waitpid(child, &status, 0);
	cr_assert_eq(status, 0);
}

static void collect(void *context, const struct gt_nvtx_record *record)
{
	char *names = context;

	strncat(names, record->data, record->text_length);
	strcat(names, " ");
}

static void *end_range(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

Test(nvtx, ranges_open_before_the_session_are_kept_and_others_counted)
{
	char names[256] = "";
	nvtxRangeId_t over, open;
	pthread_t thread;

	nvtxRangePushA("outer");
	nvtxRangePushA("finished");
	nvtxRangePop();
	nvtxMarkA("mark");
	over = nvtxRangeStartA("started and ended");
	open = nvtxRangeStartA("started");
	nvtxRangePushA("inner");
	pthread_create(&thread, NULL, end_range, &over);
	pthread_join(thread, NULL);
	cr_assert_neq(open, over);
	cr_assert(gt_nvtx_early_is_pending());
	gt_nvtx_early_drain(collect, names);
	cr_assert_str_eq(names, "outer started inner ");
	cr_assert_not(gt_nvtx_early_is_pending());
	cr_assert_eq(gt_nvtx_early_count().over, 3);
	start_session(1 << 16);
	cr_assert_eq(nvtxRangePop(), 1);
	expect_record(GT_NVTX_POP, 1, "");
}

Test(nvtx, more_early_ranges_than_slots_are_counted)
{
	for (unsigned int i = 0; i < GT_NVTX_EARLY_SLOTS + 10; i++)
		nvtxRangePushA("early");
	cr_assert_eq(gt_nvtx_count().lost, 10);
}

#define RACERS 64

static pthread_barrier_t barrier;

static void *race(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 100; i++) {
		nvtxRangePushA("race");
		nvtxDomainCreateA("raced");
		nvtxRangePop();
	}
	return nvtxDomainCreateA("raced");
}

Test(nvtx, threads_that_race_for_the_first_call_find_one_domain)
{
	pthread_t threads[RACERS];
	void *handle, *first = NULL;
	uint64_t records = 0;

	start_session(1 << 16);
#ifdef __SANITIZE_THREAD__
	nvtxInitialize(NULL); /* the headers' own table is read and written without order */
#endif
	pthread_barrier_init(&barrier, NULL, RACERS);
	for (int i = 0; i < RACERS; i++)
		pthread_create(&threads[i], NULL, race, NULL);
	for (int i = 0; i < RACERS; i++) {
		pthread_join(threads[i], &handle);
		cr_assert(!first || handle == first);
		first = handle;
	}
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		for (const struct gt_ring_record *r; (r = gt_ring_next(&t->ring)); records++)
			gt_ring_pass(&t->ring, r);
	cr_assert_eq(records + gt_nvtx_count().lost, RACERS * 200);
}

static const char *real(double value)
{
	static char text[32];

	text[gt_text_real(text, value)] = 0;
	return text;
}

Test(nvtx, real_numbers)
{
	cr_assert_str_eq(real(0), "0");
	cr_assert_str_eq(real(-0.25), "-0.25");
	cr_assert_str_eq(real(1e15), "1e+15");
	cr_assert_str_eq(real(123456789), "123456789");
	cr_assert_str_eq(real(100), "100");
	cr_assert_str_eq(real(1.0 / 3), "0.333333333");
	cr_assert_str_eq(real(0.00001), "0.00001");
	cr_assert_str_eq(real(999999999.9), "1000000000");
	cr_assert_str_eq(real(1.7976931348623157e308), "1.79769313e+308");
	cr_assert_str_eq(real(-INFINITY), "-inf");
	cr_assert_str_eq(real(NAN), "nan");
}

Test(nvtx, a_cut_does_not_fall_into_a_character)
{
	char out[8];
	bool cut;

	cr_assert_eq(gt_nvtx_text_length("ab\u20ac", 4, &cut), 2);
	cr_assert(cut);
	cr_assert_eq(gt_nvtx_text_length("ab\u20ac", 5, &cut), 5);
	cr_assert_not(cut);
	cr_assert_eq(gt_nvtx_text_length("\x80\x80\x80\x80\x80", 3, &cut), 3);
	cr_assert_eq(gt_nvtx_text_from_wide(L"ab\u20ac", out, 4, &cut), 2);
	cr_assert(cut);
	cr_assert_eq(gt_nvtx_text_from_wide((const wchar_t[]){0xd800, 0}, out, 8, &cut), 3);
	cr_assert_eq(memcmp(out, "\xef\xbf\xbd", 3), 0);
}
