/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a C++ name, for code_name.c. One thread per name.
 */
#ifndef GT_TRACE_CODE_NAME_PARTS_H
#define GT_TRACE_CODE_NAME_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_NAME_PARTS 256 /* what is further inside a name is not taken apart */

/* What a part is, in the order in which parts go. */
enum gt_part_kind {
	GT_PART_SILENT,      /* always: parameters, scopes of code_name.def, outer lambdas */
	GT_PART_INNER_SCOPE, /* of an argument */
	GT_PART_ACCESS,      /* an argument of how data is reached */
	GT_PART_SCOPE,       /* of the name itself */
	GT_PART_BOOL,        /* arguments */
	GT_PART_NUMBER,
	GT_PART_TYPE,
	GT_PART_LIST,       /* the arguments of an argument, if no functor is among them */
	GT_PART_LAMBDA,     /* in a function that is named */
	GT_PART_WRAPPER,    /* what stands around a functor: it and its other arguments */
	GT_PART_MINOR_WORD, /* of a long identifier, with the "_" before it */
	GT_PART_WORD,
	GT_PART_FUNCTOR,    /* an argument: any other type */
	GT_PART_TILE,       /* a word */
	GT_PART_LAST_SCOPE, /* of a name that is but "kernel" */
	GT_PART_NAME,       /* never */
};

/* One part; they lie in the order of their text. */
struct gt_name_part {
	uint32_t start, end; /* bytes of the text */
	uint32_t next;       /* the part behind all that are inside this one */
	enum gt_part_kind kind;
	uint32_t pair; /* a wrapper is two parts, of which both go; else 0 */
	bool is_kept;
	bool is_gone; /* while it is written */
};

/* A name and its parts. */
struct gt_code_name {
	const char *text;
	size_t length;
	uint32_t count;
	struct gt_name_part part[GT_NAME_PARTS]; /* the first is the whole */
};

/* Fills the parts from the text. */
void gt_name_parts_find(struct gt_code_name *name);

#endif
