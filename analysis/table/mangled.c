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

	return order || !x->mangled || !y->mangled ? order : strcmp(x->mangled, y->mangled);
}

int gt_mangled_names_add(struct gt_mangled_names *names, const struct gt_model *model)
{
	for (uint32_t i = 0; i < model->mangled.count; i++) {
		struct gt_mangled_name one = {gt_model_name(model, i),
					      gt_model_name(model, model->mangled.at[i])};

		if (model->mangled.at[i] != GT_NAME_NONE && !gt_vec_push(&names->list, one))
			return -ENOMEM;
	}
	if (names->list.count)
		qsort(names->list.at, names->list.count, sizeof(*names->list.at), by_name);
	return 0;
}

void gt_mangled_names_fini(struct gt_mangled_names *names)
{
	gt_vec_free(&names->list);
}

const char *gt_mangled_names_get(const struct gt_mangled_names *names, const char *name)
{
	const struct gt_mangled_name key = {name, NULL}, *found = NULL;

	if (names && names->list.count)
		found = bsearch(&key, names->list.at, names->list.count, sizeof(key), by_name);
	return found ? found->mangled : NULL;
}
