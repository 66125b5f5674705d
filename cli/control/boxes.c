/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/control/boxes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/control/traced.h"
#include "core/guest/sys.h"
#include "core/spool.h"
#include "recover/liveness.h"
#include "recover/shared_files.h"

#define END_TEXT(text) ((text)[sizeof(text) - 1] = 0)

int gt_box_read_head(const void *bytes, size_t size, struct gt_mailbox_head *ret_head)
{
	struct gt_mailbox_head *head = ret_head;

	if (size < sizeof(*head))
		return -EBADMSG;
	memcpy(head, bytes, sizeof(*head));
	if (memcmp(head->magic, GT_MAILBOX_MAGIC, sizeof(GT_MAILBOX_MAGIC)) != 0)
		return -EBADMSG;
	END_TEXT(head->boot_id);
	END_TEXT(head->host);
	END_TEXT(head->process);
	END_TEXT(head->run);
	if (head->version != GT_MAILBOX_VERSION || head->size != sizeof(struct gt_mailbox))
		return -EPROTO;
	return head->pid && head->pid <= INT_MAX ? 0 : -EBADMSG;
}

static bool is_of_this_boot(const struct gt_mailbox_head *head)
{
	char boot_id[sizeof(head->boot_id)];

	gt_sys_boot_id(boot_id, sizeof(boot_id));
	return !strcmp(boot_id, head->boot_id);
}

/* Its process is gone, and its number may be another one's. */
static bool has_ended(const struct gt_mailbox_head *head)
{
	if (!is_of_this_boot(head))
		return true;
	return gt_sys_start_ticks((int)head->pid) != head->start_ticks ||
	       !gt_process_is_alive((int64_t)head->pid);
}

/* Nobody reads it: its process is gone, or has called exec. */
static bool is_left(struct gt_box *box, const char *name)
{
	enum gt_traced_maps maps;
	struct stat st;

	if (box->head.pid_namespace != gt_sys_pid_namespace())
		return false;
	if (has_ended(&box->head))
		return true;
	maps = fstat(box->fd, &st) ? GT_TRACED_MAPS_UNKNOWN
				   : gt_traced_maps(box->head.pid, &st, name);
	box->is_its = maps == GT_TRACED_MAPS_IT;
	return maps == GT_TRACED_MAPS_NONE;
}

/* Somebody has copied or renamed it. */
static bool is_misnamed(const struct gt_mailbox_head *head, const char *name)
{
	char own[64];

	snprintf(own, sizeof(own), GT_SPOOL_PREFIX "%u.%lu" GT_MAILBOX_SUFFIX, head->pid,
		 (unsigned long)head->started);
	return strcmp(own, name) != 0;
}

static enum gt_box_state state_of(const struct gt_mailbox_head *head)
{
	if (head->pid_namespace != gt_sys_pid_namespace())
		return GT_BOX_ELSEWHERE;
	return gt_liveness_is_stopped("/proc", (int64_t)head->pid) ? GT_BOX_STOPPED : GT_BOX_LIVE;
}

static uint32_t pid_in(const char *name)
{
	return (uint32_t)strtoul(name + strlen(GT_SPOOL_PREFIX), NULL, 10);
}

/* Its process was killed before the file was whole: the magic is written last. */
static bool is_unfinished(const struct gt_box *box, const char *name)
{
	static const char none[sizeof(GT_MAILBOX_MAGIC)];

	return !memcmp(box->head.magic, none, sizeof(none)) &&
	       !gt_process_is_alive((int64_t)pid_in(name));
}

