/* SPDX-License-Identifier: Apache-2.0
 *
 * A target prints the events that it expects in its trace, one line each; tests/targets/run.py
 * compares. C and C++.
 *
 *   expect kernel NAME COUNT FUNCTION      kernels of that (demangled) name, launched by FUNCTION
 *   expect memcpy KIND BYTES COUNT FUNCTION  e.g. HtoD
 *   expect memset BYTES COUNT FUNCTION
 *   expect created NAME COUNT FUNCTION     of these kernels, COUNT were made (captured) by FUNCTION
 *   expect call NAME COUNT                 calls on the host, at least the named ones
 *   expect range NAME DOMAIN COUNT         named ranges of the host; and all of them
 *   expect step NAME COUNT                 ranges of that name, which --step-range may have renamed
 *   expect shadow NAME COUNT               their shadows on streams; of steps none are expected
 *   expect nvtx FUNCTION LABEL COUNT       kernels launched in that range
 *   expect payload NAME TEXT               the payload of a range
 *   expect mark NAME COUNT
 *   expect counter NAME COUNT
 *   expect unfinished NAME COUNT           ranges of that name that were never ended
 *   expect ledger KEY COUNT                a count of the ledger; ranges_lost is 0 by default
 *
 * All GPU work must be expected; calls that are not named are allowed.
 */
#ifndef GT_TESTS_TARGETS_EXPECT_H
#define GT_TESTS_TARGETS_EXPECT_H

#include <stdio.h>
#include <stdlib.h>

static inline void expect_kernel(const char *name, int count, const char *function)
{
	printf("expect\tkernel\t%s\t%d\t%s\n", name, count, function);
}

static inline void expect_created(const char *name, int count, const char *function)
{
	printf("expect\tcreated\t%s\t%d\t%s\n", name, count, function);
}

static inline void expect_memcpy(const char *kind, size_t bytes, int count, const char *function)
{
	printf("expect\tmemcpy\t%s\t%zu\t%d\t%s\n", kind, bytes, count, function);
}

static inline void expect_memset(size_t bytes, int count, const char *function)
{
	printf("expect\tmemset\t%zu\t%d\t%s\n", bytes, count, function);
}

static inline void expect_call(const char *name, int count)
{
	printf("expect\tcall\t%s\t%d\n", name, count);
}

static inline void expect_range(const char *name, const char *domain, int count)
{
	printf("expect\trange\t%s\t%s\t%d\n", name, domain, count);
}

static inline void expect_step(const char *name, int count)
{
	printf("expect\tstep\t%s\t%d\n", name, count);
}

static inline void expect_shadow(const char *name, int count)
{
	printf("expect\tshadow\t%s\t%d\n", name, count);
}

static inline void expect_nvtx(const char *function, const char *label, int count)
{
	printf("expect\tnvtx\t%s\t%s\t%d\n", function, label, count);
}

static inline void expect_payload(const char *name, const char *text)
{
	printf("expect\tpayload\t%s\t%s\n", name, text);
}

static inline void expect_mark(const char *name, int count)
{
	printf("expect\tmark\t%s\t%d\n", name, count);
}

static inline void expect_counter(const char *name, int count)
{
	printf("expect\tcounter\t%s\t%d\n", name, count);
}

static inline void expect_unfinished(const char *name, int count)
{
	printf("expect\tunfinished\t%s\t%d\n", name, count);
}

static inline void expect_ledger(const char *key, int count)
{
	printf("expect\tledger\t%s\t%d\n", key, count);
}

/* A CUDA error ends the target: the runner then fails on its exit status. */
#define CHECK(call)                                                                                \
	do {                                                                                       \
		int check_result = (int)(call);                                                    \
		if (check_result) {                                                                \
			fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call,          \
				check_result);                                                     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#endif
