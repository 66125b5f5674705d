/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of printed commands: what the shell makes of them is what they were.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/shell_word.h"

/* What bash prints for printf %s WORD. */
static void check_shell(const char *word)
{
	char command[512], back[256] = "", *quoted = gt_shell_word(word);
	FILE *shell;

	snprintf(command, sizeof(command),
		 "exec bash -c \"$(cat <<'GT_END'\nprintf %%s %s\nGT_END\n)\"", quoted);
	shell = popen(command, "r");
	back[fread(back, 1, sizeof(back) - 1, shell)] = 0;
	cr_expect_eq(pclose(shell), 0, "%s", command);
	cr_expect_str_eq(back, word, "%s", quoted);
	free(quoted);
}

Test(shell_word, means_the_same_to_a_shell)
{
	static const char *const words[] = {"a b",       "it's",        "$HOME",
					    "`id`",      "\"",          "a\tb",
					    "a\nb'c\\d", "\x1b[31mred", "\xc3\xa9t\xc3\xa9",
					    "!x",        "*",           "~root",
					    "a;b",       "#c",          "\\"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		check_shell(words[i]);
}

Test(shell_word, leaves_plain_words_alone)
{
	static const struct {
		const char *word, *shown;
	} rows[] = {
		{"out/host_1.pt.trace.json.gz", "out/host_1.pt.trace.json.gz"},
		{"", "''"},
		{"-rf", "./-rf"},
		{"-r f", "./'-r f'"},
		{"a\nb", "$'a\\012b'"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *shown = gt_shell_word(rows[i].word);

		cr_expect_str_eq(shown, rows[i].shown);
		free(shown);
	}
}
