/* SPDX-License-Identifier: Apache-2.0
 *
 * What the spool costs: making and removing it, mapping a ring, touching a page for the first time,
 * and a record in a ring, each beside the same in anonymous memory. Rounds of both take turns;
 * printed are medians of the thread's processor time, user and system.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/guest/memory.h"
#include "core/ring.h"
#include "core/spool.h"

#define ROUNDS     101
#define RING_BYTES (2u << 20)
#define PAGE_BYTES 4096u
#define RECORDS    20000
#define RECORD     56 /* a call whose stack is known */

enum { START, MAP, TOUCH, WRITE, PARTS };

static double spent[2][PARTS][ROUNDS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void start_spool(void)
{
	struct gt_spool_options options = {
		.where = "on", .build_id = "", .folder = "/", .max_bytes = 256u << 20};
	char why[256];

	if (!gt_spool_start(&options, why, sizeof(why)))
		return;
	printf("no spool: %s\n", why);
	exit(77);
}

static double touch(char *memory)
{
	double from = now();

	for (size_t at = 0; at < RING_BYTES; at += PAGE_BYTES)
		((volatile char *)memory)[at] = 1;
	return (now() - from) / (RING_BYTES / PAGE_BYTES);
}

/* Twice around, so that what is measured touches no page for the first time. */
static double write_records(struct gt_ring *ring)
{
	double from = 0;

	for (int i = -2 * RECORDS; i < RECORDS; i++) {
		struct gt_ring_record *record = gt_ring_reserve(ring, RECORD);

		if (i == 0)
			from = now();
		if (record)
			gt_ring_commit(ring, record, RECORD, 1);
		while ((record = (struct gt_ring_record *)(uintptr_t)gt_ring_next(ring)))
			gt_ring_pass(ring, record);
		gt_ring_release(ring);
	}
	return (now() - from) / RECORDS;
}

static void measure(bool spool, int round)
{
	double *to[PARTS], from = now();
	struct gt_ring ring;
	char *memory;

	for (int part = 0; part < PARTS; part++)
		to[part] = &spent[spool][part][round];
	if (spool)
		start_spool();
	*to[START] = now() - from;
	from = now();
	memory = gt_spool_map(RING_BYTES);
	*to[MAP] = now() - from;
	*to[TOUCH] = touch(memory);
	if (gt_ring_init(&ring, RING_BYTES))
		exit(1);
	*to[WRITE] = write_records(&ring);
	gt_ring_fini(&ring);
	gt_memory_unmap(memory, RING_BYTES);
	from = now();
	if (spool)
		gt_spool_remove();
	*to[START] += now() - from;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(bool spool, int part)
{
	qsort(spent[spool][part], ROUNDS, sizeof(double), compare);
	return spent[spool][part][ROUNDS / 2];
}

int main(void)
{
	static const char *const names[PARTS] = {
		[START] = "making it and removing it, us",
		[MAP] = "mapping a ring of 2 MiB, us",
		[TOUCH] = "a page at its first touch, ns",
		[WRITE] = "a record of 56 bytes in a ring, ns",
	};

	for (int round = 0; round < ROUNDS; round++) {
		measure(false, round);
		measure(true, round);
	}
	puts("| | anonymous | spool |\n| --- | --- | --- |");
	for (int part = 0; part < PARTS; part++) {
		double unit = part == START || part == MAP ? 1000 : 1;

		printf("| %s | %.1f | %.1f |\n", names[part], median(false, part) / unit,
		       median(true, part) / unit);
	}
	return 0;
}
