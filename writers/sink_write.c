/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing to a descriptor that the program may close or reuse, plain or compressed.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/guest/clock.h"
#include "core/guest/futex.h"
#include "core/guest/log.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "writers/sink.h"
#include "writers/sink_state.h"

#define STREAM_PATIENCE_NS 2000000000u /* how long the reader of a pipe may pause */
#define STREAM_RETRY_NS    1000000u

/* The program closed our descriptor or reused its number: leaves the number alone and opens the
 * file again, if it is still the same file. */
static int recover(struct gt_sink *sink)
{
	struct gt_descriptor again = GT_DESCRIPTOR_NONE;

	if (!sink->stream)
		gt_descriptor_open(&again, AT_FDCWD, sink->path, O_WRONLY | O_NOFOLLOW, 0);
	if (again.fd >= 0 && again.device == sink->file.device && again.inode == sink->file.inode) {
		sink->file = again;
		return 0;
	}
	gt_descriptor_close(&again);
	sink->file.fd = -1;
	sink->lost = -EBADF;
	return -EBADF;
}

static int ensure_ours(struct gt_sink *sink)
{
	if (sink->lost)
		return sink->lost;
	return gt_descriptor_is_ours(&sink->file) ? 0 : recover(sink);
}

/* Waits a while for a stream's reader to make room. */
static int wait_for_reader(uint64_t *until)
{
	_Atomic uint32_t nobody = 0;
	uint64_t now = gt_clock_now();

	if (!*until)
		*until = now + STREAM_PATIENCE_NS;
	gt_futex_wait(&nobody, 0, STREAM_RETRY_NS);
	return now < *until ? 0 : -EAGAIN;
}

static int write_all(struct gt_sink *sink, uint64_t offset, const char *data, size_t size)
{
	uint64_t until = 0;
	int error = 0;
	ssize_t n;

	while (size && !error) {
		if (sink->stream)
			n = write(sink->file.fd, data, size);
		else
			n = gt_sys_pwrite(sink->file.fd, data, size, offset);
		if (n > 0) {
			data += n;
			offset += (uint64_t)n;
			size -= (size_t)n;
			until = 0;
		} else if (n == 0) {
			error = -EIO;
		} else if (errno == EAGAIN && sink->stream) {
			error = wait_for_reader(&until);
		} else if (errno != EINTR) {
			error = -errno;
		}
	}
	return error;
}

static int report(struct gt_sink *sink, int error)
{
	char number[32];

	if (error < 0 && error != sink->known) {
		sink->known = error;
		gt_log_say("%s: cannot write (%s)", sink->path,
			   gt_sink_reason(error, number, sizeof(number)));
	}
	return error;
}

/* As it is. */
static int put(struct gt_sink *sink, uint64_t offset, const void *data, size_t size)
{
	int error = write_all(sink, offset, data, size);

	if (error && sink->stream) /* a part may be written: the stream ends here */
		sink->lost = error;
	if (!error)
		gt_write_behind_note(&sink->behind, sink->file.fd, offset, size);
	return error;
}

/* ---- compressed: offsets of callers are those of the text ---- */

static int put_packed(void *context, uint64_t offset, const void *data, size_t size)
{
	return put(context, offset, data, size);
}

/* Where it is not allowed, what is behind the end stays: readers leave it alone. */
static int truncate_packed(void *context, uint64_t size)
{
	struct gt_sink *sink = context;

	if (!gt_seccomp_permits(GT_SYS_ftruncate))
		return 0;
	return ftruncate(sink->file.fd, (off_t)size) < 0 ? -errno : 0;
}

bool gt_sink_pack(struct gt_sink *sink)
{
	sink->packed = gt_packed_new(&(struct gt_packed_file){
		.write = put_packed, .truncate = truncate_packed, .context = sink});
	return sink->packed != NULL;
}

/* The head again, or another end. */
static int write_packed(struct gt_sink *sink, uint64_t offset, const void *data, size_t kept,
			size_t size)
{
	uint64_t next = gt_packed_place(sink->packed).offset;

	if (offset == next)
		return gt_packed_write(sink->packed, data, kept, size);
	return offset ? -EINVAL : gt_packed_rewrite(sink->packed, data, size);
}

/* ---- either ---- */

static int begin_write(struct gt_sink *sink, uint64_t offset, size_t size)
{
	int error = ensure_ours(sink);

	return !error && size > gt_sink_room(sink, offset) ? -EFBIG : error;
}

int gt_sink_append(struct gt_sink *sink, uint64_t offset, const void *data, size_t size,
		   size_t overwritten)
{
	int saved_errno = errno;
	int error = begin_write(sink, offset, size);

	if (!error)
		error = sink->packed ? write_packed(sink, offset, data, size - overwritten, size)
				     : put(sink, offset, data, size);
	errno = saved_errno;
	return report(sink, error);
}

int gt_sink_write(struct gt_sink *sink, uint64_t offset, const void *data, size_t size)
{
	return gt_sink_append(sink, offset, data, size, size);
}

int gt_sink_begin(struct gt_sink *sink, const void *data, size_t head, size_t size)
{
	int saved_errno = errno;
	int error;

	if (!sink->packed)
		return gt_sink_write(sink, 0, data, size);
	error = begin_write(sink, 0, size);
	if (!error)
		error = gt_packed_begin(sink->packed, data, head, size);
	errno = saved_errno;
	return report(sink, error);
}

struct gt_packed_place gt_sink_place(const struct gt_sink *sink)
{
	return sink->packed ? gt_packed_place(sink->packed) : (struct gt_packed_place){0};
}

int gt_sink_truncate(struct gt_sink *sink, uint64_t size)
{
	const struct gt_packed_place place = gt_sink_place(sink);

	return gt_sink_go_back(sink, size, &place);
}

int gt_sink_go_back(struct gt_sink *sink, uint64_t size, const struct gt_packed_place *place)
{
	int error = sink->stream ? -ESPIPE : ensure_ours(sink);

	if (!error && sink->packed)
		return place->offset == size ? gt_packed_go_back(sink->packed, place) : -EINVAL;
	if (!error && ftruncate(sink->file.fd, (off_t)size) < 0)
		error = -errno;
	return error;
}

bool gt_sink_can_patch(const struct gt_sink *sink)
{
	return !sink->stream;
}

uint64_t gt_sink_room(const struct gt_sink *sink, uint64_t offset)
{
	if (sink->max_size == 0)
		return UINT64_MAX;
	return offset < sink->max_size ? sink->max_size - offset : 0;
}
