/* SPDX-License-Identifier: Apache-2.0
 *
 * The mailbox from both sides: requests and answers, and what neither side may trust.
 */
#include "core/control/mailbox.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/control/boxes.h"
#include "cli/control/talk.h"
#include "core/guest/futex.h"
#include "core/guest/sys.h"

static char folder[64];

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/dev/shm/test-mailbox.XXXXXX");
	if (!mkdtemp(folder))
		cr_skip("there is no /dev/shm");
}

static void make(void)
{
	struct gt_mailbox_options options = {.where = folder,
					     .head = {.rank = 3, .started = 5, .process = "me"}};
	char why[256];

	make_folder();
	cr_assert_eq(gt_mailbox_make(&options, why, sizeof(why)), 0, "%s", why);
}

static void clean(void)
{
	char command[128];

	gt_mailbox_remove();
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}

/* Without the mailbox that the suite has made. */
static void empty_folder(void)
{
	clean();
	make_folder();
}

TestSuite(mailbox, .init = make, .fini = clean);

static struct gt_boxes boxes;

static const struct gt_box *find(void)
{
	cr_assert_eq(gt_boxes_find(&boxes, folder), 0);
	cr_assert_eq(boxes.list.count, 1);
	return &boxes.list.at[0];
}

static void overwrite(size_t offset, const void *bytes, size_t size)
{
	int fd = open(gt_mailbox_path(), O_RDWR);

	cr_assert_eq(pwrite(fd, bytes, size, (off_t)offset), (ssize_t)size);
	close(fd);
}

