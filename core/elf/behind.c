/* SPDX-License-Identifier: Apache-2.0
 *
 * See elf_lookup.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "core/elf/elf_lookup.h"

void *gt_elf_find_behind(void *where, const char *name, const char *const *sonames)
{
	int saved = errno;
	void *symbol = dlsym(where, name);

	if (!symbol)
		dlerror(); /* the program did not ask */
	for (size_t i = 0; !symbol && sonames[i]; i++)
		symbol = (void *)gt_elf_find_loaded(sonames[i], name, NULL);
	gt_elf_keep(symbol);
	errno = saved;
	return symbol;
}
