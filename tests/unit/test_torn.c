/* SPDX-License-Identifier: Apache-2.0
 *
 * recover/torn.h: a first block that is cut at any byte, followed by nothing or by the previous
 * content, becomes one that repair can close.
 */
#include "recover/torn.h"
#include "trace/file_name.h"
#include "trace/first_block.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#include "recover/close.h"
#include "tests/pinned.h"

#define BLOCK 16384u

#define METADATA                                                                                   \
	"\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"GPU\"}], "           \
	"\"distributedInfo\": {\"rank\": 3, \"world_size\": 8}, \"metadata\": {\"mode\": "         \
	"\"cupti\", \"pid\": 70}, \"displayTimeUnit\": \"ns\", \"baseTimeNanoseconds\": "          \
	"1782967788000000000"
#define EVENT                                                                                      \
	"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 70, \"tid\": 0, \"ts\": 1.000, "     \
	"\"args\": {\"name\": \"train\""
#define KERNEL                                                                                     \
	",{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": "  \
	"2.000, \"dur\": 1.000, \"args\": {\"correlation\": 1}}\n"

static char folder[64], path[128], running[BLOCK + 1], closed[BLOCK + 1];

static void fill(char *block, const char *head, const char *tail)
{
	memset(block, ' ', BLOCK);
	memcpy(block, head, strlen(head));
	memcpy(block + BLOCK - strlen(tail), tail, strlen(tail));
}

static void setup(void)
{
	strcpy(folder, "/tmp/gputrace-torn-XXXXXX");
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/rank3_host_70.1782967790123.pt.trace.json", folder);
	fill(running, "[" EVENT ", \"header\": {" METADATA "}, \"pad\": \"", "\"}}\n");
	fill(closed, "{\n" METADATA ",\n\"traceEvents\": [\n" EVENT "}}", "\n");
}

static void teardown(void)
{
	unlink(path);
	rmdir(folder);
}

TestSuite(torn, .init = setup, .fini = teardown);

static void put(const char *first, size_t size, const char *rest)
{
	FILE *file = fopen(path, "w");

	cr_assert(fwrite(first, 1, size, file) == size);
	fputs(rest, file);
	fclose(file);
}

/* Repairs the file; how many events the strict object has. */
static size_t repair(size_t cut, bool is_torn)
{
	static const char *const base[] = {"baseTimeNanoseconds", NULL};
	static const char *const rank[] = {"distributedInfo", "rank", NULL};
	static const char *const events[] = {"traceEvents", NULL};
	static char text[3 * BLOCK];
	struct gt_close result;
	struct gt_torn torn;
	char why[256];
	yajl_val tree;
	size_t count;
	FILE *file;

	cr_assert_eq(gt_first_block_file_is_torn(path), is_torn, "%zu", cut);
	cr_assert_eq(PINNED(path, gt_torn_rebuild(&pin, NULL, &torn)), 0, "%zu: %s", cut,
		     torn.error);
	cr_assert_eq(torn.was_torn, is_torn, "%zu", cut);
	cr_assert_eq(PINNED(path, gt_close_file(&pin, &result)), 0, "%zu: %s", cut, result.error);
	file = fopen(path, "r");
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	tree = yajl_tree_parse(text, why, sizeof(why));
	cr_assert_not_null(tree, "%zu: %s", cut, why);
	cr_assert(YAJL_IS_INTEGER(yajl_tree_get(tree, (const char **)base, yajl_t_number)), "%zu",
		  cut);
	cr_assert_eq(YAJL_GET_INTEGER(yajl_tree_get(tree, (const char **)rank, yajl_t_number)), 3,
		     "%zu: %.900s", cut, text);
	count = yajl_tree_get(tree, (const char **)events, yajl_t_array)->u.array.len;
	yajl_tree_free(tree);
	cr_assert_not(gt_first_block_file_is_torn(path), "%zu: once is enough", cut);
	return count;
}

