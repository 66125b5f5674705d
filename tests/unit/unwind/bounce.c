/* SPDX-License-Identifier: Apache-2.0
 *
 * A function in a library of its own. See shapes.h.
 */
#include "shapes.h"

void shapes_bounce(void (*function)(void *, int), void *argument, int depth)
{
	function(argument, depth);
	__asm__ volatile("" : : "r"(argument) : "memory");
}
