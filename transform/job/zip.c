/* SPDX-License-Identifier: Apache-2.0
 *
 * See zip.h. The layout is that of PKWARE's APPNOTE: local header, data, data descriptor of each
 * member, then the central directory and its end.
 */
#include "transform/job/zip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define ROOM       ((size_t)256 << 10)
#define VERSION    20     /* 2.0: deflate */
#define SIZE_LATER 0x0008 /* flag: sizes and CRC stand behind the data */
#define DEFLATE    8
#define DATE       0x0021 /* 1980-01-01: equal inputs make equal files */

static void put(struct gt_zip *zip, const void *data, size_t size)
{
	if (zip->error)
		return;
	if (zip->at + size > UINT32_MAX)
		zip->error = -EFBIG;
	else if (fwrite(data, 1, size, zip->out) != size)
		zip->error = -EIO;
	zip->at += size;
}

static void put_number(struct gt_zip *zip, uint32_t value, size_t bytes)
{
	unsigned char text[4];

	for (size_t i = 0; i < bytes; i++)
		text[i] = (unsigned char)(value >> 8 * i);
	put(zip, text, bytes);
}

/* What the local header and the directory have in common, from the version on. */
static void put_facts(struct gt_zip *zip, const struct gt_zip_member *member, bool is_later)
{
	put_number(zip, VERSION, 2);
	put_number(zip, SIZE_LATER, 2);
	put_number(zip, DEFLATE, 2);
	put_number(zip, 0, 2); /* time */
	put_number(zip, DATE, 2);
	put_number(zip, is_later ? 0 : member->crc, 4);
	put_number(zip, is_later ? 0 : member->packed, 4);
	put_number(zip, is_later ? 0 : member->plain, 4);
	put_number(zip, (uint32_t)strlen(member->name), 2);
	put_number(zip, 0, 2); /* extra field */
}

int gt_zip_begin(struct gt_zip *zip, FILE *out)
{
	z_stream *stream = calloc(1, sizeof(*stream));

	*zip = (struct gt_zip){.out = out, .room = malloc(ROOM)};
	if (!stream || !zip->room ||
	    deflateInit2(stream, Z_BEST_SPEED, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY)) {
		free(stream);
		return zip->error = -ENOMEM;
	}
	zip->deflate = stream;
	return 0;
}

void gt_zip_open(struct gt_zip *zip, const char *name)
{
	struct gt_zip_member member = {.name = strdup(name), .at = (uint32_t)zip->at};

	if (zip->error)
		free(member.name);
	else if (zip->members.count == UINT16_MAX - 1)
		zip->error = -EOVERFLOW;
	else if (!member.name || !gt_vec_push(&zip->members, member))
		zip->error = -ENOMEM;
	if (zip->error)
		return;
	deflateReset(zip->deflate);
	put_number(zip, 0x04034b50, 4);
	put_facts(zip, &member, true);
	put(zip, name, strlen(name));
}

static struct gt_zip_member *newest(struct gt_zip *zip)
{
	return &zip->members.at[zip->members.count - 1];
}

static void deflate_to(struct gt_zip *zip, int flush)
{
	z_stream *stream = zip->deflate;

	do {
		stream->next_out = zip->room;
		stream->avail_out = ROOM;
		deflate(stream, flush);
		newest(zip)->packed += (uint32_t)(ROOM - stream->avail_out);
		put(zip, zip->room, ROOM - stream->avail_out);
	} while (!zip->error && !stream->avail_out);
}

void gt_zip_put(struct gt_zip *zip, const void *data, size_t size)
{
	z_stream *stream = zip->deflate;
	struct gt_zip_member *member;

	if (zip->error)
		return;
	member = newest(zip);
	if (size > UINT32_MAX - member->plain) {
		zip->error = -EFBIG;
		return;
	}
	member->crc = (uint32_t)crc32(member->crc, data, (uInt)size);
	member->plain += (uint32_t)size;
	stream->next_in = (unsigned char *)data;
	stream->avail_in = (uInt)size;
	deflate_to(zip, Z_NO_FLUSH);
}

void gt_zip_close(struct gt_zip *zip)
{
	const struct gt_zip_member *member;

	if (zip->error)
		return;
	deflate_to(zip, Z_FINISH);
	member = newest(zip);
	put_number(zip, 0x08074b50, 4);
	put_number(zip, member->crc, 4);
	put_number(zip, member->packed, 4);
	put_number(zip, member->plain, 4);
}

static void put_directory(struct gt_zip *zip)
{
	uint64_t at = zip->at, size;

	for (size_t i = 0; i < zip->members.count; i++) {
		const struct gt_zip_member *member = &zip->members.at[i];

		put_number(zip, 0x02014b50, 4);
		put_number(zip, VERSION, 2); /* made by */
		put_facts(zip, member, false);
		put_number(zip, 0, 2); /* comment */
		put_number(zip, 0, 2); /* disk */
		put_number(zip, 0, 2); /* attributes */
		put_number(zip, 0, 4);
		put_number(zip, member->at, 4);
		put(zip, member->name, strlen(member->name));
	}
	size = zip->at - at;
	put_number(zip, 0x06054b50, 4);
	put_number(zip, 0, 2); /* disks */
	put_number(zip, 0, 2);
	put_number(zip, (uint32_t)zip->members.count, 2);
	put_number(zip, (uint32_t)zip->members.count, 2);
	put_number(zip, (uint32_t)size, 4);
	put_number(zip, (uint32_t)at, 4);
	put_number(zip, 0, 2); /* comment */
}

int gt_zip_end(struct gt_zip *zip)
{
	if (!zip->error)
		put_directory(zip);
	if (!zip->error && fflush(zip->out))
		zip->error = -EIO;
	if (zip->deflate)
		deflateEnd(zip->deflate);
	free(zip->deflate);
	free(zip->room);
	for (size_t i = 0; i < zip->members.count; i++)
		free(zip->members.at[i].name);
	gt_vec_free(&zip->members);
	return zip->error;
}
