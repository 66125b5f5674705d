/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry of a CUPTI function that is not simulated: says so once and answers "not supported".
 * Weak: where the function is simulated, that definition wins.
 */
#ifndef SIMCUDA_CUPTI_STUB_H
#define SIMCUDA_CUPTI_STUB_H

int cupti_missing(const char *name, _Atomic int *said);

#define CUPTI_STUB(name_)                                                                          \
	int name_(void);                                                                           \
	__attribute__((weak)) int name_(void)                                                      \
	{                                                                                          \
		static _Atomic int said;                                                           \
		return cupti_missing(#name_, &said);                                               \
	}

#endif
