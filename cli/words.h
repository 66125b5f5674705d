/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of the command line (cli/words.def): short options, and the words of nsys, perf and strace
 * for which there is another one here. No allocation; also in the launcher.
 */
#ifndef GT_CLI_WORDS_H
#define GT_CLI_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* "output" for 'o', NULL: no such letter. */
const char *gt_word_of_letter(char letter);

/* 'o' for "output", 0: the option has no letter. */
char gt_word_letter(const char *option);

/* "run" for the command "record" of perf, NULL: no such word. */
const char *gt_word_command_elsewhere(const char *word);

/* "stacks" for the option "call-graph" of perf, without its dashes; NULL: no such word. */
const char *gt_word_option_elsewhere(const char *word);

/* "cuda_gpu_kern_sum" for the report "gpukernsum" of nsys 2022, NULL: no such word. */
const char *gt_word_report_elsewhere(const char *word);

/* Whether option @name of `gputrace run` takes no value, or one behind = alone. */
bool gt_word_is_switch(const char *name);

/* Whether the value of option @word of `gputrace run` ("--output", "-o") is @next, the word behind
 * it; NULL: there is none. */
bool gt_word_takes_next(const char *word, const char *next);

#endif
