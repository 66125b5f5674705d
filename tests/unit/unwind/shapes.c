/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. SHAPES is the name of this variant.
 */
#include "shapes.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static uint64_t next(struct shapes *shapes)
{
	shapes->random ^= shapes->random << 13;
	shapes->random ^= shapes->random >> 7;
	shapes->random ^= shapes->random << 17;
	return shapes->random;
}

static void use(void *memory)
{
	__asm__ volatile("" : : "r"(memory) : "memory");
}

NOINLINE static void deeper(struct shapes *shapes, int depth);

NOINLINE static void plain(struct shapes *shapes, int depth)
{
	deeper(shapes, depth);
	use(shapes);
}

NOINLINE static void large_frame(struct shapes *shapes, int depth)
{
	char memory[70000];

	memory[0] = 1;
	use(memory);
	deeper(shapes, depth);
	use(memory);
}

NOINLINE static void with_alloca(struct shapes *shapes, int depth)
{
	void *memory = alloca(16 + next(shapes) % 2000);

	use(memory);
	deeper(shapes, depth);
	use(memory);
}

/* The stack is aligned to more than the ABI asks for: the frame is found through memory. */
NOINLINE static void aligned(struct shapes *shapes, int depth)
{
	_Alignas(64) double wide[16];

	use(wide);
	deeper(shapes, depth);
	use(wide);
}

NOINLINE static void aligned_alloca(struct shapes *shapes, int depth)
{
	_Alignas(128) char wide[256];
	void *memory = alloca(1 + next(shapes) % 500);

	use(wide);
	use(memory);
	deeper(shapes, depth);
	use(memory);
	use(wide);
}

NOINLINE static uint64_t sum9(struct shapes *shapes, int depth, uint64_t a, uint64_t b, uint64_t c,
			      uint64_t d, uint64_t e, uint64_t f, uint64_t g)
{
	deeper(shapes, depth);
	return a + b + c + d + e + f + g;
}

/* Arguments on the stack: sp moves between the calls. */
NOINLINE static void pushes(struct shapes *shapes, int depth)
{
	uint64_t n = (uint64_t)depth;

	shapes->random += sum9(shapes, depth, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6);
	shapes->random |= 1;
}

/* Every register that calls preserve is in use. */
NOINLINE static void registers(struct shapes *shapes, int depth)
{
	uint64_t a = next(shapes), b = next(shapes), c = next(shapes), d = next(shapes);
	uint64_t e = next(shapes);

	deeper(shapes, depth);
	shapes->random ^= a ^ (b + c) ^ (d * e);
	shapes->random |= 1;
}

struct escape {
	struct shapes *shapes;
	int depth;
	jmp_buf back;
};

/* Its last instruction is the call: the return address belongs to another function. */
NOINLINE __attribute__((noreturn)) static void leave(struct escape *escape)
{
	deeper(escape->shapes, escape->depth);
	longjmp(escape->back, 1);
}

NOINLINE static void never_returns(struct shapes *shapes, int depth)
{
	struct escape escape = {.shapes = shapes, .depth = depth};

	if (setjmp(escape.back) == 0)
		leave(&escape);
	use(&escape);
}

struct sorted {
	struct shapes *shapes;
	int depth;
	int number;
};

static int compare(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->depth >= 0)
		deeper(x->shapes, x->depth);
	return x->number - y->number;
}

/* Through the C library, which has no frame pointers. */
NOINLINE static void through_qsort(struct shapes *shapes, int depth)
{
	struct sorted two[2] = {{shapes, depth, 2}, {shapes, depth, 1}};

	qsort(two, 2, sizeof(two[0]), compare);
	use(two);
}

static void come_back(void *shapes, int depth)
{
	deeper(shapes, depth);
	use(shapes);
}

NOINLINE static void through_plt(struct shapes *shapes, int depth)
{
	shapes_bounce(come_back, shapes, depth);
	use(shapes);
}

NOINLINE static void recursive(struct shapes *shapes, int depth, uint64_t more)
{
	if (more)
		recursive(shapes, depth, more - 1);
	else
		deeper(shapes, depth);
	use(shapes);
}

NOINLINE static void recursion(struct shapes *shapes, int depth)
{
	recursive(shapes, depth, next(shapes) % 5);
	use(shapes);
}

NOINLINE static void tail(struct shapes *shapes, int depth)
{
	deeper(shapes, depth);
}

NOINLINE static void visit(struct shapes *shapes)
{
	if (!shapes->visits)
		return;
	shapes->visits--;
	shapes->visit(shapes->context);
	use(shapes);
}

NOINLINE static void deeper(struct shapes *shapes, int depth)
{
	static shapes_fn *const kinds[] = {
		plain,     large_frame, with_alloca,   aligned,       aligned_alloca, pushes,
		registers, recursion,   never_returns, through_qsort, through_plt,    tail,
	};

	if (depth <= 0 || next(shapes) % 4 == 0)
		visit(shapes);
	if (depth <= 0 || !shapes->visits)
		return;
	kinds[next(shapes) % (sizeof(kinds) / sizeof(kinds[0]))](shapes, depth - 1);
	if (next(shapes) % 2)
		kinds[next(shapes) % (sizeof(kinds) / sizeof(kinds[0]))](shapes, depth - 1);
}

void SHAPES(struct shapes *shapes, int depth)
{
	while (shapes->visits)
		deeper(shapes, depth);
}
