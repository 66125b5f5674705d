/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of writers. Drain thread only.
 */
#include "writers/writer.h"

#include <string.h>

#include "core/guest/memory.h"

extern const struct gt_writer_ops gt_chrome_writer;
extern const struct gt_writer_ops gt_null_writer;
extern const struct gt_writer_ops gt_perfetto_writer;

const struct gt_writer_ops *const gt_writers[] = {
	&gt_chrome_writer,
	&gt_perfetto_writer,
	&gt_null_writer,
	NULL,
};

struct gt_writer *gt_writer_new(const char *name)
{
	const struct gt_writer_ops *const *ops = gt_writers;
	struct gt_writer *w;

	while (*ops && strcmp((*ops)->name, name) != 0)
		ops++;
	if (!*ops)
		return NULL;
	w = gt_memory_map(sizeof(*w) + (*ops)->private_size);
	if (!w)
		return NULL;
	w->ops = *ops;
	w->priv = w + 1;
	return w;
}

void gt_writer_free(struct gt_writer *w)
{
	if (w)
		gt_memory_unmap(w, sizeof(*w) + w->ops->private_size);
}