/* Reads what is there into @box. False: there is nothing to be listed. */
static bool read_box(int folder, const char *name, struct gt_box *box)
{
	struct stat st;
	ssize_t n;
	int rc;

	box->fd = gt_shared_file_open(folder, name, O_RDWR);
	box->state = GT_BOX_SQUATTED;
	if (box->fd < 0) {
		box->head.pid = pid_in(name);
		return !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW);
	}
	n = pread(box->fd, &box->head, sizeof(box->head), 0);
	rc = gt_box_read_head(&box->head, n > 0 ? (size_t)n : 0, &box->head);
	if (!rc && (fstat(box->fd, &st) || (size_t)st.st_size != sizeof(struct gt_mailbox)))
		rc = -EBADMSG;
	if (!rc && is_misnamed(&box->head, name))
		return false;
	if (rc == -EBADMSG ? is_unfinished(box, name) : !rc && is_left(box, name)) {
		unlinkat(folder, name, 0);
		return false;
	}
	if (rc == -EBADMSG)
		box->head = (struct gt_mailbox_head){.pid = pid_in(name)};
	box->state = rc == -EPROTO ? GT_BOX_STRANGE : rc ? GT_BOX_SQUATTED : state_of(&box->head);
	return true;
}

static void see_file(int folder, const char *path, const char *name, void *context)
{
	struct gt_boxes *boxes = context;
	struct gt_box box = {.fd = -1};

	if (read_box(folder, name, &box)) {
		snprintf(box.path, sizeof(box.path), "%s/%s", path, name);
		if (gt_vec_push(&boxes->list, box))
			return;
	}
	if (box.fd >= 0)
		close(box.fd);
}

/* By pid, that which a process has mapped first, then the newest. */
static int compare_boxes(const void *a, const void *b)
{
	const struct gt_box *one = a, *other = b;
	const struct gt_mailbox_head *x = &one->head, *y = &other->head;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->pid_namespace != y->pid_namespace)
		return x->pid_namespace < y->pid_namespace ? -1 : 1;
	if (one->is_its != other->is_its)
		return one->is_its ? -1 : 1;
	return x->started > y->started ? -1 : x->started < y->started;
}

static bool is_same_process(const struct gt_box *a, const struct gt_box *b)
{
	return a->fd >= 0 && b->fd >= 0 && a->head.pid == b->head.pid &&
	       a->head.pid_namespace == b->head.pid_namespace;
}

/* An image of the process before its exec has left the older ones, if nobody could see which one
 * it has mapped. One of the same time is a copy. */
static bool is_older(const struct gt_box *kept, const struct gt_box *box)
{
	return !kept->is_its && box->head.started < kept->head.started &&
	       box->head.pid_namespace == gt_sys_pid_namespace();
}

static void keep_newest(struct gt_boxes *boxes)
{
	size_t kept = 0;

	for (size_t i = 0; i < boxes->list.count; i++) {
		struct gt_box *box = &boxes->list.at[i];

		if (kept && is_same_process(&boxes->list.at[kept - 1], box)) {
			if (is_older(&boxes->list.at[kept - 1], box))
				unlink(box->path);
			close(box->fd);
			continue;
		}
		boxes->list.at[kept++] = *box;
	}
	boxes->list.count = kept;
}

int gt_boxes_find(struct gt_boxes *ret_boxes, const char *folder)
{
	struct gt_shared_folders folders = {.count = 0};

	*ret_boxes = (struct gt_boxes){0};
	gt_shared_folders_add(&folders, folder ? folder : "/dev/shm");
	if (!folder)
		gt_shared_folders_add(&folders, getenv("XDG_RUNTIME_DIR"));
	gt_shared_files_each(&folders, GT_MAILBOX_SUFFIX, see_file, ret_boxes);
	if (ret_boxes->list.count > 1)
		qsort(ret_boxes->list.at, ret_boxes->list.count, sizeof(struct gt_box),
		      compare_boxes);
	keep_newest(ret_boxes);
	return 0;
}

void gt_boxes_fini(struct gt_boxes *boxes)
{
	for (size_t i = 0; i < boxes->list.count; i++)
		if (boxes->list.at[i].fd >= 0)
			close(boxes->list.at[i].fd);
	gt_vec_free(&boxes->list);
}

void gt_boxes_clean(const char *folder)
{
	struct gt_boxes boxes;

	gt_boxes_find(&boxes, folder);
	gt_boxes_fini(&boxes);
}

const char *gt_boxes_folder(const char *option)
{
	const char *variable = getenv("GPUTRACE_CONTROL");

	if (option)
		return option;
	return variable && *variable == '/' ? variable : NULL;
}