Test(mailbox, is_found_with_its_process)
{
	const struct gt_box *box = find();
	struct stat st;

	cr_assert_eq(box->state, GT_BOX_LIVE);
	cr_assert_eq(box->head.pid, (uint32_t)getpid());
	cr_assert_eq(box->head.rank, 3);
	cr_assert_str_eq(box->head.process, "me");
	cr_assert_eq(stat(box->path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	cr_assert_eq((size_t)st.st_size, sizeof(struct gt_mailbox));
	gt_boxes_fini(&boxes);
}

static void converse(const char *verb, const char *argument, int status, const char *text,
		     size_t length)
{
	static struct gt_talk talk;
	struct gt_mailbox_request request;
	char expected[256];

	talk = (struct gt_talk){.box = find()};
	cr_assert_not(gt_mailbox_take(&request));
	cr_assert_eq(gt_talk_send(&talk, verb, argument, 0), 0);
	cr_assert(gt_mailbox_take(&request));
	snprintf(expected, sizeof(expected), "%s%s%s", verb, *argument ? " " : "", argument);
	cr_assert_str_eq(request.text, expected);
	cr_assert_not(gt_mailbox_take(&request), "a request is read once");
	gt_mailbox_answer(request.number, status, text, length);
	cr_assert_eq(gt_talk_await(&talk, 1000), status);
	if (length >= sizeof(talk.text))
		length = sizeof(talk.text) - 1;
	cr_assert_eq(strlen(talk.text), length);
	cr_assert_eq(memcmp(talk.text, text, length), 0);
	gt_boxes_fini(&boxes);
}

Test(mailbox, requests_and_answers)
{
	static char longest[GT_MAILBOX_ANSWER_MAX + 10];

	memset(longest, 'x', sizeof(longest));
	converse("status", "", 0, "state recording\n", 16);
	converse("set", "stacks=off", -EPERM, "no", 2);
	converse("status", "", 0, "", 0);
	converse("hang", "", 0, longest, GT_MAILBOX_ANSWER_MAX - 1);
	converse("hang", "", 0, longest, sizeof(longest));
	for (int i = 0; i < 1000; i++)
		converse("status", "", 0, "a", 1);
}

Test(mailbox, a_request_that_is_not_complete_is_not_read)
{
	struct gt_mailbox_request request;
	uint32_t number = 7;

	overwrite(offsetof(struct gt_mailbox, request.number), &number, sizeof(number));
	cr_assert_not(gt_mailbox_take(&request));
	converse("status", "", 0, "a", 1);
	number = UINT32_MAX;
	overwrite(offsetof(struct gt_mailbox, request.number), &number, sizeof(number));
	converse("status", "", 0, "a", 1);
}

Test(mailbox, a_text_without_an_end_is_ended)
{
	static char text[GT_MAILBOX_REQUEST_MAX];
	struct gt_mailbox_request request;
	uint32_t number = 8;

	memset(text, 'a', sizeof(text));
	overwrite(offsetof(struct gt_mailbox, request.text), text, sizeof(text));
	overwrite(offsetof(struct gt_mailbox, request.number), &number, sizeof(number));
	cr_assert(gt_mailbox_take(&request));
	cr_assert_eq(strlen(request.text), sizeof(text) - 1);
}

/* A load would raise SIGBUS. */
Test(mailbox, a_file_that_was_cut_is_an_error)
{
	static struct gt_talk talk;
	struct gt_mailbox_request request;

	talk = (struct gt_talk){.box = find()};
	cr_assert_eq(gt_talk_send(&talk, "status", "", 0), 0);
	cr_assert_eq(truncate(gt_mailbox_path(), 0), 0);
	cr_assert_not(gt_mailbox_take(&request));
	gt_mailbox_answer(2, 0, "a", 1);
	cr_assert_eq(gt_talk_await(&talk, 1000), -EIO);
	gt_boxes_fini(&boxes);
	cr_assert_eq(find()->state, GT_BOX_SQUATTED);
}

Test(mailbox, one_command_at_a_time)
{
	static struct gt_talk talk;
	int fd = open(gt_mailbox_path(), O_RDWR);

	cr_assert_eq(flock(fd, LOCK_EX), 0);
	talk = (struct gt_talk){.box = find()};
	cr_assert_eq(gt_talk_send(&talk, "status", "", 20), -EBUSY);
	cr_assert_eq(gt_talk_await(&talk, 20), -EBUSY);
	close(fd); /* as its death does */
	converse("status", "", 0, "a", 1);
}

Test(mailbox, who_has_no_answer_is_given_up)
{
	static struct gt_talk talk;
	struct gt_mailbox_request request;

	talk = (struct gt_talk){.box = find()};
	cr_assert_eq(gt_talk_send(&talk, "status", "", 0), 0);
	cr_assert(gt_mailbox_take(&request));
	cr_assert_eq(gt_talk_await(&talk, 50), -ETIMEDOUT);
	gt_mailbox_answer(request.number, 0, "late", 4);
	converse("status", "", 0, "a", 1);
}

Test(mailbox, a_number_that_was_reused_is_another_process)
{
	uint64_t ticks = 1;

	overwrite(offsetof(struct gt_mailbox, head.start_ticks), &ticks, sizeof(ticks));
	cr_assert_eq(gt_boxes_find(&boxes, folder), 0);
	cr_assert_eq(boxes.list.count, 0);
	cr_assert_neq(access(gt_mailbox_path(), F_OK), 0, "it was removed");
}

Test(mailbox, a_process_of_another_namespace_is_left_alone)
{
	static struct gt_talk talk;
	uint64_t other = 1, ticks = 1;

	overwrite(offsetof(struct gt_mailbox, head.pid_namespace), &other, sizeof(other));
	overwrite(offsetof(struct gt_mailbox, head.start_ticks), &ticks, sizeof(ticks));
	talk = (struct gt_talk){.box = find()};
	cr_assert_eq(talk.box->state, GT_BOX_ELSEWHERE);
	cr_assert_eq(gt_talk_send(&talk, "status", "", 0), -EREMOTE);
	cr_assert_eq(access(gt_mailbox_path(), F_OK), 0);
}

Test(mailbox, another_version_is_refused)
{
	static struct gt_talk talk;
	uint32_t version = GT_MAILBOX_VERSION + 1;

	overwrite(offsetof(struct gt_mailbox, head.version), &version, sizeof(version));
	talk = (struct gt_talk){.box = find()};
	cr_assert_eq(talk.box->state, GT_BOX_STRANGE);
	cr_assert_eq(gt_talk_send(&talk, "status", "", 0), -EPROTO);
}

/* What may lie there under such a name. */
Test(mailbox, what_is_none_is_not_used, .init = empty_folder)
{
	static const char *const makes[] = {
		"(head -c 1 /dev/zero; head -c 67071 /dev/urandom) >%s/gputrace-7.1.control",
		"mkfifo %s/gputrace-7.1.control",
		"mkdir %s/gputrace-7.1.control",
		"ln -s /etc/passwd %s/gputrace-7.1.control",
		"ln -s /nowhere %s/gputrace-7.1.control",
	};
	char command[256];
	static struct gt_talk talk;

	for (size_t i = 0; i < sizeof(makes) / sizeof(makes[0]); i++) {
		snprintf(command, sizeof(command), makes[i], folder);
		cr_assert_eq(system(command), 0);
		talk = (struct gt_talk){.box = find()};
		cr_assert_eq(talk.box->state, GT_BOX_SQUATTED, "%s", command);
		cr_assert_eq(talk.box->head.pid, 7);
		cr_assert_eq(gt_talk_send(&talk, "status", "", 0), -EPERM);
		gt_boxes_fini(&boxes);
		snprintf(command, sizeof(command), "rm -rf %s/*", folder);
		cr_assert_eq(system(command), 0);
	}
}

Test(mailbox, what_a_process_was_killed_over_is_removed, .init = empty_folder)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "cd %s && : >gputrace-%d.1.control && : >gputrace-999999999.1.control && "
		 "truncate -s 67072 gputrace-999999998.1.control",
		 folder, (int)getpid());
	cr_assert_eq(system(command), 0);
	cr_assert_eq(find()->head.pid, (uint32_t)getpid(), "it may be under way");
}

