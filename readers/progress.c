/* SPDX-License-Identifier: Apache-2.0
 *
 * See progress.h. Any thread.
 */
#include "readers/progress.h"

#include <stdatomic.h>
#include <sys/stat.h>

static _Atomic(const char *) what_now = "reading";
static atomic_int_fast64_t done, total;

void gt_progress_begin(const char *what)
{
	atomic_store(&what_now, what);
	atomic_store(&done, 0);
	atomic_store(&total, 0);
}

void gt_progress_expect(uint64_t bytes)
{
	atomic_fetch_add(&total, (int_fast64_t)bytes);
}

void gt_progress_add(int64_t bytes)
{
	atomic_fetch_add(&done, bytes);
}

void gt_progress_expect_file(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISREG(st.st_mode))
		gt_progress_expect((uint64_t)st.st_size);
}

struct gt_progress gt_progress_now(void)
{
	int64_t read = atomic_load(&done), all = atomic_load(&total);

	return (struct gt_progress){.what = atomic_load(&what_now),
				    .done = read > 0 ? (uint64_t)read : 0,
				    .total = all > 0 ? (uint64_t)all : 0};
}
