/* SPDX-License-Identifier: Apache-2.0
 *
 * See unclosed.h.
 */
#include "cli/run/unclosed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/schema/pftrace.h"
#include "readers/input.h"
#include "trace/first_block.h"

#define GZIP_BEGINNING 0x1f /* of a compressed file */
#define END_BYTES      8192 /* more than the end of a closed .pftrace has */

bool gt_pftrace_has_end(const char *path)
{
	char text[END_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n =
		fd < 0 ? 0 : pread(fd, text, END_BYTES, size > END_BYTES ? size - END_BYTES : 0);

	if (fd >= 0)
		close(fd);
	return n > 0 && memmem(text, (size_t)n, GT_PF_LEDGER_NAME, strlen(GT_PF_LEDGER_NAME));
}

/* As below. One that is cut is not closed either. */
static bool is_unclosed_packed(const char *path)
{
	struct gt_input in;
	bool is_closed = false;
	char first = 0;

	if (gt_input_open(&in, path))
		return false;
	in.silent = true;
	while (gt_input_more(&in) > 0) {
		first = first ? first : *in.data;
		if (in.size > END_BYTES)
			gt_input_consume(&in, in.size - END_BYTES);
	}
	if (first == '\n')
		is_closed = memmem(in.data, in.size, GT_PF_LEDGER_NAME, strlen(GT_PF_LEDGER_NAME));
	else
		is_closed = first == '{';
	is_closed &= !in.damage;
	gt_input_close(&in);
	return !is_closed;
}

/* An array, or an object whose first block is cut; a .pftrace begins with a newline. */
bool gt_trace_is_unclosed(const char *path)
{
	struct gt_first_block *block = malloc(sizeof(*block));
	bool is_unclosed = false;
	bool is_read = block && !gt_first_block_read(block, path);

	if (is_read && block->text[0] == GZIP_BEGINNING)
		is_unclosed = is_unclosed_packed(path);
	else if (is_read)
		is_unclosed = block->bytes == 0 || block->text[0] == '[' ||
			      (block->text[0] == '\n' && !gt_pftrace_has_end(path)) ||
			      (block->text[0] == '{' && gt_first_block_is_torn(block));
	free(block);
	return is_unclosed;
}
