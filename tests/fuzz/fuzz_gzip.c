/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces that are packed. An input that begins as gzip does is read as it is. Of any other the
 * first two bytes say where it is divided into members and how much of the packed end is missing:
 * whole it reads as the plain bytes do, cut it never holds more than they do.
 */
#include "readers/chrome/reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"

#include <zlib.h>

struct outcome {
	int rc;
	uint64_t events, name_bytes;
	bool closed, compressed;
};

static int take(const struct gt_trace_event *record, const struct gt_header *header, void *data)
{
	struct outcome *outcome = data;

	(void)header;
	outcome->name_bytes += record->name.len;
	return 0;
}

static struct outcome read_trace(const uint8_t *data, size_t size)
{
	struct outcome outcome = {0};
	struct gt_reading reading;
	struct fuzz_file file;

	fuzz_file_make(&file, data, size);
	outcome.rc = gt_reader_read(file.path, take, &outcome, &reading);
	outcome.events = reading.events;
	outcome.closed = reading.closed && outcome.rc == 0;
	outcome.compressed = reading.compressed;
	need(outcome.rc == 0 || *reading.error);
	need(outcome.rc < 0 || reading.closed || *reading.note);
	gt_reading_fini(&reading);
	fuzz_file_remove(&file);
	return outcome;
}

/* One member behind those that are there. */
static void pack(const uint8_t *data, size_t size, uint8_t *out, size_t room, size_t *used)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size};

	need(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_out = out + *used;
	z.avail_out = (uInt)(room - *used);
	need(deflate(&z, Z_FINISH) == Z_STREAM_END);
	*used = room - z.avail_out;
	deflateEnd(&z);
}

static void compare(const uint8_t *data, size_t size, size_t divide, size_t cut)
{
	size_t room = compressBound(size) + 256, used = 0;
	struct outcome plain = read_trace(data, size), packed;
	uint8_t *out = malloc(room);

	need(out != NULL);
	divide = divide < size ? divide : size;
	pack(data, divide, out, room, &used);
	pack(data + divide, size - divide, out, room, &used);
	cut = cut < used ? cut : used;
	packed = read_trace(out, used - cut);
	free(out);
	if (cut) {
		need(packed.events <= plain.events && packed.name_bytes <= plain.name_bytes);
		return;
	}
	need((packed.compressed || packed.rc) && packed.rc == plain.rc &&
	     packed.events == plain.events && packed.name_bytes == plain.name_bytes &&
	     packed.closed == plain.closed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	if (data[0] == 0x1f && data[1] == 0x8b)
		read_trace(data, size);
	else if (data[2] != 0x1f) /* which would be packed twice */
		compare(data + 2, size - 2, data[0], data[1]);
	return 0;
}
