/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/python/codes.h"
#include "collectors/python/read.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/mman.h>

#define PAGE 4096

/* Two pages, the second one not to be read. */
static uint64_t make_edge(void)
{
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq((void *)pages, MAP_FAILED);
	cr_assert_eq(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	return (uint64_t)pages;
}

Test(python_read, nothing_faults)
{
	static const uint64_t bad[] = {0,
				       8,
				       4095,
				       1u << 20 | 1,
				       0x8000000000000000u,
				       UINT64_MAX,
				       UINT64_MAX - 8,
				       0xdeadbeefdeadbeefu};
	char bytes[16];

	errno = 7;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_not(gt_python_can_read(bad[i], 8), "%lx", bad[i]);
		cr_expect_not(gt_python_read_copy(bad[i], bytes, sizeof(bytes)), "%lx", bad[i]);
	}
	cr_assert_eq(errno, 7);
}

Test(python_read, up_to_the_edge_of_a_page)
{
	uint64_t edge = make_edge() + PAGE;
	char bytes[16];

	cr_assert(gt_python_can_read(edge - 16, 16));
	cr_assert_not(gt_python_can_read(edge - 16, 17));
	cr_assert_not(gt_python_can_read(edge, 1));
	cr_assert(gt_python_read_copy(edge - 16, bytes, 16));
	cr_assert_not(gt_python_read_copy(edge - 8, bytes, 16));
}

Test(python_read, known_pages_stay_known)
{
	enum { PAGES = 4096 };
	char *pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	cr_assert_neq((void *)pages, MAP_FAILED);
	for (int i = 0; i < PAGES; i++)
		cr_assert(gt_python_can_read((uint64_t)pages + (uint64_t)i * PAGE, 8));
	for (int i = 0; i < PAGES; i++)
		cr_assert(gt_python_page_is_known(((uint64_t)pages >> 12) + (uint64_t)i));
	/* more than there is room for: some are forgotten, none is refused */
	for (int round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 4 * GT_PYTHON_PAGE_SETS * GT_PYTHON_PAGE_WAYS; i++)
			cr_assert(
				gt_python_can_read((uint64_t)pages + (i * 7919 % PAGES) * PAGE, 8));
}

Test(python_read, each_byte_is_compared)
{
	uint8_t a[200], b[200];

	for (uint32_t i = 0; i < sizeof(a); i++)
		a[i] = b[i] = (uint8_t)(i * 37);
	for (uint32_t size = 0; size <= 190; size++) {
		for (uint32_t from = 0; from < 9; from += 4) {
			b[from + size] ^= 1; /* behind it */
			cr_assert(gt_python_same(a + from, b + from, size), "%u", size);
			b[from + size] ^= 1;
			for (uint32_t i = 0; i < size; i++) {
				b[from + i] ^= 16;
				cr_assert_not(gt_python_same(a + from, b + from, size),
					      "byte %u of %u", i, size);
				b[from + i] ^= 16;
			}
		}
	}
}
