/* SPDX-License-Identifier: Apache-2.0
 *
 * Recovery from a spool whose bytes are wrong. The input changes a spool that the tracer made, 12 bytes
 * a change: the number of a word among those that are not zero (4 bytes; the highest bit: add instead
 * of replacing) and the value (8). Where there is no tmpfs the input itself is the spool.
 */
#include "preload/recover.h"
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
	gt_spooled_round(&gt_session);
	whole.words = template_read(&whole.size);
	whole.changed = aligned_alloc(4096, whole.size);
	gt_spool_remove();
	for (uint32_t i = 0; i < whole.size / 8 && whole.count < WORDS_MAX; i++)
		if (whole.words[i])
			whole.used[whole.count++] = i;
}

static void change(uint64_t *words, const uint8_t *data)
{
	uint64_t *word, value;
	uint32_t which;

	memcpy(&which, data, sizeof(which));
	memcpy(&value, data + sizeof(which), sizeof(value));
	word = &words[whole.used[(which & INT32_MAX) % whole.count]];
	*word = which >> 31 ? *word + value : value;
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
	memcpy(whole.changed, whole.words, whole.size);
	for (; size >= 12; data += 12, size -= 12)
		change(whole.changed, data);
	gt_recover_bytes(whole.changed, whole.size, NULL);
	return 0;
}
