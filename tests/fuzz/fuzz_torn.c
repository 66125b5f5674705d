/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a trace whose first block may be torn; the first byte of value 1 stands for
 * the blanks that fill the block up. Either nothing is touched, or the block is one event now, what
 * stood behind it is as it was, and there is nothing to rebuild any more.
 */
#include "readers/chrome/reader.h"
#include "recover/torn.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"
#include "trace/first_block.h"
#include "tests/pinned.h"

#include <fcntl.h>

#define BLOCK 16384u /* docs/FORMAT.md */
#define TAIL  4u     /* what ends it */
#define ROOM  (1u << 17)

static char folder[40];
static struct fuzz_file file; /* with the name of a trace */
static char bytes[ROOM];

static void remove_folder(void)
{
	unlink(file.path);
	rmdir(folder);
}

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "%s/gputrace-fuzz-XXXXXX", fuzz_folder());
	need(mkdtemp(folder) != NULL);
	need(snprintf(file.path, sizeof(file.path), "%s/r_70.1782967790123.json", folder) <
	     (int)sizeof(file.path));
	atexit(remove_folder);
}

/* The file that the input stands for. Returns its size. */
static size_t expand(const uint8_t *data, size_t size)
{
	const uint8_t *fill = memchr(data, 1, size);
	size_t head = fill ? (size_t)(fill - data) : size, used = head;

	memcpy(bytes, data, head);
	if (!fill)
		return used;
	for (; used < BLOCK - TAIL; used++)
		bytes[used] = ' ';
	memcpy(bytes + used, fill + 1, size - head - 1);
	return used + size - head - 1;
}

static void put(size_t size)
{
	int fd = open(file.path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	need(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static void check_rebuilt(size_t size)
{
	struct gt_reading reading;
	struct gt_torn again;

	fuzz_file_read(&file);
	need(file.size >= BLOCK && !memcmp(file.text + BLOCK - TAIL, "\"}}\n", TAIL));
	if (size > BLOCK)
		need(file.size == size && !memcmp(file.text + BLOCK, bytes + BLOCK, size - BLOCK));
	gt_reader_read(file.path, NULL, NULL, &reading);
	need(reading.form == GT_FORM_ARRAY && reading.events >= 1);
	gt_reading_fini(&reading);
	need(!gt_first_block_file_is_torn(file.path));
	need(!PINNED(file.path, gt_torn_rebuild(&pin, NULL, &again)) && !again.was_torn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_torn torn;
	int rc;

	if (!*file.path)
		make_folder();
	if (size > ROOM - BLOCK)
		return 0;
	size = expand(data, size);
	put(size);
	rc = PINNED(file.path, gt_torn_rebuild(&pin, NULL, &torn));
	if (!rc && torn.was_torn)
		check_rebuilt(size);
	else
		need((!rc || *torn.error) && fuzz_file_is(&file, bytes, size));
	return 0;
}
