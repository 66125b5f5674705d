/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/attach/wish.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "cli/attach/image.h"
#include "cli/attach/inject.h"

#define LOOK_EVERY_NS 1000000
#define LOADING_MS    2000u

static int read_box(pid_t pid, struct gt_attached *attached)
{
	struct gt_attach_box *box = &attached->box;
	int error = gt_memory_read(pid, attached->address, box, sizeof(*box));

	box->text[sizeof(box->text) - 1] = 0;
	box->options[sizeof(box->options) - 1] = box->options[sizeof(box->options) - 2] = 0;
	return error;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* One that is being loaded has no state yet. */
static int await_constructor(pid_t pid, struct gt_attached *attached)
{
	const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
	uint64_t until = now_ms() + LOADING_MS;
	int error;

	while (!(error = read_box(pid, attached)) && attached->box.state == GT_ATTACH_LOADING &&
	       now_ms() < until)
		nanosleep(&pause, NULL);
	return error;
}

int gt_attached_find(pid_t pid, const struct gt_maps *maps, struct gt_attached *ret_attached)
{
	const struct gt_mapping *library = gt_maps_file(maps, "libgputrace.so");
	int error;

	memset(ret_attached, 0, sizeof(*ret_attached));
	if (!library)
		return 0;
	ret_attached->is_there = true;
	ret_attached->address = gt_inject_find_box(pid, library);
	if (!ret_attached->address)
		return 0;
	error = await_constructor(pid, ret_attached);
	if (!error && ret_attached->box.magic != GT_ATTACH_MAGIC)
		ret_attached->address = 0;
	return error;
}

/* The number last: the library takes all before it. */
int gt_attached_wish(pid_t pid, struct gt_attached *attached, enum gt_attach_wish wish)
{
	struct gt_attach_box *box = &attached->box;
	uint32_t word = wish, asked = box->asked + 1;
	int error =
		gt_memory_write(pid, attached->address + offsetof(struct gt_attach_box, options),
				box->options, sizeof(box->options));

	if (!error)
		error = gt_memory_write(pid,
					attached->address + offsetof(struct gt_attach_box, wish),
					&word, sizeof(word));
	if (!error)
		error = gt_memory_write(pid,
					attached->address + offsetof(struct gt_attach_box, asked),
					&asked, sizeof(asked));
	box->asked = asked;
	return error;
}

int gt_attached_await(pid_t pid, struct gt_attached *attached, unsigned limit_ms)
{
	const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
	uint64_t until = now_ms() + limit_ms;
	int error;

	while (!(error = read_box(pid, attached)) &&
	       attached->box.asked != attached->box.answered) {
		if (now_ms() >= until)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return error;
}
