/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as an ELF image in memory (as the vDSO's is) with a table of symbols, or, where
 * the first byte is not that of an ELF file, as the name of one symbol. A name that is found lies
 * in the image, and what is made of it is a string.
 */
#include "collectors/symbols/demangle.h"
#include "collectors/symbols/mangled.h"
#include "collectors/symbols/table.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE      4096u
#define IMAGE_MAX (16u * PAGE)

static struct gt_intern *pool;
static struct gt_demangle *demangle;

/* The names of one input do not stay for the next ones. */
static void start_names(void)
{
	gt_demangle_free(demangle);
	gt_intern_free(pool);
	pool = gt_intern_new(1 << 20);
	demangle = pool ? gt_demangle_new(pool) : NULL;
	if (!demangle)
		abort();
}

/* The estimate of a readable name's length may be too small where a name means nothing, but not by
 * far: then the demangler would not have been stopped. */
static void read_name(const char *name, size_t length)
{
	const struct gt_string *readable = gt_demangle_get(demangle, name, length);
	uint64_t expected = gt_mangled_expansion(name, length);

	if (!readable || readable != gt_demangle_get(demangle, name, length) ||
	    strlen(readable->text) > readable->length ||
	    (expected <= GT_DEMANGLE_TEXT_MAX && readable->length > 4096 + 8 * expected))
		abort();
}

static void check_name(const char *name, const char *image)
{
	if (!name)
		return;
	if (name < image || name >= image + IMAGE_MAX)
		abort();
	read_name(name, strlen(name));
}

static void read_table(const struct gt_symbol_table *table, const char *image)
{
	for (uint32_t i = 0; i < table->count && i < 64; i++) {
		uint32_t symbol = gt_symbol_table_symbol(table, i);

		check_name(gt_symbol_table_name(table, symbol), image);
	}
	for (uint64_t address = 0; address < 0x4000; address += 0x40)
		check_name(gt_symbol_table_find(table, address), image);
	check_name(gt_symbol_table_find(table, UINT64_MAX), image);
}

/* At the end of pages behind which there are none. */
static void read_image(const uint8_t *data, size_t size)
{
	static char *pages;
	size_t whole = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
	struct gt_module module = {.is_vdso = true};
	struct gt_symbol_table table;
	char *image;

	if (!pages) {
		pages = mmap(NULL, IMAGE_MAX + PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages == MAP_FAILED || mprotect(pages + IMAGE_MAX, PAGE, PROT_NONE))
			abort();
	}
	image = pages + IMAGE_MAX - whole;
	memcpy(image, data, size);
	memset(image + size, 0, whole - size);
	module.start = (uintptr_t)image;
	module.end = module.start + size;
	if (gt_symbol_table_open(&table, &module, 1 << 20))
		return;
	read_table(&table, image);
	gt_symbol_table_close(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size > IMAGE_MAX)
		return 0;
	start_names();
	if (data[0] == 0x7f)
		read_image(data, size);
	else
		read_name((const char *)data, strnlen((const char *)data, size));
	return 0;
}
