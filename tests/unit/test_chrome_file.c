/* SPDX-License-Identifier: Apache-2.0
 *
 * The Chrome writer's file as a whole: its running and its closed form, its header, a pipe.
 */
#include "tests/unit/trace_fixture.h"

Test(chrome_file, header_of_the_closed_file)
{
	struct trace t;

	trace_open(&t);
	trace_close(&t);
	trace_read(&t);
	cr_assert(
		trace_begins(
			t.text,
			"{\n\"schemaVersion\": 1,\n\"deviceProperties\": [{\"id\": 0, \"name\": "
			"\"NVIDIA H200\", "
			"\"totalGlobalMem\": 150121545728, \"computeMajor\": 9, \"computeMinor\": "
			"0, "
			"\"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048, "
			"\"regsPerBlock\": 65536, \"warpSize\": 32, \"sharedMemPerBlock\": 49152, "
			"\"numSms\": 132, \"regsPerMultiprocessor\": 65536, "
			"\"sharedMemPerBlockOptin\": 232448, \"sharedMemPerMultiprocessor\": "
			"233472}],\n"
			"\"distributedInfo\": {\"rank\": 0, \"world_size\": 2},\n"
			"\"cupti_version\": 130000, \"cuda_runtime_version\": 13000, "
			"\"cuda_driver_version\": 13000,\n\"metadata\": {\"gputrace_version\": "
			"\"0.1.0\", "),
		"%.800s", t.text);
	cr_assert_not_null(strstr(t.text,
				  "\n\"displayTimeUnit\": \"ns\",\n"
				  "\"baseTimeNanoseconds\": 1782967788000000000,\n"
				  "\"traceEvents\": [\n{\"ph\": \"M\", \"name\": \"process_name\", "
				  "\"pid\": 4100, \"tid\": 0, \"ts\": 5000000000012.345, "
				  "\"args\": {\"name\": \"train\"}}   "));
	cr_assert_eq(t.text[16383], '\n');
	cr_assert_eq(t.text[16384], ',');
	cr_assert_not_null(strstr(
		t.text,
		"\"Record Window End\", \"pid\": 4100, \"tid\": 4100, "
		"\"ts\": 5000000000012.345, \"args\": {}}\n], \"ledger\": {\"calls_seen\": 0, "));
	cr_assert_not_null(strstr(t.text + t.size - 64,
				  ", \"traceName\": "
				  "\"rank0_n3_4100.1782967788123.pt.trace.json\"}\n"));
	trace_end(&t);
}

Test(chrome_file, running_form_is_a_closed_array_after_each_flush)
{
	struct trace t;
	struct gt_event event = {.kind = GT_EVENT_API, .tid = 1, .start = AT(1), .end = AT(2)};

	trace_open(&t);
	trace_read(&t);
	cr_assert_eq(t.size, 16386);
	cr_assert(trace_begins(t.text, "[{\"ph\": \"M\", \"name\": \"process_name\""));
	cr_assert_str_eq(t.text + 16380, "\"}}\n]\n");
	event.api.name = trace_string(&t, "cudaMalloc");
	for (int i = 0; i < 3; i++) {
		trace_event(&t, &event);
		t.writer->ops->flush(t.writer, 0);
		trace_read(&t);
		cr_assert_str_eq(t.text + t.size - 5, "}}\n]\n");
	}
	t.metadata.world_size = 77;
	t.writer->ops->metadata(t.writer, &t.metadata);
	cr_assert_not_null(strstr(trace_read(&t), "\"world_size\": 77}"));
	cr_assert_str_eq(t.text + t.size - 5, "}}\n]\n");
	cr_assert_eq(t.text[16384], ',');
	trace_end(&t);
}

Test(chrome_file, header_too_long_for_its_block_is_cut_and_says_so)
{
	struct trace t;

	trace_prepare(&t);
	t.metadata.device_count = 64;
	for (uint32_t i = 0; i < 64; i++) {
		t.metadata.devices[i] = t.metadata.devices[0];
		t.metadata.devices[i].id = i;
	}
	memset(t.metadata.options, 1, sizeof(t.metadata.options) - 1);
	trace_open_in(&t, t.folder, 0, NULL);
	cr_assert_not_null(strstr(trace_read(&t), "\"header_cuts\": 1}"));
	cr_assert_eq(trace_close(&t), 0);
	cr_assert_not_null(strstr(trace_read(&t), "\"header_cuts\": 1},\n"));
	cr_assert_not_null(strstr(t.text, "{\"id\": 63, \"name\": \"NVIDIA H200\""));
	trace_end(&t);
}

