/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of first_calls.c: a cuBLAS that answers with NUMBER, by an indirect function or not, a
 * plug-in that calls it, and one whose constructor tells.
 */
#ifdef NUMBER
int cublasSgemm_v2(void);
int cublasDgemm_v2(void);
int cublasCgemm_v2(void);
int cublasGetProperty(int what, int *value);

#ifdef INDIRECT
static int multiply(void)
{
	return NUMBER;
}

__attribute__((used)) static int (*choose(void))(void)
{
	return multiply;
}

int cublasSgemm_v2(void) __attribute__((ifunc("choose")));
#else
int cublasSgemm_v2(void)
{
	return NUMBER;
}
#endif

int cublasDgemm_v2(void)
{
	return NUMBER;
}

int cublasCgemm_v2(void)
{
	return NUMBER;
}

int cublasGetProperty(int what, int *value)
{
	*value = what ? 0 : 13;
	return 0;
}
#endif

#ifdef CALLS
#define PARAMETERS                                                                                 \
	(void *, int, int, int, int, int, const void *, const void *, int, const void *, int,      \
	 const void *, void *, int)
#define CALL(function) function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

int cublasSgemm_v2 PARAMETERS;
int cublasDgemm_v2 PARAMETERS;
int cublasCgemm_v2 PARAMETERS;
int call(int function);

int call(int function)
{
	int result = function == 0   ? CALL(cublasSgemm_v2)
		     : function == 1 ? CALL(cublasDgemm_v2)
				     : CALL(cublasCgemm_v2);

	__asm__ volatile("" : "+r"(result)); /* no jump in place of a call */
	return result;
}
#endif

#ifdef TELLS
void in_constructor(int (*call)(int function));

__attribute__((constructor)) static void begin(void)
{
	in_constructor(TELLS);
}
#endif
