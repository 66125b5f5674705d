/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of the tests stops here until the test has seen what it waits for, in the trace for
 * example: the machine may be as slow as it likes (tests/targets/gate.py).
 */
#ifndef GT_TESTS_GATE_H
#define GT_TESTS_GATE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GATE_PATIENCE_MS 200000

/* The first gate is open when the file GATE.1 is there, the second one with GATE.2, ...; without
 * the variable GATE all are. One thread. */
static inline bool gate_is_open(int number)
{
	const char *gate = getenv("GATE");
	char path[4096];

	if (!gate)
		return true;
	snprintf(path, sizeof(path), "%s.%d", gate, number);
	return access(path, F_OK) == 0;
}

/* Waits for it. A gate that never opens is the test's failure, not a hang. */
static inline void wait_at_gate(int number)
{
	for (int ms = 0; !gate_is_open(number) && ms < GATE_PATIENCE_MS; ms += 10)
		usleep(10000);
}

#endif
