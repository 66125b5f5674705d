/* SPDX-License-Identifier: Apache-2.0
 *
 * recover/close.h: every combination of old and new beginning and end, cut at every byte, becomes
 * one strict JSON object that holds every whole event.
 */
#include "recover/close.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#include "readers/chrome/reader.h"
#include "tests/pinned.h"

#define METADATA(blank)                                                                            \
	"\"schemaVersion\": 1, \"distributedInfo\": {\"rank\":" blank "3, \"world_size\": 8}, "    \
	"\"baseTimeNanoseconds\": 1782967788000000000"
#define FIRST(metadata)                                                                            \
	"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"tid\": 0, \"ts\": 1.000, "      \
	"\"args\": {\"name\": \"t\\u0009\"" metadata "}}"
#define KERNEL                                                                                     \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": "   \
	"2.000, "                                                                                  \
	"\"dur\": 1.000, \"args\": {\"correlation\": 1}}"

#define BLANKS "                                                            "
static const char array_head[] =
	"[" FIRST(", \"header\": {" METADATA("") "}, \"pad\": \"" BLANKS BLANKS BLANKS BLANKS "\"");
static const char object_head[] = "{\n" METADATA(" ") ",\n\"traceEvents\": [\n" FIRST("") "      ";
static const char events[] = "\n," KERNEL "\n," KERNEL;
static const char running_tail[] = "\n]";
static const char closed_tail[] = "\n], \"ledger\": {\"calls_seen\": 2}, \"traceName\": \"t\"}\n";

static char path[64];

static void make_path(void)
{
	strcpy(path, "/tmp/gputrace-repair-XXXXXX");
	close(mkstemp(path));
}

static void remove_path(void)
{
	unlink(path);
}

TestSuite(close, .init = make_path, .fini = remove_path);

static void put(const char *head, const char *middle, const char *tail, size_t tail_size)
{
	FILE *file = fopen(path, "w");

	fputs(head, file);
	fputs(middle, file);
	cr_assert_eq(fwrite(tail, 1, tail_size, file), tail_size);
	fclose(file);
}

/* The number of events of a strict object with the metadata, or -1. */
static long check_file(void)
{
	const char *events_path[] = {"traceEvents", NULL};
	const char *rank_path[] = {"distributedInfo", "rank", NULL};
	static char text[8192];
	FILE *file = fopen(path, "r");
	char why[256];
	long count = -1;
	yajl_val tree, value;

	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	tree = yajl_tree_parse(text, why, sizeof(why));
	cr_assert_not_null(tree, "%s\n%s", why, text);
	value = yajl_tree_get(tree, rank_path, yajl_t_number);
	cr_assert(value && YAJL_GET_INTEGER(value) == 3, "%s", text);
	cr_assert_not_null(strstr(text, "\"rank\": 3"), "%s", text);
	value = yajl_tree_get(tree, events_path, yajl_t_array);
	if (value)
		count = (long)value->u.array.len;
	yajl_tree_free(tree);
	return count;
}

static void repair_and_check(const char *what, size_t cut, long expected, bool was_closed)
{
	struct gt_close repair;
	int rc = PINNED(path, gt_close_file(&pin, &repair));

	cr_assert_eq(rc, 0, "%s %zu: %s", what, cut, repair.error);
	cr_assert_eq(repair.was_closed, was_closed, "%s %zu", what, cut);
	cr_assert(was_closed || repair.in_place, "%s %zu", what, cut);
	cr_assert_eq(check_file(), expected, "%s %zu", what, cut);
	cr_assert_eq(PINNED(path, gt_close_file(&pin, &repair)), 0);
	cr_assert(repair.was_closed, "%s %zu: a second repair has nothing to do", what, cut);
}

Test(close, both_heads_with_every_tail)
{
	static const struct {
		const char *what, *head, *tail;
	} rows[] = {
		{"array, running", array_head, running_tail},
		{"array, closed", array_head, closed_tail},
		{"object, running", object_head, running_tail},
		{"object, closed", object_head, closed_tail},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t cut = 0; cut <= strlen(rows[i].tail); cut++) {
			bool closed = rows[i].head == object_head && rows[i].tail == closed_tail &&
				      cut + 1 >= strlen(closed_tail);

			put(rows[i].head, events, rows[i].tail, cut);
			repair_and_check(rows[i].what, cut, 3, closed);
		}
}

Test(close, both_heads_cut_inside_the_events)
{
	const char *heads[] = {array_head, object_head};

	for (int i = 0; i < 2; i++)
		for (size_t cut = 0; cut < strlen(events); cut++) {
			long whole = 1 + (cut >= 2 + strlen(KERNEL));

			put(heads[i], "", events, cut);
			repair_and_check(i ? "object" : "array", cut, whole, false);
		}
}

Test(close, zero_bytes_of_a_failed_machine)
{
	static const char zeros[100];

	put(array_head, events, zeros, sizeof(zeros));
	repair_and_check("zeros", 0, 3, false);
}

