/* SPDX-License-Identifier: Apache-2.0
 *
 * The mangled names of kernels, as far as traces have them. Made by one thread, then any may read.
 */
#ifndef GT_ANALYSIS_TABLE_MANGLED_H
#define GT_ANALYSIS_TABLE_MANGLED_H

#include "trace/model.h"

/* A name and its mangled form; texts of a model, or of groups. */
struct gt_mangled_name {
	const char *name, *mangled;
};

/* Those of several models. */
struct gt_mangled_names {
	GT_VEC(struct gt_mangled_name) list; /* by name */
};

/* Adds one to a table, zeroed at first; those of @model. 0 or -ENOMEM. */
int gt_mangled_names_put(struct gt_mangled_names *names, const char *name, const char *mangled);
int gt_mangled_names_add(struct gt_mangled_names *names, const struct gt_model *model);
/* Behind the last one. */
void gt_mangled_names_sort(struct gt_mangled_names *names);
void gt_mangled_names_fini(struct gt_mangled_names *names);

/* The mangled form of @name, itself if it has several, or NULL. */
const char *gt_mangled_names_get(const struct gt_mangled_names *names, const char *name);

#endif
