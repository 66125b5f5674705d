/* SPDX-License-Identifier: Apache-2.0
 *
 * See words.h.
 */
#include "cli/words.h"

#include <string.h>

#include "core/config.h"

static const struct {
	char letter;
	const char *option;
} letters[] = {
#define GT_SHORT(letter, option) {letter, option},
#define GT_COMMAND_ELSEWHERE(word, ours)
#define GT_OPTION_ELSEWHERE(word, ours)
#define GT_REPORT_ELSEWHERE(word, ours)
#include "cli/words.def"
#undef GT_SHORT
#undef GT_COMMAND_ELSEWHERE
#undef GT_OPTION_ELSEWHERE
};

struct elsewhere {
	const char *word, *ours;
};

static const struct elsewhere commands[] = {
#define GT_SHORT(letter, option)
#define GT_COMMAND_ELSEWHERE(word, ours) {word, ours},
#define GT_OPTION_ELSEWHERE(word, ours)
#include "cli/words.def"
#undef GT_COMMAND_ELSEWHERE
#undef GT_OPTION_ELSEWHERE
};

static const struct elsewhere options[] = {
#define GT_COMMAND_ELSEWHERE(word, ours)
#define GT_OPTION_ELSEWHERE(word, ours) {word, ours},
#include "cli/words.def"
#undef GT_OPTION_ELSEWHERE
#undef GT_REPORT_ELSEWHERE
};

static const struct elsewhere reports[] = {
#define GT_OPTION_ELSEWHERE(word, ours)
#define GT_REPORT_ELSEWHERE(word, ours) {word, ours},
#include "cli/words.def"
#undef GT_SHORT
#undef GT_COMMAND_ELSEWHERE
#undef GT_OPTION_ELSEWHERE
#undef GT_REPORT_ELSEWHERE
};

/* The options of `gputrace run`. */
static const struct {
	const char *name;
	bool is_bool;
} run_options[GT_CONFIG_COUNT_] = {
#define GT_OPTION(id, name, type, def, values, arg, help)                                          \
	[GT_CONFIG_##id] = {name, GT_OPTION_##type == GT_OPTION_BOOL},
#include "core/config.def"
#undef GT_OPTION
};

/* Those that may stand alone all the same. */
static const bool may_be_bare[GT_CONFIG_COUNT_] = {
#define GT_OPTION(id, name, type, def, values, arg, help)
#define GT_OPTION_BARE(id, value) [GT_CONFIG_##id] = true,
#include "core/config.def"
#undef GT_OPTION
};

const char *gt_word_of_letter(char letter)
{
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (letters[i].letter == letter)
			return letters[i].option;
	return NULL;
}

char gt_word_letter(const char *option)
{
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (!strcmp(letters[i].option, option))
			return letters[i].letter;
	return 0;
}

static const char *find(const struct elsewhere *rows, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(rows[i].word, word))
			return rows[i].ours;
	return NULL;
}

const char *gt_word_command_elsewhere(const char *word)
{
	return find(commands, sizeof(commands) / sizeof(commands[0]), word);
}

const char *gt_word_option_elsewhere(const char *word)
{
	return find(options, sizeof(options) / sizeof(options[0]), word);
}

const char *gt_word_report_elsewhere(const char *word)
{
	return find(reports, sizeof(reports) / sizeof(reports[0]), word);
}

/* GT_CONFIG_COUNT_: there is none. */
static size_t option_called(const char *name)
{
	size_t i = 0;

	while (i < GT_CONFIG_COUNT_ && strcmp(run_options[i].name, name) != 0)
		i++;
	return i;
}

bool gt_word_is_switch(const char *name)
{
	size_t option = option_called(name);

	return option < GT_CONFIG_COUNT_ && (run_options[option].is_bool || may_be_bare[option]);
}

/* The last letter of "-qo", whose value may be the next word; NULL: its value is in the word. */
static const char *last_of_letters(const char *word)
{
	const char *name = NULL;

	for (const char *letter = word + 1; *letter; letter++) {
		if (name && !gt_word_is_switch(name))
			return NULL;
		name = gt_word_of_letter(*letter);
		if (!name)
			return NULL;
	}
	return name;
}

bool gt_word_takes_next(const char *word, const char *next)
{
	const char *name = NULL;

	if (!next || !strcmp(next, "--"))
		return false;
	if (!strncmp(word, "--", 2))
		name = word + 2;
	else if (word[0] == '-')
		name = last_of_letters(word);
	return name && option_called(name) < GT_CONFIG_COUNT_ && !gt_word_is_switch(name);
}