Test(mailbox, others_may_not_write_it)
{
	cr_assert_eq(chmod(gt_mailbox_path(), 0666), 0);
	cr_assert_eq(find()->state, GT_BOX_SQUATTED);
}

Test(mailbox, values_of_an_answer)
{
	static const char answer[] = "state recording\nkernels 12\nfile /a b\nempty \n";
	char value[16];

	cr_assert(gt_talk_value(answer, "state", value, sizeof(value)));
	cr_assert_str_eq(value, "recording");
	cr_assert(gt_talk_value(answer, "file", value, sizeof(value)));
	cr_assert_str_eq(value, "/a b");
	cr_assert(gt_talk_value(answer, "empty", value, sizeof(value)));
	cr_assert_str_eq(value, "");
	cr_assert_not(gt_talk_value(answer, "stat", value, sizeof(value)));
	cr_assert_not(gt_talk_value("", "state", value, sizeof(value)));
}

Test(mailbox, is_made_on_tmpfs_only, .init = empty_folder)
{
	struct gt_mailbox_options options = {.where = "/proc"};
	char why[256];

	cr_assert_neq(gt_mailbox_make(&options, why, sizeof(why)), 0);
	cr_assert_str_eq(why, "/proc is no tmpfs");
	options.where = "off";
	cr_assert_eq(gt_mailbox_make(&options, why, sizeof(why)), -ECANCELED);
	cr_assert_str_eq(gt_mailbox_path(), "");
	gt_mailbox_answer(2, 0, "", 0);
}

#define LONG_NS 60000000000u

static _Atomic uint32_t word;

static void *wait_long(void *ret_answer)
{
	*(enum gt_mailbox_wait *)ret_answer = gt_mailbox_wait(&word, 0, LONG_NS);
	return NULL;
}

/* The request of a command ends the wait of the process, and so does its own word. */
Test(mailbox, a_request_ends_a_wait, .timeout = 30)
{
	static struct gt_talk talk;
	enum gt_mailbox_wait answer;
	struct gt_mailbox_request request;
	pthread_t thread;

	if (gt_mailbox_wait(&word, 0, 1000000) == GT_MAILBOX_UNKNOWN)
		cr_skip("the kernel cannot wait for two words");
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(pthread_create(&thread, NULL, wait_long, &answer), 0);
		usleep(100000);
		if (i == 0) {
			talk.box = find();
			cr_assert_eq(gt_talk_send(&talk, "status", "", 1000), 0);
		} else {
			word = 1;
			gt_futex_wake(&word);
		}
		cr_assert_eq(pthread_join(thread, NULL), 0);
		cr_assert_eq(answer, i == 0 ? GT_MAILBOX_REQUEST : GT_MAILBOX_NOTHING);
		if (i == 0) { /* one that is there is not waited for */
			cr_assert_eq(gt_mailbox_wait(&word, 0, LONG_NS), GT_MAILBOX_REQUEST);
			cr_assert(gt_mailbox_take(&request));
		}
	}
}

Test(mailbox, a_file_that_was_cut_ends_no_wait)
{
	cr_assert_eq(truncate(gt_mailbox_path(), 0), 0);
	cr_assert_eq(gt_mailbox_wait(&word, 0, LONG_NS), GT_MAILBOX_UNKNOWN);
}
