/* SPDX-License-Identifier: Apache-2.0
 *
 * What `gputrace attach` and `gputrace detach` and the library in the process say to each other:
 * one exported object of the library, gputrace_attach_box. The command writes it through the
 * kernel, which lets only those do so who may debug the process.
 *
 * The command writes options and wish, then adds one to asked. The library does what is wished,
 * writes state, error and text, and sets answered to asked.
 */
#ifndef GT_CORE_WINDOW_ATTACH_BOX_H
#define GT_CORE_WINDOW_ATTACH_BOX_H

#include <stdatomic.h>
#include <stdint.h>

#define GT_ATTACH_MAGIC  0x3168636174746167ull /* "gattach1" */

/* The last folder of the path by which `gputrace attach` loads the library. Its constructor sees by
 * that that the program runs already: its environment stays as it is. */
#define GT_ATTACH_FOLDER "/./"

/* What the command wants. */
enum gt_attach_wish { GT_ATTACH_NOTHING, GT_ATTACH_RECORD, GT_ATTACH_REST };

/* What the library does. */
enum gt_attach_state {
	GT_ATTACH_LOADING,  /* its constructor has not run yet */
	GT_ATTACH_PREPARED, /* it was there when the program started */
	GT_ATTACH_STARTING, /* the first wish is being fulfilled */
	GT_ATTACH_WAITS,    /* for CUDA, which the process does not use yet */
	GT_ATTACH_RECORDS,  /* into the file @text */
	GT_ATTACH_RESTS,    /* the file is closed, CUPTI is not subscribed to */
	GT_ATTACH_FAILED,   /* @text says why, or it was not finished; it may be tried again */
	GT_ATTACH_STATES_
};

/* Both sides are of one build: the magic changes with the form. */
struct gt_attach_box {
	uint64_t magic;
	_Atomic uint32_t asked, answered; /* numbers of wishes */
	_Atomic uint32_t wish;            /* enum gt_attach_wish */
	_Atomic uint32_t state;           /* enum gt_attach_state */
	int32_t error;                    /* of the last answer: 0, or a negative errno */
	uint32_t descriptors;             /* that the kernel's table of the process has room for */
	char text[1024];                  /* the file, or the reason */
	char options[8192]; /* GPUTRACE_NAME=value, each with its zero byte; an empty one ends */
};

#endif
