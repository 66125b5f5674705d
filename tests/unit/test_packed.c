/* SPDX-License-Identifier: Apache-2.0
 *
 * A compressed trace: one whole gzip member after every write, for zlib, which shares no code with
 * what writes it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <criterion/criterion.h>

#include "core/guest/log.h"
#include "core/guest/memory.h"
#include "writers/deflate.h"
#include "writers/sink.h"

#define HEAD ((size_t)16384)
#define MOST ((size_t)2 << 20)

static char folder[64];
static char wanted[MOST], text[MOST]; /* what the member holds, and should hold */

static void make_folder(void)
{
	gt_log_set_level(GT_LOG_QUIET);
	strcpy(folder, "/tmp/gputrace-packed-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	cr_assert_eq(system(command), 0);
}

static struct gt_sink *open_sink(void)
{
	struct gt_sink_options options = {.directory = folder,
					  .fallback = folder,
					  .name = "trace.5",
					  .suffix = ".pt.trace.json",
					  .packs = true};
	int error = 0;
	struct gt_sink *sink = gt_sink_open(&options, &error);

	cr_assert_not_null(sink);
	return sink;
}

static size_t read_file(const struct gt_sink *sink, unsigned char *data, size_t size)
{
	int fd = open(gt_sink_path(sink), O_RDONLY);
	ssize_t n = read(fd, data, size);

	close(fd);
	cr_assert(n >= 0 && (size_t)n < size);
	return (size_t)n;
}

/* One member, nothing behind it, with the right CRC and size, and @size bytes of @wanted in it. */
static void expect(const struct gt_sink *sink, size_t size)
{
	static unsigned char file[MOST];
	z_stream stream = {0};

	stream.avail_in = (unsigned int)read_file(sink, file, sizeof(file));
	stream.next_in = file;
	stream.next_out = (unsigned char *)text;
	stream.avail_out = sizeof(text);
	cr_assert_eq(inflateInit2(&stream, 15 + 16), Z_OK);
	cr_assert_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
	cr_assert_eq(stream.avail_in, 0);
	cr_assert_eq(stream.total_out, size);
	inflateEnd(&stream);
	cr_assert(!memcmp(text, wanted, size));
}

/* Lines of numbers, or what no compressor makes smaller. */
static void fill(size_t from, size_t size, bool is_random)
{
	uint32_t state = (uint32_t)(from + size) | 1;

	for (size_t i = 0; i < size; i++) {
		state = state * 1103515245u + 12345u;
		wanted[from + i] = is_random ? (char)(state >> 16) : "0123456789,\n"[i % 12];
	}
}

Test(packed, is_whole_after_every_write, .init = make_folder, .fini = remove_folder)
{
	static const size_t sizes[] = {1, 100, 65536, 262144, 7, 600000, 0};
	struct gt_sink *sink;
	size_t at = HEAD;

	if (!gt_deflate_is_there())
		cr_skip_test("built without ISA-L");
	sink = open_sink();
	cr_assert_not_null(strstr(gt_sink_path(sink), "/trace.5.pt.trace.json.gz"));
	fill(0, HEAD, true);
	memcpy(wanted + HEAD, "]\n", 2);
	cr_assert_eq(gt_sink_begin(sink, wanted, HEAD, HEAD + 2), 0);
	expect(sink, HEAD + 2);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		fill(at, sizes[i], i % 3 == 1);
		memcpy(wanted + at + sizes[i], "]\n", 2);
		cr_assert_eq(gt_sink_append(sink, at, wanted + at, sizes[i] + 2, 2), 0);
		at += sizes[i];
		expect(sink, at + 2);
		fill(0, HEAD, i % 2);
		cr_assert_eq(gt_sink_write(sink, 0, wanted, HEAD), 0);
		expect(sink, at + 2);
	}
	fill(at, 9000, false); /* the end of a closed file, and another one */
	cr_assert_eq(gt_sink_write(sink, at, wanted + at, 9000), 0);
	expect(sink, at + 9000);
	fill(at, 50, true);
	cr_assert_eq(gt_sink_write(sink, at, wanted + at, 50), 0);
	expect(sink, at + 50);
	gt_sink_close(sink);
}

Test(packed, goes_back_to_a_place, .init = make_folder, .fini = remove_folder)
{
	struct gt_packed_place place;
	struct gt_sink *sink;

	if (!gt_deflate_is_there())
		cr_skip_test("built without ISA-L");
	sink = open_sink(); /* without a head, as a .pftrace */
	fill(0, 300000, false);
	cr_assert_eq(gt_sink_append(sink, 0, wanted, 1000, 0), 0);
	place = gt_sink_place(sink);
	cr_assert_eq(gt_sink_append(sink, 1000, wanted + 1000, 299000, 0), 0);
	expect(sink, 300000);
	cr_assert_eq(gt_sink_truncate(sink, 300000), 0);
	expect(sink, 300000);
	cr_assert_lt(gt_sink_truncate(sink, 1000), 0);
	cr_assert_eq(gt_sink_go_back(sink, 1000, &place), 0);
	expect(sink, 1000);
	fill(1000, 500, true);
	cr_assert_eq(gt_sink_append(sink, 1000, wanted + 1000, 500, 0), 0);
	expect(sink, 1500);
	gt_sink_close(sink);
}

Test(packed, without_memory_it_is_plain, .init = make_folder, .fini = remove_folder)
{
	struct gt_sink *sink;

	gt_memory_limit(gt_memory_count().now + 100000, "--max-rss");
	sink = open_sink();
	gt_memory_limit(0, "");
	cr_assert_null(strstr(gt_sink_path(sink), ".gz"));
	cr_assert_eq(gt_sink_begin(sink, "head]\n", 4, 6), 0);
	cr_assert_eq(gt_sink_append(sink, 4, "a]\n", 3, 2), 0);
	cr_assert_eq(gt_sink_write(sink, 0, "HEAD", 4), 0);
	cr_assert_eq(read_file(sink, (unsigned char *)text, 100), 7);
	cr_assert(!memcmp(text, "HEADa]\n", 7));
	cr_assert_eq(gt_sink_bytes(sink), 0);
	gt_sink_close(sink);
}
