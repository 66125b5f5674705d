/* SPDX-License-Identifier: Apache-2.0
 *
 * What a library of ours that comes before another one goes on to. The loader would have looked in
 * the order of the program, and then in what the caller was loaded with: by Python, or a plug-in,
 * for itself alone. So the function may be another one for each module that calls it. Any thread;
 * no lock (reach.h), but where the loader must be asked: on glibc before 2.35, while another
 * thread is in dlclose, for an indirect function, and where nobody in its scope has it. errno is
 * kept, and no error is left for the program's dlerror. What is found stays mapped.
 */
#ifndef GT_CORE_ELF_BEHIND_H
#define GT_CORE_ELF_BEHIND_H

#include <stdatomic.h>
#include <stddef.h>

/* Modules for which a function is kept that the program as a whole does not have; one that was
 * closed counts, too. Of further ones each call looks again. */
#define GT_BEHIND_CALLERS 32u
#define GT_BEHIND_NONE    ((void *)1)

/* A function: for all callers, then for each module. NULL: not looked for yet. */
struct gt_behind {
	void *_Atomic of[1 + GT_BEHIND_CALLERS];
};

/* What all callers go on to; NULL: there is nothing such, or nobody has looked. */
static inline void *gt_behind_known(struct gt_behind *behind)
{
	void *found = atomic_load_explicit(&behind->of[0], memory_order_relaxed);

	return __builtin_expect(found > GT_BEHIND_NONE, 1) ? found : NULL;
}

/* Where nothing is known: the function @name for a @caller, an address in its module; where its
 * module has none, that of the first loaded object of @sonames, whose end is NULL, or of any other
 * than ours. NULL: none. */
void *gt_behind_look(struct gt_behind *behind, const char *name, const char *const *sonames,
		     const void *caller);

/* The same for the module that this thread went on from last: what is asked of a library on the
 * way. */
void *gt_behind_ask(struct gt_behind *behind, const char *name, const char *const *sonames);

/* Before a dlclose, and after it: a module has been unloaded, perhaps. */
void gt_behind_close(void);
void gt_behind_closed(void);

/* That module's number, up to GT_BEHIND_CALLERS; 0: it has none. */
unsigned int gt_behind_caller(void);

#endif
