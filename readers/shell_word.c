/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "readers/shell_word.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_@%+=:,./-";

	return *word && !word[strspn(word, safe)];
}

static bool has_control(const char *word)
{
	for (; *word; word++)
		if (iscntrl((unsigned char)*word))
			return true;
	return false;
}

static void put_quoted(const char *word, FILE *out)
{
	fputc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	fputc('\'', out);
}

/* Control characters as octal numbers. */
static void put_escaped(const char *word, FILE *out)
{
	fputs("$'", out);
	for (; *word; word++)
		if (iscntrl((unsigned char)*word))
			fprintf(out, "\\%03o", (unsigned int)(unsigned char)*word);
		else if (*word == '\'' || *word == '\\')
			fprintf(out, "\\%c", *word);
		else
			fputc(*word, out);
	fputc('\'', out);
}

char *gt_shell_word(const char *word)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (*word == '-')
		fputs("./", out);
	if (is_plain(word))
		fputs(word, out);
	else if (has_control(word))
		put_escaped(word, out);
	else
		put_quoted(word, out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