/* Many bytes of what means something, then some of the blanks. */
static size_t next_cut(size_t cut)
{
	return cut < 20 || cut > BLOCK - 8 ? cut + 1 : cut < 700 ? cut + 3 : cut + 2047;
}

Test(torn, nothing_behind_the_cut)
{
	for (size_t cut = 0; cut < BLOCK - 1; cut = next_cut(cut)) {
		put(running, cut, "");
		cr_assert_eq(repair(cut, cut < BLOCK - 1), 1, "%zu", cut);
	}
}

/* As the process was killed while it closed the file: the events keep their places. */
Test(torn, the_other_form_behind_the_cut)
{
	char block[BLOCK + 1] = "";

	for (size_t cut = 1; cut < BLOCK; cut = next_cut(cut)) {
		memcpy(block, running, BLOCK);
		memcpy(block, closed, cut);
		put(block, BLOCK, KERNEL KERNEL "], \"ledger\": {}, \"traceName\": \"t\"}\n");
		cr_assert_eq(repair(cut, cut < BLOCK - 1), 3, "%zu", cut);
	}
}

Test(torn, whole_blocks_are_left_alone)
{
	put(running, BLOCK, "]\n");
	cr_assert_eq(repair(0, false), 1);
	put(closed, BLOCK, KERNEL "]}\n");
	cr_assert_eq(repair(0, false), 2);
}

Test(torn, tells_what_nobody_knows)
{
	static char text[3 * BLOCK];
	struct gt_torn torn;
	FILE *file;

	put(running, (size_t)(strstr(running, ", \"distributedInfo") - running), "");
	cr_assert_eq(PINNED(path, gt_torn_rebuild(&pin, NULL, &torn)), 0);
	file = fopen(path, "r");
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	cr_assert(strstr(text, "\"deviceProperties\": [{\"id\": 0, \"name\": \"GPU\"}]"), "%s",
		  text);
	cr_assert(strstr(text, "\"header_unknown\": [\"distributedInfo\", \"cupti_version\", "
			       "\"cuda_runtime_version\", \"cuda_driver_version\", \"metadata\", "
			       "\"displayTimeUnit\", \"baseTimeNanoseconds\"]"),
		  "%s", text);
	/* out of the name: the rank, and the base of that time */
	cr_assert(strstr(text, "\"rank\": 3"), "%s", text);
	cr_assert(strstr(text, "\"baseTimeNanoseconds\": 1782967788000000000"), "%s", text);
}

Test(torn, reads_names)
{
	struct gt_file_name name;

	gt_file_name_parse("/a.b/rank12_n3_4100.1782967788123.1.part3.pt.trace.json", &name);
	cr_assert(name.is_ours && name.has_rank);
	cr_assert_eq(name.rank, 12);
	cr_assert_eq(name.pid, 4100);
	cr_assert_eq(name.started, 1782967788123);
	cr_assert_eq(name.part, 3);
	gt_file_name_parse("n_3_4100.1782967788123.pt.trace.json", &name);
	cr_assert(name.is_ours && !name.has_rank && name.pid == 4100 && name.part == 1);
	gt_file_name_parse("some.json", &name);
	cr_assert_not(name.is_ours);
	gt_file_name_parse("x_y.1.json", &name);
	cr_assert_not(name.is_ours);
	gt_file_name_parse("n_4100.1782967788123.pftrace", &name); /* no JSON is put into it */
	cr_assert_not(name.is_ours);
}

Test(torn, somebody_elses_file)
{
	struct gt_torn torn;

	snprintf(path, sizeof(path), "%s/other.json", folder);
	put("[{\"a\": 1, \"b", 12, "");
	cr_assert_not(gt_first_block_file_is_torn(path));
	cr_assert_eq(PINNED(path, gt_torn_rebuild(&pin, NULL, &torn)), 0);
	cr_assert_not(torn.was_torn);
	put("", 0, "");
	cr_assert_eq(PINNED(path, gt_torn_rebuild(&pin, NULL, &torn)), -ENODATA);
	cr_assert(strstr(torn.error, "is empty"), "%s", torn.error);
}
