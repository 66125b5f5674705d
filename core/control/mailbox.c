/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/control/mailbox.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/guest/futex.h"
#include "core/guest/peek.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/shared_file.h"
#include "core/spool.h"

#define PATH_BYTES  1024
#define LEAST_BYTES ((uint64_t)1 << 20) /* a smaller /dev/shm is left to the program */
#define NEVER       1u                  /* no number of a complete request */

static struct {
	struct gt_mailbox *memory; /* NULL: none. Read and written by the kernel alone. */
	uint32_t last;             /* number of the last request that was taken */
	char path[PATH_BYTES];
} mailbox;

static uint64_t address_of(const void *part)
{
	return (uint64_t)(uintptr_t)part;
}

static int make_in(const char *folder, const void *data, const char **ret_why)
{
	const struct gt_mailbox_options *options = data;
	char given[PATH_BYTES];
	void *memory;
	int error;

	if (!gt_shared_file_room(folder, LEAST_BYTES, ret_why))
		return -ENOSPC;
	gt_text_format(given, sizeof(given), "%s/" GT_SPOOL_PREFIX "%d.%lu" GT_MAILBOX_SUFFIX,
		       folder, (int)getpid(), (unsigned long)options->head.started);
	gt_sys_absolute(given, mailbox.path, sizeof(mailbox.path));
	error = gt_shared_file_make(mailbox.path, sizeof(struct gt_mailbox),
				    sizeof(struct gt_mailbox), &memory);
	if (error) {
		*ret_why = error == -EACCES || error == -EROFS ? "cannot be written" : "refused it";
		*mailbox.path = 0;
		return error;
	}
	(void)madvise(memory, sizeof(struct gt_mailbox), MADV_DONTFORK);
	mailbox.memory = memory;
	mailbox.last = 0;
	return 0;
}

/* The magic last: it makes the file valid. */
static void fill_head(const struct gt_mailbox_head *given)
{
	struct gt_mailbox_head head = *given;

	head.version = GT_MAILBOX_VERSION;
	head.size = sizeof(struct gt_mailbox);
	head.pid = (uint32_t)getpid();
	head.start_ticks = gt_sys_start_ticks((int)getpid());
	head.pid_namespace = gt_sys_pid_namespace();
	gt_sys_boot_id(head.boot_id, sizeof(head.boot_id));
	memset(head.magic, 0, sizeof(head.magic));
	gt_peek_write(address_of(&mailbox.memory->head), &head, sizeof(head));
	gt_peek_write(address_of(&mailbox.memory->head), GT_MAILBOX_MAGIC,
		      sizeof(GT_MAILBOX_MAGIC));
}

int gt_mailbox_make(const struct gt_mailbox_options *options, char *ret_why, size_t size)
{
	int error = gt_shared_file_wanted(options->where, ret_why, size);

	memset(&mailbox, 0, sizeof(mailbox));
	if (!error)
		error = gt_shared_file_place(options->where, options->runtime, make_in, options,
					     ret_why, size);
	if (error)
		return error;
	fill_head(&options->head);
	return 0;
}

void gt_mailbox_remove(void)
{
	if (*mailbox.path && gt_seccomp_permits(GT_SYS_unlink))
		unlink(mailbox.path);
	*mailbox.path = 0;
	mailbox.memory = NULL;
}

const char *gt_mailbox_path(void)
{
	return mailbox.path;
}

static uint32_t read_number(void)
{
	uint32_t number;

	if (gt_peek_copy(&number, address_of(&mailbox.memory->request.number), sizeof(number)) !=
	    sizeof(number))
		return NEVER;
	return number;
}

bool gt_mailbox_take(struct gt_mailbox_request *ret_request)
{
	struct gt_mailbox_request *request = ret_request;
	uint32_t number = mailbox.memory ? read_number() : NEVER;

	if (number == mailbox.last || number & 1)
		return false;
	if (gt_peek_copy(request, address_of(&mailbox.memory->request), sizeof(*request)) !=
		    sizeof(*request) ||
	    request->number != number || read_number() != number)
		return false;
	request->text[sizeof(request->text) - 1] = 0;
	mailbox.last = number;
	gt_peek_write(address_of(&mailbox.memory->answer.taken), &number, sizeof(number));
	return true;
}

enum gt_mailbox_wait gt_mailbox_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	static const enum gt_mailbox_wait answers[] = {
		[GT_FUTEX_ELSE] = GT_MAILBOX_NOTHING,
		[GT_FUTEX_SHARED] = GT_MAILBOX_REQUEST,
		[GT_FUTEX_UNKNOWN] = GT_MAILBOX_UNKNOWN,
	};
	uint32_t number;

	if (!mailbox.memory || !gt_seccomp_permits(GT_SYS_futex_waitv))
		return GT_MAILBOX_UNKNOWN;
	number = read_number();
	if (number != mailbox.last && !(number & 1))
		return GT_MAILBOX_REQUEST;
	return answers[gt_futex_wait_both(word, value, &mailbox.memory->request.number, number,
					  timeout_ns)];
}

/* The number last: it makes the answer valid. */
void gt_mailbox_answer(uint32_t number, int status, const char *text, size_t length)
{
	struct gt_mailbox *to = mailbox.memory;
	uint32_t cut =
		length < GT_MAILBOX_ANSWER_MAX ? (uint32_t)length : GT_MAILBOX_ANSWER_MAX - 1;
	int32_t status32 = status;

	if (!to)
		return;
	gt_peek_write(address_of(to->answer.text), text, cut);
	gt_peek_write(address_of(to->answer.text + cut), "", 1);
	gt_peek_write(address_of(&to->answer.length), &cut, sizeof(cut));
	gt_peek_write(address_of(&to->answer.status), &status32, sizeof(status32));
	gt_peek_write(address_of(&to->answer.number), &number, sizeof(number));
}
