/* SPDX-License-Identifier: Apache-2.0
 *
 * Edit distance with swaps (optimal string alignment) over short words. No allocation.
 */
#include "cli/nearest.h"

#include <string.h>

#define MAX_LENGTH 40

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Three rows of the matrix are alive: of the two letters before, and this one. */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	unsigned rows[3][MAX_LENGTH + 1];

	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1,
				       above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], two[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

const char *gt_nearest(const char *word, const char *const *words, size_t count)
{
	size_t length = strlen(word);
	unsigned best = (unsigned)(length / 3 + 1);
	const char *found = NULL;

	if (length == 0 || length > MAX_LENGTH)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t other = strlen(words[i]);
		unsigned edits;

		if (other > MAX_LENGTH)
			continue;
		edits = distance(word, length, words[i], other);
		if (edits < best || (edits == best && !found)) {
			best = edits;
			found = words[i];
		}
	}
	return found;
}
