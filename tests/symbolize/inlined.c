/* SPDX-License-Identifier: Apache-2.0
 *
 * A library with functions that call and inline each other, compiled with -O2 -g: what
 * test_symbolize.py asks for.
 */
int touch(volatile int *at);
int outer(volatile int *at, int times);
int launch(volatile int *at);

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

/* What nvcc makes of kernel<<<>>>() in launch(). */
static inline __attribute__((always_inline)) int __device_stub__Z6kernelPi(volatile int *at)
{
	*at += 5;
	return touch(at);
}

static inline __attribute__((always_inline)) int kernel(volatile int *at)
{
	return __device_stub__Z6kernelPi(at);
}

__attribute__((noinline)) int launch(volatile int *at)
{
	return kernel(at) + 1;
}
