/* SPDX-License-Identifier: Apache-2.0
 *
 * A library with functions that call and inline each other, compiled with -O2 -g: what
 * test_symbolize.py asks for.
 */
int touch(volatile int *at);
int outer(volatile int *at, int times);

static inline __attribute__((always_inline)) int innermost(volatile int *at)
{
	*at += 3;
	return touch(at);
}

static inline __attribute__((always_inline)) int middle(volatile int *at)
{
	*at += 2;
	return innermost(at) + 1;
}

__attribute__((noinline)) int touch(volatile int *at)
{
	return *at;
}

__attribute__((noinline)) int outer(volatile int *at, int times)
{
	int sum = 0;

	for (int i = 0; i < times; i++)
		sum += middle(at);
	return sum;
}
