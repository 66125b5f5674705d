/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a line table: the first says its format, the next four where to look, four
 * more the first line. An answer is a line or none, the same each time.
 */
#include "collectors/python/lines.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum gt_python_table format;
	int32_t offset, first_line;
	uint8_t *table;
	uint32_t line;

	if (size < 9)
		return 0;
	format = (enum gt_python_table)(data[0] % GT_PYTHON_TABLE_COUNT_);
	memcpy(&offset, data + 1, 4);
	memcpy(&first_line, data + 5, 4);
	size -= 9;
	table = malloc(size + 1); /* of its own, so that a read behind its end is seen */
	if (!table)
		return 0;
	memcpy(table, data + 9, size);
	table = realloc(table, size ? size : 1);
	line = gt_python_line(format, table, size, first_line, offset);
	if (line > INT32_MAX || line != gt_python_line(format, table, size, first_line, offset))
		abort();
	if (size > 0) { /* every instruction that a table of this size can speak of */
		for (offset = 0; offset < 256; offset += 2)
			gt_python_line(format, table, size, first_line, offset);
	}
	free(table);
	return 0;
}
