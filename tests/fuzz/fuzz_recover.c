/* SPDX-License-Identifier: Apache-2.0
 *
 * Recovery from a spool whose bytes are wrong. The input changes a spool that the tracer made, 12
 * bytes a change: the number of a word among those that are not zero (4 bytes; the highest bit: add
 * instead of replacing) and the value (8). Where there is no tmpfs the input itself is the spool.
 */
#include "pipeline/sources/release.h"
#include "pipeline/replay.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/spool_template.h"

#define WORDS_MAX 65536u

static struct {
	uint64_t *words, *changed;
	size_t size;
	uint32_t used[WORDS_MAX]; /* index of each word that is not zero */
	uint32_t count;
} whole;

static void make_template(void)
{
	if (!template_begin())
		return; /* no tmpfs: the input is all there is */
	template_calls(1);
	template_kernels(2, "kernel");
	gt_release_buffers(&template.release);
	whole.words = template_read(&whole.size);
	whole.changed = aligned_alloc(4096, whole.size);
	if (!whole.changed)
		abort();
	memcpy(whole.changed, whole.words, whole.size);
	gt_spool_remove();
	for (uint32_t i = 0; i < whole.size / 8 && whole.count < WORDS_MAX; i++)
		if (whole.words[i])
			whole.used[whole.count++] = i;
}

/* The word that a change of the input is about. */
static size_t word_of(const uint8_t *data)
{
	uint32_t which;

	memcpy(&which, data, sizeof(which));
	return whole.used[(which & INT32_MAX) % whole.count];
}

static void change(const uint8_t *data)
{
	uint64_t *word = &whole.changed[word_of(data)], value;

	memcpy(&value, data + sizeof(uint32_t), sizeof(value));
	*word = data[3] & 0x80 ? *word + value : value;
}

static void recover_input(const uint8_t *data, size_t size)
{
	void *copy = aligned_alloc(64, (size + 63) & ~(size_t)63);

	if (copy) {
		memcpy(copy, data, size);
		gt_recover_bytes(copy, size, NULL);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;

	if (!made)
		make_template();
	made = true;
	if (!whole.changed) {
		recover_input(data, size);
		return 0;
	}
	for (size_t at = 0; at + 12 <= size; at += 12)
		change(data + at);
	gt_recover_bytes(whole.changed, whole.size, NULL);
	for (size_t at = 0; at + 12 <= size; at += 12)
		whole.changed[word_of(data + at)] = whole.words[word_of(data + at)];
	return 0;
}
