/* SPDX-License-Identifier: Apache-2.0
 *
 * See translated.h.
 */
#include "readers/translated.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK 64 /* bytes that tell */

static gt_translator translate;

void gt_translated_by(gt_translator translator)
{
	translate = translator;
}

/* A protobuf trace begins with the tag of its first packet, which is a newline; in its head there
 * are bytes that JSON has nowhere. */
bool gt_translated_is_due(const struct gt_input *in)
{
	size_t size = in->size < LOOK ? in->size : LOOK;

	if (!size || in->data[0] != '\n')
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)in->data[i] < ' ' && !memchr("\t\r\n", in->data[i], 3))
			return true;
	return false;
}

static void *work(void *data)
{
	struct gt_translated *t = data;
	sigset_t pipe;

	/* a reader that has had enough is no reason to die */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	t->rc = translate(&t->in, t->fd, &t->outcome);
	return NULL;
}

static int fail(struct gt_translated *t, const char *path, const char *what, int rc)
{
	snprintf(t->outcome.error, sizeof(t->outcome.error), "%.256s: %s", path, what);
	return rc;
}

/* The thread reads the file from @t->in, the caller its JSON from @in. */
static int start(struct gt_translated *t, struct gt_input *in, const int *ends)
{
	int rc;

	t->in = *in;
	t->fd = ends[1];
	rc = gt_input_open_fd(in, t->in.path, ends[0]);
	if (!rc) {
		rc = -pthread_create(&t->thread, NULL, work, t);
		if (rc)
			gt_input_close(in);
	}
	if (rc) {
		*in = t->in;
		close(ends[1]);
	}
	return rc;
}

int gt_translated_start(struct gt_translated *t, struct gt_input *in)
{
	int ends[2], rc;

	*t = (struct gt_translated){.fd = -1};
	if (!translate)
		return fail(t, in->path, "a .pftrace, which is not read here", -EBADMSG);
	if (pipe2(ends, O_CLOEXEC))
		return fail(t, in->path, strerror(errno), -errno);
	rc = start(t, in, ends);
	return rc ? fail(t, in->path, strerror(-rc), rc) : 0;
}

void gt_translated_end(struct gt_translated *t)
{
	pthread_join(t->thread, NULL);
	gt_input_close(&t->in);
}
