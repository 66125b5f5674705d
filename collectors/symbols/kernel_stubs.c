/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs kernels with their stubs by name, see the header. Drain thread only.
 *
 *   kernel's host function    _ZN3appL5scaleIfEEvPT_S1_
 *   its stub                  _ZL38__device_stub__ZN3app5scaleIfEEvPT_S1_Pff
 *
 * The stub's name is that of the kernel, without the L that marks a name as local to its file,
 * followed by the types of the parameters. The stub of an extern "C" kernel is that of a C++
 * kernel, the kernel's host function is named as it is written:
 *
 *   kernel's host function    scale
 *   its stub                  _Z24__device_stub__Z5scalePfiPfi
 */
#include "collectors/symbols/kernel_stubs.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/guest/memory.h"
#include "core/guest/text.h"

#define STUB       "__device_stub_"
#define NAME_BYTES 256

/* The kernel's name, with what follows it, in the mangled name of a stub. NULL: not a stub. */
static const char *kernel_of(const char *name)
{
	if (!name || name[0] != '_' || name[1] != 'Z')
		return NULL;
	name += 2;
	name += *name == 'L';
	if (!isdigit((unsigned char)*name))
		return NULL;
	while (isdigit((unsigned char)*name))
		name++;
	return strncmp(name, STUB, strlen(STUB)) == 0 ? name + strlen(STUB) : NULL;
}

/* The next character of a mangled name, skipping the L of local names. */
static unsigned char next(const char **at)
{
	if ((*at)[0] == 'L' && isdigit((unsigned char)(*at)[1]))
		(*at)++;
	return (unsigned char)**at ? (unsigned char)*(*at)++ : 0;
}

/* As strcmp; also 0 when @a is a prefix of @b. */
static int compare_prefix(const char *a, const char *b)
{
	unsigned char x, y;

	do {
		x = next(&a);
		y = next(&b);
	} while (x && x == y);
	return x ? x - y : 0;
}

static bool is_before(const struct gt_symbol_table *table, uint32_t a, uint32_t b)
{
	const char *x = kernel_of(gt_symbol_table_name(table, a));
	const char *y = kernel_of(gt_symbol_table_name(table, b));
	int order = compare_prefix(x, y);

	return order < 0 || (order == 0 && compare_prefix(y, x) != 0);
}

/* Sifts the element @top of a heap of @count down to its place. */
static void sift_down(const struct gt_symbol_table *table, uint32_t *heap, uint32_t top,
		      uint32_t count)
{
	uint32_t moved = heap[top], below;

	for (; (below = 2 * top + 1) < count; top = below) {
		if (below + 1 < count && is_before(table, heap[below], heap[below + 1]))
			below++;
		if (!is_before(table, moved, heap[below]))
			break;
		heap[top] = heap[below];
	}
	heap[top] = moved;
}

/* In place: qsort uses the program's allocator. */
static void sort_stubs(const struct gt_symbol_table *table, uint32_t *symbols, uint32_t count)
{
	uint32_t last;

	for (uint32_t top = count / 2; top-- > 0;)
		sift_down(table, symbols, top, count);
	while (count > 1) {
		last = symbols[--count];
		symbols[count] = symbols[0];
		symbols[0] = last;
		sift_down(table, symbols, 0, count);
	}
}

static uint32_t find_stubs(const struct gt_symbol_table *table, uint32_t *ret_symbols)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < table->count; i++) {
		uint32_t symbol = gt_symbol_table_symbol(table, i);

		if (!kernel_of(gt_symbol_table_name(table, symbol)))
			continue;
		if (ret_symbols)
			ret_symbols[count] = symbol;
		count++;
	}
	return count;
}

