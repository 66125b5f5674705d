/* SPDX-License-Identifier: Apache-2.0
 *
 * A finished trace packed as one gzip member beside it, then in its place. At any moment one whole
 * file is there: the original goes when the packed one lies on the disk. One thread per call.
 */
#ifndef GT_TRANSFORM_COMPRESS_H
#define GT_TRANSFORM_COMPRESS_H

#include <stdbool.h>
#include <stdint.h>

/* What a compression came to. */
struct gt_compress {
	uint64_t from, to; /* bytes before and after */
	bool was_packed;   /* it is gzip already: nothing was done */
	char path[4096];   /* of the packed file */
	char error[4400];  /* one line, when the call failed */
};

/* Called now and then; false: stop (-EINTR, the original stays alone). */
typedef bool gt_compress_step(void *context);

/*
 * Packs @path into "<path>.gz", which must not exist, reads that back and removes @path. Refuses a
 * JSON trace that is not closed (-EBUSY), what is no trace, and a file that changed meanwhile
 * (-EBUSY). Negative errno with ret->error set; the original then stays as it was and nothing else
 * is left. @step may be NULL.
 */
int gt_compress_file(const char *path, gt_compress_step *step, void *context,
		     struct gt_compress *ret);

#endif
