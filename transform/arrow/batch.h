/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows in the making, which become a struct ArrowArray of columns: values are put one after the
 * other. One thread per batch.
 */
#ifndef GT_TRANSFORM_ARROW_BATCH_H
#define GT_TRANSFORM_ARROW_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "readers/vec.h"
#include "transform/arrow/interface.h"

/* A column: its format of the interface is int64 ("l"), float64 ("g"), bool ("b") or text with
 * 64-bit offsets ("U"). */
struct gt_arrow_column {
	const char *name;
	const char *format;
	bool may_lack; /* null where it is not known */
};

/* The values of one column. */
struct gt_arrow_values {
	GT_VEC(uint8_t) data;     /* of a bool: bits */
	GT_VEC(int64_t) offsets;  /* of a text */
	GT_VEC(uint8_t) validity; /* bits */
	int64_t nulls;
};

/* A batch of rows; zeroed but for columns and width it has none. */
struct gt_arrow_batch {
	const struct gt_arrow_column *columns;
	size_t width;
	struct gt_arrow_values *values; /* width of them */
	size_t filled;                  /* values of the row in hand */
	int64_t rows;
	bool is_short; /* there was no memory */
};

/* Begins an empty one. 0 or -ENOMEM. */
int gt_arrow_batch_init(struct gt_arrow_batch *batch, const struct gt_arrow_column *columns,
			size_t width);
void gt_arrow_batch_fini(struct gt_arrow_batch *batch);

/* The next value of the row; the row ends with its last one. */
void gt_arrow_put_int(struct gt_arrow_batch *batch, int64_t value);
void gt_arrow_put_real(struct gt_arrow_batch *batch, double value);
void gt_arrow_put_bool(struct gt_arrow_batch *batch, bool value);
/* What is no UTF-8 is replaced. */
void gt_arrow_put_text(struct gt_arrow_batch *batch, const char *text);
void gt_arrow_put_none(struct gt_arrow_batch *batch);

/* The batch as an array that owns its values; the batch is empty then. 0 or ENOMEM. */
int gt_arrow_batch_give(struct gt_arrow_batch *batch, struct ArrowArray *out);

/* The type of such rows. 0 or ENOMEM. */
int gt_arrow_schema(const struct gt_arrow_column *columns, size_t width, struct ArrowSchema *out);

#endif
