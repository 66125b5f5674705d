/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a trace to repair. Either they are refused and nothing is touched, or there is
 * one strict JSON object afterwards that holds every event, or the array of another program, and a
 * second repair changes nothing.
 * What is refused for its JSON is no sound file to verify either.
 */
#include "analysis/verify/verify.h"
#include "recover/close.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"
#include "tests/pinned.h"

#include <errno.h>

static void check_repaired(struct fuzz_file *file, const struct gt_close *repaired)
{
	struct gt_close again;
	char *text;
	size_t size;

	fuzz_file_read(file);
	text = file->text;
	size = file->size;
	file->text = NULL;
	need(fuzz_is_strict_json(text, size));
	need(text[strspn(text, " \t\r\n")] == '{' || repaired->was_closed || repaired->in_place);
	need(fuzz_count_events(text) >= repaired->events);
	need(!PINNED(file->path, gt_close_file(&pin, &again)));
	need(again.was_closed && again.events == repaired->events);
	need(fuzz_file_is(file, text, size));
	free(text);
}

static bool verify_finds(const char *path)
{
	struct gt_verify_options options = {.lines_per_check = 0};
	FILE *null = fopen("/dev/null", "w");
	struct gt_verify_result result;

	need(null != NULL);
	gt_verify_file(path, &options, null, &result);
	fclose(null);
	return result.count[GT_CHECK_JSON] || result.count[GT_CHECK_UTF8];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_close repaired;
	struct fuzz_file file;
	int rc;

	if (size > 1 && data[0] == 0x1f && data[1] == 0x8b)
		return 0; /* gzip, of which another target knows more */
	fuzz_file_make(&file, data, size);
	rc = PINNED(file.path, gt_close_file(&pin, &repaired));
	if (rc == 0)
		check_repaired(&file, &repaired);
	else
		need(*repaired.error && fuzz_file_is(&file, data, size) &&
		     (rc != -EBADMSG || verify_finds(file.path)));
	fuzz_file_remove(&file);
	return 0;
}