Test(chrome_file, pipe_gets_an_array_that_is_only_appended_to)
{
	struct trace t;
	struct gt_event event = {.kind = GT_EVENT_API, .tid = 4100, .start = AT(1), .end = AT(2)};
	char path[96], text[16384];
	ssize_t size;
	int reader;

	trace_prepare(&t);
	snprintf(path, sizeof(path), "%s/pipe", t.folder);
	cr_assert_eq(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	trace_open_in(&t, path, 0, NULL);
	event.api.name = trace_string(&t, "cudaMalloc");
	trace_event(&t, &event);
	t.writer->ops->flush(t.writer, 0);
	t.metadata.world_size = 9;
	t.writer->ops->metadata(t.writer, &t.metadata);
	trace_event(&t, &event);
	cr_assert_eq(trace_close(&t), 0);
	size = read(reader, text, sizeof(text) - 1);
	cr_assert_gt(size, 0);
	text[size] = '\0';
	cr_assert(trace_begins(text, "[{\"ph\": \"M\", \"name\": \"process_name\""));
	cr_assert_null(strstr(text, "\"pad\""));
	cr_assert_null(strstr(text, "\"world_size\": 9"));
	cr_assert_eq(strchr(text + 1, ']') - text,
		     strstr(text, "}], \"distributedInfo\"") + 1 - text);
	cr_assert_not_null(strstr(text, "\"Record Window End\""));
	cr_assert_not_null(strstr(text, "\"args\": {\"ledger\": {\"calls_seen\": 0, "));
	cr_assert_str_eq(text + size - 6, "}}}\n]\n");
	close(reader);
	trace_end(&t);
}

Test(chrome_file, lines_longer_than_a_batch)
{
	struct trace t;
	size_t size = (size_t)3 << 20;
	char *name = malloc(size);
	struct gt_event event = {.kind = GT_EVENT_API, .tid = 4100, .start = AT(1), .end = AT(2)};

	cr_assert_not_null(name);
	memset(name, '"', size);
	trace_open(&t);
	event.api.name = trace_string(&t, "cudaMalloc");
	trace_event(&t, &event);
	event.api.name = gt_intern_get(t.strings, name, size);
	trace_event(&t, &event);
	event.api.name = trace_string(&t, "cudaFree");
	trace_event(&t, &event);
	trace_close(&t);
	cr_assert_not_null(strstr(trace_read(&t), "\\\"...(3145728 bytes)\", \"pid\": 4100"));
	cr_assert_not_null(strstr(t.text, "\"name\": \"cudaFree\""));
	cr_assert_eq(t.ledger.count[GT_LEDGER_CALLS_WRITTEN], 3);
	free(name);
	trace_end(&t);
}

/* Blanks at the end of a line, no line of them; the file stays a closed array. */
Test(chrome_file, large_batches_end_where_pages_do)
{
	struct trace t;
	struct gt_event event = {.kind = GT_EVENT_API, .tid = 4100};
	uint64_t lines = 0, blanks = 0;
	char *line, *end, *last;

	trace_open(&t);
	event.api.name = trace_string(&t, "cudaMalloc");
	for (uint64_t i = 0; i < 10000; i++) {
		event.start = AT(i * 1000 + i % 7);
		event.end = event.start + 1 + i * i % 100000;
		trace_event(&t, &event);
	}
	trace_read(&t);
	cr_assert_gt(t.size, 4 * 262144);
	cr_assert_eq(t.size % 65536, 0, "%zu", t.size);
	cr_assert_str_eq(t.text + t.size - 3, "\n]\n");
	for (line = t.text + 16384; *line != ']'; line = end + 1, lines++) {
		end = strchr(line, '\n');
		cr_assert(line[0] == ',' && line[1] == '{', "%.20s", line);
		blanks += end[-1] == ' ';
		for (last = end; last[-1] == ' '; last--)
			continue;
		cr_assert_eq(last[-1], '}');
	}
	cr_assert_gt(blanks, 2);
	cr_assert_gt(lines, 6000);
	cr_assert_eq(trace_close(&t), 0);
	cr_assert_eq(t.ledger.count[GT_LEDGER_CALLS_WRITTEN], 10000);
	cr_assert_eq(t.ledger.count[GT_LEDGER_BYTES_WRITTEN] > t.size, true);
	trace_end(&t);
}