Test(close, without_padding_through_a_copy)
{
	struct gt_close repair;

	put("[" FIRST(", \"header\": {\"distributedInfo\": {\"rank\": 3}}, \"pad\": \"\""), events,
	    "\n,{\"ph", 6);
	cr_assert_eq(PINNED(path, gt_close_file(&pin, &repair)), 0, "%s", repair.error);
	cr_assert_not(repair.in_place);
	cr_assert_eq(repair.events, 3);
	cr_assert_eq(check_file(), 3);
}

Test(close, wrong_json_in_the_middle_is_not_touched)
{
	struct gt_close repair;
	char before[4096], after[4096];
	FILE *file;

	put(array_head, "\n," KERNEL "\n,{\"ph\" 1}", events, strlen(events));
	file = fopen(path, "r");
	before[fread(before, 1, sizeof(before) - 1, file)] = 0;
	fclose(file);
	cr_assert_eq(PINNED(path, gt_close_file(&pin, &repair)), -EBADMSG);
	cr_assert_not_null(strstr(repair.error, "not touched"));
	file = fopen(path, "r");
	after[fread(after, 1, sizeof(after) - 1, file)] = 0;
	fclose(file);
	cr_assert_str_eq(before, after);
}

/* Readers accept these, strict JSON does not: such a file is neither repaired nor called closed. */
Test(close, what_is_no_strict_json_is_not_touched)
{
	static const char *const texts[] = {
		"{\"traceEvents\": [" KERNEL ", {\"ph\": \"X\", \"args\": {\"a\": NaN}}]}",
		"{\"traceEvents\": [" KERNEL "], \"x\": -Infinity}",
		"[" KERNEL ", {\"ph\": \"X\", \"name\": \"\xff\"}",
		"{\"\xc0\x80\": 1, \"traceEvents\": [" KERNEL,
		"[1, \"\xed\xa0\x80\", " KERNEL,
		"\xef\xbb\xbf{\"traceEvents\": [" KERNEL "]}",
	};
	struct gt_close repair;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char after[512];
		FILE *file;

		put(texts[i], "", "", 0);
		cr_assert_eq(PINNED(path, gt_close_file(&pin, &repair)), -EBADMSG, "%zu", i);
		cr_assert_not_null(strstr(repair.error, "no JSON (not touched)"));
		file = fopen(path, "r");
		after[fread(after, 1, sizeof(after) - 1, file)] = 0;
		fclose(file);
		cr_assert_str_eq(after, texts[i]);
	}
}

Test(close, a_comma_before_the_end_of_the_events)
{
	put("{\"distributedInfo\": {\"rank\": 3}, \"traceEvents\": [" KERNEL ",\n], \"x\": 7}", "",
	    "", 0);
	repair_and_check("comma", 0, 1, false);
}

/* The form of the Trace Event Format: nothing says that another program did not finish it. */
Test(close, the_whole_array_of_another_program_is_closed)
{
	static const char *const texts[] = {"[" KERNEL "]", "[\n" KERNEL ",\n" KERNEL "\n]\n"};
	struct gt_close repair;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char text[1024];
		FILE *file;

		put(texts[i], "", "", 0);
		cr_assert_eq(PINNED(path, gt_close_file(&pin, &repair)), 0, "%s", repair.error);
		cr_assert(repair.was_closed, "%s", texts[i]);
		cr_assert_eq(repair.events, i + 1);
		file = fopen(path, "r");
		text[fread(text, 1, sizeof(text) - 1, file)] = 0;
		fclose(file);
		cr_assert_str_eq(text, texts[i]);
	}
	put("[" KERNEL ",\n]", "", "", 0);
	cr_assert_eq(PINNED(path, gt_close_file(&pin, &repair)), 0, "%s", repair.error);
	cr_assert_not(repair.was_closed, "strict JSON has no comma there");
	cr_assert_eq(PINNED(path, gt_close_file(&pin, &repair)), 0);
	cr_assert(repair.was_closed);
	put("[" KERNEL "\n," KERNEL, "", "", 0);
	cr_assert_eq(PINNED(path, gt_close_file(&pin, &repair)), 0);
	cr_assert_not(repair.was_closed, "cut");
}

/* First events that resemble ours but are not. */
Test(close, strange_words_in_the_first_event)
{
	static const char *const stamps[] = {"\"soon\"", "1.0000000000000000000000000000000e1",
					     "{\"a\": 1}"};
	char head[2048];

	for (size_t i = 0; i < sizeof(stamps) / sizeof(stamps[0]); i++) {
		snprintf(head, sizeof(head),
			 "[{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"ts\": %s, "
			 "\"args\": {\"name\": \"t\", \"header\": {" METADATA(
				 "") ", \"traceEvents\": "
				     "[], \"traceName\": \"x\"}, \"pad\": \"" BLANKS BLANKS BLANKS
					     BLANKS BLANKS BLANKS "\"}}",
			 stamps[i]);
		put(head, events, "", 0);
		repair_and_check(stamps[i], 0, 3, false);
	}
}
