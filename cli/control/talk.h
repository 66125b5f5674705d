/* SPDX-License-Identifier: Apache-2.0
 *
 * One request to one process, and its answer. Requests to several processes are sent first and
 * awaited then, so that all begin at once. A lock on the mailbox, which the kernel releases if this
 * process dies, keeps other commands away from the first to the last step. One thread.
 */
#ifndef GT_CLI_CONTROL_TALK_H
#define GT_CLI_CONTROL_TALK_H

#include <stddef.h>
#include <stdint.h>

#include "cli/control/boxes.h"

/* A conversation. Given: box; the rest is zero at first. */
struct gt_talk {
	const struct gt_box *box;
	uint32_t number; /* of the request */
	uint64_t sent;   /* CLOCK_MONOTONIC ns */
	int error;       /* of _send, or of what the process answered: negative errno */
	char text[GT_MAILBOX_ANSWER_MAX]; /* the answer, or one line that says what went wrong */
	char *whole;                      /* by _await_all: all pieces of it; NULL: none */
};

/* Sends "VERB" or "VERB ARGUMENT". @patience_ms: for other commands that speak to the process. On
 * failure _await only returns the error. -EBUSY, -E2BIG, -EREMOTE: in another namespace, -EPROTO,
 * -EPERM: another user's. */
int gt_talk_send(struct gt_talk *talk, const char *verb, const char *argument, int patience_ms);

/* Awaits the answer and ends the conversation. @patience_ms: from the time that the request was
 * read; a process that does not read it is given up after some seconds. 0, the errno of the
 * process, -ETIMEDOUT, -ESRCH: it has ended. */
int gt_talk_await(struct gt_talk *talk, int patience_ms);

/* The same of an answer in several pieces: a piece that is full is followed by another one, by
 * "VERB more BYTES". The caller frees talk->whole. -ENOMEM, -EMSGSIZE. */
int gt_talk_await_all(struct gt_talk *talk, const char *verb, int patience_ms);

/* Copies the value of the line "KEY value" of an answer. False: there is none. Pure. */
bool gt_talk_value(const char *answer, const char *key, char *ret_value, size_t size);

#endif
