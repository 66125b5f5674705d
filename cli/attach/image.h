/* SPDX-License-Identifier: Apache-2.0
 *
 * A library of another process, read from its memory: the file may have been replaced, or be in
 * another mount namespace. Single thread.
 */
#ifndef GT_CLI_ATTACH_IMAGE_H
#define GT_CLI_ATTACH_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/elf/elf_lookup.h"

/* A copy of it. */
struct gt_image {
	void *copy;
	size_t bytes;
	uint64_t moved; /* address there - address in the copy */
	struct gt_elf elf;
};

/* Copies the library whose first mapping begins at @base. A negative errno: -EINVAL: it is no
 * library. _free it. */
int gt_image_read(pid_t pid, uint64_t base, struct gt_image *ret_image);
void gt_image_free(struct gt_image *image);

/* The address in the process of a function or an object; 0: there is none. */
uint64_t gt_image_symbol(const struct gt_image *image, const char *name);

/* The address in the process of the first place with these bytes in its code; 0: none. */
uint64_t gt_image_code(const struct gt_image *image, const void *bytes, size_t count);

/* Reads, writes memory of the process. A negative errno. */
int gt_memory_read(pid_t pid, uint64_t address, void *ret_bytes, size_t count);
int gt_memory_write(pid_t pid, uint64_t address, const void *bytes, size_t count);

#endif
