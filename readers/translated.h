/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces in another form than JSON, read as the JSON that they stand for: a thread makes it, a pipe
 * carries it, the reader reads it, nothing is kept. The program says how it is made, for writing
 * JSON is not a matter of analysis. One thread per reading, besides its own.
 */
#ifndef GT_READERS_TRANSLATED_H
#define GT_READERS_TRANSLATED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "readers/input.h"

/* What a translation came to. */
struct gt_translation {
	bool closed;      /* false: the file was cut, what stands before the cut was translated */
	uint64_t strange; /* parts that are no events */
	char error[512];  /* "FILE: what", when it failed */
	char doubt[256];  /* the file's books against what it holds, when they differ */
};

/* Reads @in to its end and writes JSON into @fd, a pipe, which it closes. 0 or a negative errno. */
typedef int (*gt_translator)(struct gt_input *in, int fd, struct gt_translation *ret);

/* How it is done from now on; call before any reading. NULL, the default: such files are
 * refused. */
void gt_translated_by(gt_translator translator);

/* A file that is read as the JSON that it stands for. */
struct gt_translated {
	struct gt_input in; /* the file */
	int fd;
	pthread_t thread;
	struct gt_translation outcome;
	int rc;
};

/* Does a file that begins like the window of @in have to be translated? */
bool gt_translated_is_due(const struct gt_input *in);

/* Takes @in over and makes it the JSON; t->outcome.error is filled on failure, which leaves @in as
 * it was. @t must stay where it is. */
int gt_translated_start(struct gt_translated *t, struct gt_input *in);

/* Waits for the thread; close the JSON's input before, or it may wait for its reader. t->rc is what
 * the translation returned. */
void gt_translated_end(struct gt_translated *t);

#endif
