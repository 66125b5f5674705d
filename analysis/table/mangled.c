/* SPDX-License-Identifier: Apache-2.0
 *
 * See mangled.h.
 */
#include "analysis/table/mangled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
	const struct gt_mangled_name *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->mangled, y->mangled);
}

static int by_key(const void *key, const void *one)
{
	const struct gt_mangled_name *name = one;

	return strcmp(key, name->name);
}

int gt_mangled_names_put(struct gt_mangled_names *names, const char *name, const char *mangled)
{
	const struct gt_mangled_name one = {name, mangled};

	return gt_vec_push(&names->list, one) ? 0 : -ENOMEM;
}

int gt_mangled_names_add(struct gt_mangled_names *names, const struct gt_model *model)
{
	for (uint32_t i = 0; i < model->mangled.count; i++)
		if (model->mangled.at[i] != GT_NAME_NONE &&
		    gt_mangled_names_put(names, gt_model_name(model, i),
					 gt_model_name(model, model->mangled.at[i])))
			return -ENOMEM;
	return 0;
}

/* Of each name one is left. Where kernels share it, as those of two ranks may, it is itself. */
void gt_mangled_names_sort(struct gt_mangled_names *names)
{
	struct gt_mangled_name *at = names->list.at;
	size_t kept = 0;

	if (names->list.count)
		qsort(at, names->list.count, sizeof(*at), by_name);
	for (size_t i = 0; i < names->list.count; i++)
		if (!kept || strcmp(at[kept - 1].name, at[i].name) != 0)
			at[kept++] = at[i];
		else if (strcmp(at[kept - 1].mangled, at[i].mangled) != 0)
			at[kept - 1].mangled = at[kept - 1].name;
	names->list.count = kept;
}

void gt_mangled_names_fini(struct gt_mangled_names *names)
{
	gt_vec_free(&names->list);
}

const char *gt_mangled_names_get(const struct gt_mangled_names *names, const char *name)
{
	const struct gt_mangled_name *found = NULL;

	if (names && names->list.count)
		found = bsearch(name, names->list.at, names->list.count, sizeof(*found), by_key);
	return found ? found->mangled : NULL;
}
