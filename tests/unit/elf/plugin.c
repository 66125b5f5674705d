/* SPDX-License-Identifier: Apache-2.0
 *
 * A shared object for look-ups (test_elf_lookup.c): one symbol in two versions, one
 * imported weakly. Built with each kind of hash table, and without versions.
 */
#include <stdio.h>

extern int plugin_question(void) __attribute__((weak));

#ifdef VERSIONED
__asm__(".symver plugin_answer_1, plugin_answer@PLUGIN_1");
__asm__(".symver plugin_answer_2, plugin_answer@@PLUGIN_2");
#define NAME(version) plugin_answer_##version
#else
#define NAME(version) plugin_answer
#endif

#ifdef VERSIONED
int plugin_answer_1(void);
int plugin_answer_1(void)
{
	return 41;
}
#endif

int NAME(2)(void);
int NAME(2)(void)
{
	return plugin_question ? puts("asked") : 42;
}
