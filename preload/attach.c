/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Until CUDA is there this thread answers; then it starts the session, and the
 * drain thread does.
 */
#include "preload/attach.h"

#include <errno.h>
#include <string.h>

#include "collectors/cupti/library/driver.h"
#include "core/guest/background.h"
#include "core/guest/descriptor.h"
#include "core/guest/futex.h"
#include "core/window/attached.h"
#include "preload/process.h"
#include "preload/start.h"

#define STACK_BYTES   (512u * 1024u) /* CUPTI and the driver may be started on it */
#define LOOK_EVERY_NS 50000000u
#define MOST_OPTIONS  256u

struct gt_attach_box gputrace_attach_box = {.magic = GT_ATTACH_MAGIC};

bool gt_attach_is_path(const char *path)
{
	return path && strstr(path, GT_ATTACH_FOLDER "libgputrace.so");
}

void gt_attach_loaded(bool attached)
{
	atomic_store(&gputrace_attach_box.state, attached ? GT_ATTACH_FAILED : GT_ATTACH_PREPARED);
}

/* As an environment; its texts are the box's. */
static void list_options(char **ret_words)
{
	char *option = gputrace_attach_box.options;
	char *end = option + sizeof(gputrace_attach_box.options) - 1;
	size_t count = 0;

	for (*end = 0; option < end && *option && count < MOST_OPTIONS; count++) {
		ret_words[count] = option;
		option += strlen(option) + 1;
	}
	ret_words[count] = NULL;
}

/* Until the program has started CUDA. */
static void await_cuda(void)
{
	_Atomic uint32_t nobody = 0;

	while (!gt_attached_wants_records() || !gt_cupti_driver_is_up()) {
		if (gt_attached_is_asked())
			gt_attached_answer(gt_attached_wants_records() ? GT_ATTACH_WAITS
								       : GT_ATTACH_RESTS,
					   0, "");
		gt_futex_wait(&nobody, 0, LOOK_EVERY_NS);
	}
}

static void *begin(void *unused)
{
	static char *words[MOST_OPTIONS + 1];
	char why[512];
	int error;

	(void)unused;
	if (gputrace_attach_box.descriptors)
		gt_descriptor_fit(gputrace_attach_box.descriptors);
	gt_process_look(true);
	gt_background_enter("gputrace-a");
	await_cuda();
	list_options(words);
	error = gt_session_attach(words, why, sizeof(why));
	if (error)
		gt_attached_answer(GT_ATTACH_FAILED, error, why);
	return NULL;
}

void gputrace_attach(void)
{
	int saved = errno, error;

	atomic_store(&gputrace_attach_box.state, GT_ATTACH_STARTING);
	gt_attached_serve(&gputrace_attach_box);
	error = gt_background_spawn(begin, NULL, STACK_BYTES);
	if (error)
		gt_attached_answer(GT_ATTACH_FAILED, error, "no thread could be started");
	errno = saved;
}
