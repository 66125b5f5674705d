/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a zip file as a stream: each member deflated, its size behind it. Only what every reader
 * knows, Perfetto's among them: version 2.0, no zip64 (so less than 4 GiB in all, of each member
 * and 65534 members), names of ASCII. One thread per file.
 */
#ifndef GT_TRANSFORM_JOB_ZIP_H
#define GT_TRANSFORM_JOB_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "readers/vec.h"

/* A member that was written. */
struct gt_zip_member {
	char *name;
	uint32_t crc, packed, plain, at; /* sizes and place in bytes */
};

/* A zip file that is being written. */
struct gt_zip {
	FILE *out; /* the caller's */
	uint64_t at;
	GT_VEC(struct gt_zip_member) members;
	void *deflate; /* private */
	unsigned char *room;
	int error; /* the first negative errno; nothing is written after it */
};

/* Begins a file at the start of @out. 0 or -ENOMEM; gt_zip_end in either case. */
int gt_zip_begin(struct gt_zip *zip, FILE *out);

/* Begins a member, adds to it, ends it. The name is one of ASCII that no other member has. */
void gt_zip_open(struct gt_zip *zip, const char *name);
void gt_zip_put(struct gt_zip *zip, const void *data, size_t size);
void gt_zip_close(struct gt_zip *zip);

/* Writes the directory and frees everything. 0, or the first negative errno: -EFBIG when the file
 * would be larger than a plain zip can be, -EOVERFLOW when it would have more members. */
int gt_zip_end(struct gt_zip *zip);

#endif
