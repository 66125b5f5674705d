/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a trace to repair. Either they are refused and nothing is touched, or there is one
 * strict JSON object afterwards that holds every event, and a second repair changes nothing.
 */
#include "analysis/repair.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"

static void check_repaired(struct fuzz_file *file, const struct gt_repair *repaired)
{
	struct gt_repair again;
	char *text;
	size_t size;

	fuzz_file_read(file);
	text = file->text;
	size = file->size;
	file->text = NULL;
	need(fuzz_is_strict_json(text, size) && *(text + strspn(text, " \t\r\n")) == '{');
	need(fuzz_count_events(text) >= repaired->events);
	need(!gt_repair_file(file->path, NULL, &again));
	need(again.was_closed && again.events == repaired->events);
	need(fuzz_file_is(file, text, size));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_repair repaired;
	struct fuzz_file file;

	if (size > 1 && data[0] == 0x1f && data[1] == 0x8b)
		return 0; /* gzip, of which another target knows more */
	fuzz_file_make(&file, data, size);
	if (gt_repair_file(file.path, NULL, &repaired))
		need(*repaired.error && fuzz_file_is(&file, data, size));
	else
		check_repaired(&file, &repaired);
	fuzz_file_remove(&file);
	return 0;
}
