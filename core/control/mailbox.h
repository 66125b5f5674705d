/* SPDX-License-Identifier: Apache-2.0
 *
 * The mailbox of a traced process: a file on tmpfs through which commands of the same user speak to
 * it (docs/internals/control.md). The process makes it, mode 0600, reads requests and writes
 * answers; one command at a time, which holds a lock on the file, writes requests and reads
 * answers.
 *
 * Here is the layout, and the side of the process: drain thread, but for _make and _remove. Who
 * may write the file could also cut it, and a plain load would then raise SIGBUS in the program: so
 * the kernel copies, which fails instead.
 */
#ifndef GT_CORE_CONTROL_MAILBOX_H
#define GT_CORE_CONTROL_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_MAILBOX_MAGIC       "gputrace mail\n"
#define GT_MAILBOX_VERSION     1u
#define GT_MAILBOX_SUFFIX      ".control"
#define GT_MAILBOX_REQUEST_MAX 1024u  /* bytes of a request, with its end */
#define GT_MAILBOX_ANSWER_MAX  65536u /* bytes of an answer, with its end */

/* Whose mailbox it is: written once, before the file can be found. Text is zero-terminated. */
struct gt_mailbox_head {
	char magic[16];
	uint32_t version;       /* of this layout */
	uint32_t size;          /* of the file */
	uint32_t pid;           /* as the process sees it */
	int32_t rank;           /* -1: none */
	uint64_t start_ticks;   /* of the process, field 22 of its stat */
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid, 0: not known */
	uint64_t started;       /* the session, ms since the epoch */
	char boot_id[40];
	char host[72];
	char process[64]; /* its short name */
	char run[256];    /* name of the run; empty: none */
};

/* Written by a command. `number` is odd while the rest is being written, and even when it is
 * complete: a request is new when its number is even and not that of the last one. */
struct gt_mailbox_request {
	uint32_t number;
	char text[GT_MAILBOX_REQUEST_MAX]; /* "VERB" or "VERB ARGUMENT", zero-terminated */
};

/* Written by the process, `taken` when it has read the request of that number, `number` when the
 * rest answers it. */
struct gt_mailbox_answer {
	uint32_t taken;
	uint32_t number;
	int32_t status;  /* 0, or a negative errno: then the text is one line that says why */
	uint32_t length; /* of the text */
	char text[GT_MAILBOX_ANSWER_MAX];
};

/* The file. */
struct gt_mailbox {
	struct gt_mailbox_head head;
	struct gt_mailbox_request request;
	struct gt_mailbox_answer answer;
};

/* How to make the mailbox of this process. */
struct gt_mailbox_options {
	const char *where;           /* "on", "off", or a folder */
	const char *runtime;         /* $XDG_RUNTIME_DIR or NULL */
	struct gt_mailbox_head head; /* given: rank, started, host, process, run */
};

/* 0, or a negative errno with a short reason in @ret_why: then nobody can speak to this process.
 * Session start. */
int gt_mailbox_make(const struct gt_mailbox_options *options, char *ret_why, size_t size);

/* Removes the file, if this process has one. Who ends the session. */
void gt_mailbox_remove(void);

/* Its path; empty: there is none. */
const char *gt_mailbox_path(void);

/* Copies a new request and marks it as taken; false: there is none. Its text is terminated. */
bool gt_mailbox_take(struct gt_mailbox_request *ret_request);

/* How a wait has ended. */
enum gt_mailbox_wait {
	GT_MAILBOX_NOTHING, /* the time is over, or *word has changed */
	GT_MAILBOX_REQUEST, /* there is something new */
	GT_MAILBOX_UNKNOWN, /* nothing was waited for: there is no mailbox, or the kernel cannot */
};

/* Sleeps while *word == @value and no command writes a request, at most @timeout_ns. */
enum gt_mailbox_wait gt_mailbox_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* Answers the request of this number. A text that is too long is cut. */
void gt_mailbox_answer(uint32_t number, int status, const char *text, size_t length);

#endif
