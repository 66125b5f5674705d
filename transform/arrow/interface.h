/* SPDX-License-Identifier: Apache-2.0
 *
 * The Arrow C data interface, as its specification has it
 * (https://arrow.apache.org/docs/format/CDataInterface.html): the layout and the names are part of
 * it. What fills one sets release; the consumer calls that once.
 */
#ifndef GT_TRANSFORM_ARROW_INTERFACE_H
#define GT_TRANSFORM_ARROW_INTERFACE_H

#include <stdint.h>

#define ARROW_FLAG_NULLABLE 2

/* A type, and its name. */
struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *schema);
	void *private_data;
};

/* Values of such a type. */
struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *array);
	void *private_data;
};

/* Several of them, one after the other. */
struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
	int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
	const char *(*get_last_error)(struct ArrowArrayStream *stream);
	void (*release)(struct ArrowArrayStream *stream);
	void *private_data;
};

#endif