int gt_kernel_stubs_init(struct gt_kernel_stubs *stubs, const struct gt_symbol_table *table,
			 size_t max_bytes)
{
	*stubs = (struct gt_kernel_stubs){0};
	stubs->count = find_stubs(table, NULL);
	stubs->bytes = stubs->count * sizeof(*stubs->symbols);
	if (stubs->count == 0)
		return 0;
	if (stubs->bytes <= max_bytes)
		stubs->symbols = gt_memory_map(stubs->bytes);
	if (!stubs->symbols) {
		*stubs = (struct gt_kernel_stubs){0};
		return -ENOMEM;
	}
	find_stubs(table, stubs->symbols);
	sort_stubs(table, stubs->symbols, stubs->count);
	return 0;
}

void gt_kernel_stubs_fini(struct gt_kernel_stubs *stubs)
{
	gt_memory_unmap(stubs->symbols, stubs->bytes);
	*stubs = (struct gt_kernel_stubs){0};
}

static const char *stub_at(const struct gt_kernel_stubs *stubs, const struct gt_symbol_table *table,
			   uint32_t i)
{
	return gt_symbol_table_name(table, stubs->symbols[i]);
}

/* The first stub whose kernel is not before @name. */
static uint32_t find_first(const struct gt_kernel_stubs *stubs, const struct gt_symbol_table *table,
			   const char *name)
{
	uint32_t low = 0, high = stubs->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_prefix(name, kernel_of(stub_at(stubs, table, middle))) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The parameter list of a demangled name, from its last top-level parenthesis. */
static const char *parameters_of(const struct gt_string *name)
{
	const char *at = name->text + name->length;
	int depth = 0;

	while (at > name->text) {
		at--;
		depth += (*at == ')') - (*at == '(');
		if (depth == 0 && *at == '(')
			return at;
	}
	return NULL;
}

static bool have_same_parameters(struct gt_demangle *demangle, const char *a, const char *b)
{
	const char *x = parameters_of(gt_demangle_get(demangle, a, strlen(a)));
	const char *y = parameters_of(gt_demangle_get(demangle, b, strlen(b)));

	return x && y && strcmp(x, y) == 0;
}

/* Whether a function has a mangled name that begins with @beginning, as a C++ kernel's host
 * function does. */
static bool has_function(const struct gt_symbol_table *table, const char *beginning)
{
	for (uint32_t i = 0; i < table->count; i++) {
		const char *name = gt_symbol_table_name(table, gt_symbol_table_symbol(table, i));

		if (name && compare_prefix(beginning, name) == 0)
			return true;
	}
	return false;
}

/* Whether @name is the host function of an extern "C" kernel; a C function that shares its name
 * with a C++ kernel is not. */
static bool is_c_kernel(const struct gt_kernel_stubs *stubs, const struct gt_symbol_table *table,
			const char *name)
{
	char mangled[NAME_BYTES];
	uint32_t i;

	if (strlen(name) > NAME_BYTES - 16)
		return false;
	gt_text_format(mangled, sizeof(mangled), "_Z%lu%s", (unsigned long)strlen(name), name);
	i = find_first(stubs, table, mangled);
	return i < stubs->count &&
	       compare_prefix(mangled, kernel_of(stub_at(stubs, table, i))) == 0 &&
	       !has_function(table, mangled);
}

/* A host function scale(float *) is not the kernel scale(float *, int), though the stub's name
 * begins like it: the parameters decide. */
bool gt_kernel_stubs_has(const struct gt_kernel_stubs *stubs, const struct gt_symbol_table *table,
			 struct gt_demangle *demangle, const char *name)
{
	if (stubs->count == 0)
		return false;
	if (strncmp(name, "_Z", 2) != 0)
		return is_c_kernel(stubs, table, name);
	if (kernel_of(name))
		return true;
	for (uint32_t i = find_first(stubs, table, name); i < stubs->count; i++) {
		const char *stub = stub_at(stubs, table, i);

		if (compare_prefix(name, kernel_of(stub)) != 0)
			return false;
		if (have_same_parameters(demangle, name, stub))
			return true;
	}
	return false;
}
