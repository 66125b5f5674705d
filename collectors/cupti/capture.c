/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture file, see the header. Drain thread only; a failed write ends the capture.
 */
#include "collectors/cupti/capture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/cupti/records/layout.h"
#include "core/guest/descriptor.h"

#define BUFFER_BYTES 65536

static struct gt_descriptor capture = {.fd = -1};
static unsigned char buffer[BUFFER_BYTES];
static size_t used;

static void write_out(void)
{
	if (capture.fd >= 0 &&
	    (!gt_descriptor_is_ours(&capture) || write(capture.fd, buffer, used) != (ssize_t)used))
		gt_descriptor_close(&capture);
	used = 0;
}

static void put(const void *data, size_t size)
{
	const unsigned char *bytes = data;

	while (size) {
		size_t room = BUFFER_BYTES - used;
		size_t n = size < room ? size : room;

		memcpy(buffer + used, bytes, n);
		used += n;
		bytes += n;
		size -= n;
		if (used == BUFFER_BYTES)
			write_out();
	}
}

void gt_cupti_capture_start(uint32_t cupti_version)
{
	const char *path = secure_getenv("GPUTRACE_CAPTURE_BUFFERS");
	struct gt_cupti_capture_header header = {.magic = GT_CUPTI_CAPTURE_MAGIC,
						 .version = cupti_version};

	if (!path || !*path)
		return;
	gt_descriptor_open(&capture, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	used = 0;
	put(&header, sizeof(header));
	write_out();
}

int gt_cupti_capture_on(void)
{
	return capture.fd >= 0;
}

static const char *name_in(const void *record)
{
	switch (((const CUpti_Activity *)record)->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return ((const CUpti_ActivityKernel8 *)record)->name;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		return ((const CUpti_ActivityDevice4 *)record)->name;
	default:
		return NULL;
	}
}

void gt_cupti_capture_add(const void *record, uint32_t size)
{
	const char *name = name_in(record);
	struct gt_cupti_capture_record head = {.size = size,
					       .name_length = name ? (uint32_t)strlen(name) : 0};

	put(&head, sizeof(head));
	put(record, size);
	put(name ? name : "", head.name_length);
	write_out(); /* whole records only, so that a killed process leaves a readable file */
}
