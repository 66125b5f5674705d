/* SPDX-License-Identifier: Apache-2.0
 *
 * What stats says of a note.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/holes/note_words.h"

Test(note_words, are_words)
{
	static const struct {
		const char *json, *words;
	} rows[] = {
		{"{}", ""},
		{"{\"cause\": \"ring full\", \"API calls\": 12}", "12 API calls, ring full"},
		{"{\"count\": 12, \"cause\": \"ring full\", \"of what\": \"API calls\"}",
		 "12 API calls, ring full"},
		{"{\"cause\":\"host\",\"what\":\"nobody launched "
		 "\\\"x\\\"\",\"stack\":7,\"frames\":"
		 "[\"main\"],\"modules\":{\"a\":\"b\"}}",
		 "nobody launched \"x\", host"},
		{"{\"duration (us)\": 1.250, \"what\": \"away\"}", "1.250 us, away"},
		{"{\"cause\": \"cut", "{\"cause\": \"cut"},
		{"{\"a\": 1} x", "{\"a\": 1} x"},
		{"no object", "no object"},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		gt_note_words(rows[i].json, out);
		fclose(out);
		cr_expect_str_eq(text, rows[i].words);
		free(text);
	}
}

Test(note_words, failure)
{
	static const struct {
		const char *json, *words;
	} rows[] = {
		{"{\"cause\": \"result of the call\", \"bytes\": 4096, \"what\": \"cudaMalloc of "
		 "4096 "
		 "bytes failed with 2; in use on GPU 0: 79700480; held: 67109376 bytes by f2\"}",
		 "cudaMalloc of 4.096 kB failed: out of memory; in use on GPU 0: 79.700 MB; held: "
		 "67.109 MB by f2"},
		{"{\"cause\": \"result of the call\", \"what\": \"f of 512 bytes failed with "
		 "77777; in "
		 "use on host: 0\"}",
		 "f of 512 B failed with 77777; in use on host: 0 B"},
		{"{\"cause\": \"x\", \"bytes\": 5}", "5 bytes, x"},
		{"no object", "no object"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		gt_note_failure(rows[i].json, out);
		fclose(out);
		cr_expect_str_eq(text, rows[i].words);
		free(text);
	}
}
