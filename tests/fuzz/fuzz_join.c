/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a trace and, behind a line "====", as what was recovered for it; in a trace
 * that begins with [, the first byte of value 1 stands for the blanks that fill its first block up.
 * A trace that cannot be joined is not touched. One that was joined has its ledger, is strict JSON
 * if it was JSON, and joining it once more leaves it as it is.
 */
#include "recover/join.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"
#include "tests/pinned.h"

#define BLOCK  16384u /* docs/FORMAT.md */
#define TAIL   4u     /* what ends it */
#define BORDER "\n====\n"

static void check_joined(struct fuzz_file *trace, const char *recovered)
{
	struct gt_join again;
	char *text;
	size_t size;

	fuzz_file_read(trace);
	need(gt_join_is_pftrace(trace->path, trace->path) ||
	     fuzz_is_strict_json(trace->text, trace->size));
	size = trace->size;
	text = malloc(size + 1);
	need(text);
	memcpy(text, trace->text, size);
	need(!PINNED(trace->path, gt_join(&pin, recovered, "/dev/shm/it", &again)) &&
	     again.was_closed);
	need(fuzz_file_is(trace, text, size));
	free(text);
}

/* The trace that the input stands for, malloc()ed. */
static char *expand(const uint8_t *data, size_t size, size_t *ret_size)
{
	const uint8_t *fill = size && *data == '[' ? memchr(data, 1, size) : NULL;
	size_t head = fill ? (size_t)(fill - data) : size, used = head;
	char *text = malloc(size + BLOCK);

	need(text);
	memcpy(text, data, head);
	for (; fill && used < BLOCK - TAIL; used++)
		text[used] = ' ';
	if (fill)
		memcpy(text + used, fill + 1, size - head - 1);
	*ret_size = fill ? used + size - head - 1 : used;
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *border = size ? memmem(data, size, BORDER, strlen(BORDER)) : NULL;
	struct fuzz_file trace, recovered;
	struct gt_join joined;
	size_t first, rest;
	char *text;

	if (!border)
		return 0;
	rest = size - (size_t)(border - data) - strlen(BORDER);
	text = expand(data, (size_t)(border - data), &first);
	fuzz_file_make(&trace, (const uint8_t *)text, first);
	fuzz_file_make(&recovered, border + strlen(BORDER), rest);
	if (PINNED(trace.path, gt_join(&pin, recovered.path, "/dev/shm/it", &joined)))
		need(*joined.error && fuzz_file_is(&trace, text, first));
	else if (joined.was_closed)
		need(fuzz_file_is(&trace, text, first));
	else
		check_joined(&trace, recovered.path);
	free(text);
	fuzz_file_remove(&trace);
	fuzz_file_remove(&recovered);
	return 0;
}
