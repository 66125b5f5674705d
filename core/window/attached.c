/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Who may write the box may write everything else in the process, too; it is read
 * with care all the same, since the command may be killed while it writes.
 */
#include "core/window/attached.h"

#include <stddef.h>
#include <string.h>

#include "core/guest/text.h"

static struct gt_attach_box *_Atomic served;

void gt_attached_serve(struct gt_attach_box *box)
{
	atomic_store(&served, box);
}

bool gt_attached_is_on(void)
{
	return atomic_load(&served) != NULL;
}

bool gt_attached_wants_records(void)
{
	struct gt_attach_box *box = atomic_load(&served);

	return box && atomic_load(&box->wish) == GT_ATTACH_RECORD;
}

bool gt_attached_is_asked(void)
{
	struct gt_attach_box *box = atomic_load(&served);

	return box && atomic_load(&box->asked) != atomic_load(&box->answered);
}

void gt_attached_answer(enum gt_attach_state state, int error, const char *text)
{
	struct gt_attach_box *box = atomic_load(&served);

	if (!box)
		return;
	box->error = error;
	gt_text_format(box->text, sizeof(box->text), "%s", text);
	atomic_store(&box->state, state);
	atomic_store(&box->answered, atomic_load(&box->asked));
}

/* The text stays: the file that was closed, or why there is none. */
void gt_attached_rests(int error, const char *lack)
{
	struct gt_attach_box *box = atomic_load(&served);
	size_t used;

	if (!box)
		return;
	if (gt_attached_is_asked())
		box->error = error;
	used = strnlen(box->text, sizeof(box->text) - 1);
	gt_text_format(box->text + used, sizeof(box->text) - used, "%s", lack);
	atomic_store(&box->wish, GT_ATTACH_REST);
	atomic_store(&box->state, GT_ATTACH_RESTS);
	atomic_store(&box->answered, atomic_load(&box->asked));
}

void gt_attached_fails(int error, const char *why)
{
	gt_attached_answer(GT_ATTACH_FAILED, error, why);
	atomic_store(&atomic_load(&served)->wish, GT_ATTACH_REST);
}

const char *gt_attached_option(const char *variable)
{
	struct gt_attach_box *box = atomic_load(&served);
	size_t length = strlen(variable), used;
	const char *option, *end;

	if (!box)
		return NULL;
	end = box->options + sizeof(box->options);
	for (option = box->options; option < end && *option; option += used + 1) {
		used = strnlen(option, (size_t)(end - option));
		if (option + used < end && used > length && !strncmp(option, variable, length) &&
		    option[length] == '=')
			return option + length + 1;
	}
	return NULL;
}
