/* SPDX-License-Identifier: Apache-2.0
 *
 * The path of the file that is being written, for who ends the process and for the spool, see
 * output.h.
 */
#include <stdatomic.h>

#include "core/guest/text.h"
#include "core/spool.h"
#include "pipeline/output/output.h"

#define PATH_BYTES 1024

/* The newest one and the one before it, which somebody may be reading. */
static struct {
	char path[2][PATH_BYTES];
	_Atomic uint32_t count;
	_Atomic bool is_stream;
} names;

void gt_output_set_name(const char *path)
{
	uint32_t next = atomic_load(&names.count) + 1;

	gt_text_format(names.path[next & 1], PATH_BYTES, "%s", path);
	atomic_store(&names.count, next);
	gt_spool_set_trace(path);
}

const char *gt_output_name(void)
{
	return names.path[atomic_load(&names.count) & 1];
}

void gt_output_set_stream(bool is_stream)
{
	atomic_store(&names.is_stream, is_stream);
}

bool gt_output_is_stream(void)
{
	return atomic_load(&names.is_stream);
}
