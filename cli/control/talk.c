/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/control/talk.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/guest/clock.h"
#include "core/guest/sys.h"
#include "recover/liveness.h"

#define MS_NS     1000000u
#define UNREAD_MS 5000 /* the drain thread looks every 0.5 s, but when a disk is slow */
#define WHOLE_MAX (16u << 20)
#define STEP_NS   (1 * MS_NS)
#define NUMBER_AT offsetof(struct gt_mailbox, request.number)
#define TEXT_AT   offsetof(struct gt_mailbox, request.text)
#define CHECK_NS  (100 * MS_NS)

static int fail(struct gt_talk *talk, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct gt_talk *talk, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(talk->text, sizeof(talk->text), format, arguments);
	va_end(arguments);
	talk->error = error;
	return error;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

static int lock(int fd, int patience_ms)
{
	uint64_t until = gt_clock_now() + (uint64_t)patience_ms * MS_NS;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (gt_clock_now() >= until)
			return -EBUSY;
		nap();
	}
	return 0;
}

static bool read_at(int fd, void *to, size_t size, size_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* The process may be waiting for the number to change. It is the kernel that looks at the page,
 * which may be gone. */
static void wake(int fd)
{
	char *memory = mmap(NULL, sizeof(struct gt_mailbox), PROT_READ, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return;
	syscall(SYS_futex, memory + NUMBER_AT, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	munmap(memory, sizeof(struct gt_mailbox));
}

static bool write_at(int fd, const void *from, size_t size, size_t offset)
{
	return pwrite(fd, from, size, (off_t)offset) == (ssize_t)size;
}

/* The number is odd while the text is being written, also if we die in between. */
static bool write_request(struct gt_talk *talk, const char *text)
{
	int fd = talk->box->fd;
	uint32_t number;

	if (!read_at(fd, &number, sizeof(number), NUMBER_AT))
		return false;
	number |= 1;
	talk->number = number + 1 ? number + 1 : 2;
	if (!write_at(fd, &number, sizeof(number), NUMBER_AT) ||
	    !write_at(fd, text, strlen(text) + 1, TEXT_AT) ||
	    !write_at(fd, &talk->number, sizeof(talk->number), NUMBER_AT))
		return false;
	wake(fd);
	return true;
}

static int refuse_strange(struct gt_talk *talk)
{
	const struct passwd *user;
	char process[32];
	struct stat st;

	snprintf(process, sizeof(process), "/proc/%u", talk->box->head.pid);
	if (stat(process, &st) || st.st_uid == geteuid())
		return fail(talk, -EPERM, "%s is no mailbox of this user", talk->box->path);
	user = getpwuid(st.st_uid);
	if (user)
		return fail(talk, -EPERM,
			    "it belongs to user %s: run gputrace as that user (sudo -u %s)",
			    user->pw_name, user->pw_name);
	return fail(talk, -EPERM,
		    "it belongs to user %u: run gputrace as that user (sudo -u '#%u')", st.st_uid,
		    st.st_uid);
}

static int refuse(struct gt_talk *talk)
{
	switch (talk->box->state) {
	case GT_BOX_STOPPED:
		return fail(talk, -EAGAIN, "it is stopped, by a signal or a debugger");
	case GT_BOX_ELSEWHERE:
		return fail(talk, -EREMOTE,
			    "it is in another pid namespace: run gputrace in its container");
	case GT_BOX_STRANGE:
		return fail(talk, -EPROTO,
			    "it is traced by another version of gputrace, which knows other "
			    "requests: use that version's gputrace");
	case GT_BOX_SQUATTED:
		return refuse_strange(talk);
	default:
		return 0;
	}
}

int gt_talk_send(struct gt_talk *talk, const char *verb, const char *argument, int patience_ms)
{
	char text[GT_MAILBOX_REQUEST_MAX];
	int n = snprintf(text, sizeof(text), "%s%s%s", verb, *argument ? " " : "", argument);
	int error = refuse(talk);

	if (error)
		return error;
	if (n < 0 || (size_t)n >= sizeof(text))
		return fail(talk, -E2BIG, "the request is longer than %zu bytes", sizeof(text) - 1);
	error = lock(talk->box->fd, patience_ms);
	if (error == -EBUSY)
		return fail(talk, error, "other commands are speaking to it: try again");
	if (error || !write_request(talk, text))
		return fail(talk, -EIO, "%s cannot be used: %s", talk->box->path,
			    error ? strerror(-error) : "it was cut");
	talk->sent = gt_clock_now();
	return 0;
}

static bool has_ended(const struct gt_talk *talk)
{
	const struct gt_mailbox_head *head = &talk->box->head;

	return gt_sys_start_ticks((int)head->pid) != head->start_ticks ||
	       gt_liveness_of("/proc", (int64_t)head->pid) == GT_LIVENESS_ENDED;
}

static int read_answer(struct gt_talk *talk, uint32_t length, int32_t status)
{
	if (length >= sizeof(talk->text) || status > 0)
		return fail(talk, -EBADMSG, "its answer makes no sense");
	if (!read_at(talk->box->fd, talk->text, length, offsetof(struct gt_mailbox, answer.text)))
		return fail(talk, -EIO, "its mailbox was cut");
	talk->text[length] = 0;
	talk->error = status;
	return status;
}

/* How far it is: the time is up, or it has ended? 0: neither. */
static int give_up(struct gt_talk *talk, bool is_taken, uint64_t since, int patience_ms)
{
	int unread_ms = patience_ms < UNREAD_MS ? patience_ms : UNREAD_MS;
	uint64_t waited = gt_clock_now() - since;

	if (has_ended(talk))
		return fail(talk, -ESRCH, "it has ended");
	if (!is_taken && waited > (uint64_t)unread_ms * MS_NS)
		return fail(talk, -ETIMEDOUT,
			    "it has not looked into its mailbox for %g s: its tracer has ended, "
			    "or waits for a disk",
			    unread_ms / 1000.0);
	if (is_taken && waited > (uint64_t)patience_ms * MS_NS)
		return fail(talk, -ETIMEDOUT, "it has no answer after %g s (--timeout)",
			    patience_ms / 1000.0);
	return 0;
}

static int await(struct gt_talk *talk, int patience_ms)
{
	struct {
		uint32_t taken, number;
		int32_t status;
		uint32_t length;
	} seen;
	uint64_t since = talk->sent, next_check = since + CHECK_NS;
	bool is_taken = false;
	int error = 0;

	for (;;) {
		/* looked at before the answer is: it may answer, and end at once */
		if (gt_clock_now() >= next_check) {
			next_check += CHECK_NS;
			error = give_up(talk, is_taken, since, patience_ms);
		}
		if (!read_at(talk->box->fd, &seen, sizeof(seen),
			     offsetof(struct gt_mailbox, answer)))
			return fail(talk, -EIO, "its mailbox was cut");
		if (seen.number == talk->number)
			return read_answer(talk, seen.length, seen.status);
		if (seen.taken == talk->number && !is_taken) {
			is_taken = true;
			since = gt_clock_now();
		}
		if (error)
			return error;
		nap();
	}
}

int gt_talk_await(struct gt_talk *talk, int patience_ms)
{
	if (!talk->sent)
		return talk->error;
	await(talk, patience_ms);
	flock(talk->box->fd, LOCK_UN);
	return talk->error;
}

static int append(struct gt_talk *talk, size_t *length)
{
	size_t more = strlen(talk->text);
	char *grown = realloc(talk->whole, *length + more + 1);

	if (!grown)
		return fail(talk, -ENOMEM, "no memory for its answer");
	talk->whole = grown;
	memcpy(grown + *length, talk->text, more + 1);
	*length += more;
	return 0;
}

/* The lock is still held. */
static int ask_more(struct gt_talk *talk, const char *verb, size_t length, int patience_ms)
{
	char text[64];

	snprintf(text, sizeof(text), "%s more %zu", verb, length);
	if (!write_request(talk, text))
		return fail(talk, -EIO, "%s cannot be used: it was cut", talk->box->path);
	talk->sent = gt_clock_now();
	return await(talk, patience_ms);
}

static int await_all(struct gt_talk *talk, const char *verb, int patience_ms)
{
	size_t length = 0;
	int error = await(talk, patience_ms);

	while (!error && !(error = append(talk, &length)) &&
	       strlen(talk->text) == sizeof(talk->text) - 1) {
		if (length > WHOLE_MAX)
			return fail(talk, -EMSGSIZE, "its answer has no end");
		error = ask_more(talk, verb, length, patience_ms);
	}
	return error;
}

int gt_talk_await_all(struct gt_talk *talk, const char *verb, int patience_ms)
{
	if (!talk->sent)
		return talk->error;
	await_all(talk, verb, patience_ms);
	flock(talk->box->fd, LOCK_UN);
	return talk->error;
}

bool gt_talk_value(const char *answer, const char *key, char *ret_value, size_t size)
{
	size_t length = strlen(key);

	for (const char *line = answer; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (!strncmp(line, key, length) && line[length] == ' ') {
			snprintf(ret_value, size, "%.*s", (int)strcspn(line + length + 1, "\n"),
				 line + length + 1);
			return true;
		}
	return false;
}
