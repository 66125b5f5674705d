/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops over collectors: who is called, in which order, with which part.
 */
#include "pipeline/sources/collector.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "pipeline/output/outlet.h"

/* What the functions of a collector are passed here. */
struct fake {
	char name;
	int start_error;
	bool due;
	uint64_t lost;
};

static char called[256]; /* one letter a call: the part's name, large for what is large */

static void note(char what)
{
	size_t n = strlen(called);

	cr_assert_lt(n + 1, sizeof(called));
	called[n] = what;
}

static int start(void *part)
{
	struct fake *fake = part;

	note(fake->name);
	return fake->start_error;
}

static uint64_t drain(void *part)
{
	note(((struct fake *)part)->name);
	return 1;
}

/* Three parts, the others between them. */
static uint64_t read_parts(void *part, struct gt_collector_turn *turn)
{
	uint64_t records = 0;

	for (; turn->bytes; turn->bytes -= 100) {
		note('L');
		records += 10 + turn->others(turn->context);
	}
	cr_assert_eq(((struct fake *)part)->name, 'l');
	return records;
}

static bool poll_is_due(void *part, uint64_t now, bool flushed)
{
	return ((struct fake *)part)->due && flushed && now;
}

static void polled(void *part)
{
	note(((struct fake *)part)->name);
}

static uint64_t lost(const void *part)
{
	return ((const struct fake *)part)->lost;
}

static void count(void *part, struct gt_ledger *ledger)
{
	gt_ledger_add(ledger, GT_LEDGER_CALLS_OPEN, ((struct fake *)part)->lost);
}

static const struct gt_collector_count counts[] = {
	{lost, GT_LEDGER_STRINGS_REFUSED, "LOST", "a test", "things", "they were lost"},
	{lost, GT_LEDGER_MODULES_UNREAD, NULL, NULL, NULL, NULL},
};

static const struct gt_collector quick = {
	.name = "quick", .start = start, .drain = drain, .polled = polled, .poll = polled};
static const struct gt_collector large = {.name = "large", .start = start, .read = read_parts};
static const struct gt_collector polled_one = {.name = "polled",
					       .start = start,
					       .poll_is_due = poll_is_due,
					       .poll = polled,
					       .polled = polled,
					       .counts = counts,
					       .count_count = 2,
					       .count = count};

static struct fake a = {.name = 'a'}, b = {.name = 'b'}, l = {.name = 'l'}, p = {.name = 'p'};
static struct gt_ledger ledger;
static struct gt_clock fake_clock;
static _Atomic bool has_cupti = true;
static struct gt_output output;
static struct gt_outlet outlet = {.output = &output, .clock = &fake_clock, .has_cupti = &has_cupti};
static struct gt_collectors collectors = {
	.outlet = &outlet,
	.entries = {{.collector = &quick, .part = &a},
		    {.collector = &large, .part = &l},
		    {.collector = &polled_one, .part = &p},
		    {.collector = &quick, .part = &b}},
};

Test(collectors, start_in_order_up_to_the_first_that_fails)
{
	cr_assert_eq(gt_collectors_start(&collectors), 0);
	cr_assert_str_eq(called, "alpb");
	memset(called, 0, sizeof(called));
	l.start_error = -ENOMEM;
	cr_assert_eq(gt_collectors_start(&collectors), -ENOMEM);
	cr_assert_str_eq(called, "al");
}

/* Quick ones have their turn between the parts of a large one, and the last word. */
Test(collectors, read_lets_the_quick_ones_in_between)
{
	cr_assert_eq(gt_collectors_read(&collectors, 300), 3 * (10 + 2) + 2);
	cr_assert_str_eq(called, "LabLabLabab");
	memset(called, 0, sizeof(called));
	cr_assert_eq(gt_collectors_read(&collectors, 0), 2);
	cr_assert_str_eq(called, "ab");
}

Test(collectors, poll_only_what_is_due)
{
	cr_assert_not(gt_collectors_poll_is_due(&collectors, 1, true));
	gt_collectors_poll(&collectors);
	gt_collectors_polled(&collectors);
	cr_assert_str_eq(called, "");
	p.due = true;
	cr_assert_not(gt_collectors_poll_is_due(&collectors, 1, false));
	cr_assert(gt_collectors_poll_is_due(&collectors, 1, true));
	gt_collectors_poll(&collectors);
	gt_collectors_polled(&collectors);
	cr_assert_str_eq(called, "pp");
}

Test(collectors, report_what_has_grown_since_the_last_time)
{
	gt_collectors_report(&collectors);
	cr_assert_eq(outlet.early.count, 0);
	p.lost = 5;
	gt_collectors_report(&collectors);
	gt_collectors_report(&collectors);
	p.lost = 7;
	gt_collectors_report(&collectors);
	cr_assert_eq(outlet.early.count, 2, "of the row with a note alone");
	cr_assert_eq(outlet.early.events[0].event.note.count, 5);
	cr_assert_eq(outlet.early.events[1].event.note.count, 2);
	cr_assert_str_eq(outlet.early.events[0].event.note.cause, "a test");
	gt_outlet_fini(&outlet);
}

Test(collectors, count_into_the_ledger)
{
	p.lost = 3;
	gt_collectors_count(&collectors, &ledger);
	cr_assert_eq(ledger.count[GT_LEDGER_STRINGS_REFUSED], 3);
	cr_assert_eq(ledger.count[GT_LEDGER_MODULES_UNREAD], 3);
	cr_assert_eq(ledger.count[GT_LEDGER_CALLS_OPEN], 3);
}
