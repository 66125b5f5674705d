/* SPDX-License-Identifier: Apache-2.0
 *
 * Names as in NVIDIA/nccl src/device/generate.py ("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
 * src/device/symmetric/generate.py ("ncclSymkDevKernel_...") and before 2.19
 * src/collectives/device/common.h ("ncclKernel_AllReduce_RING_LL_Sum_float"). Kernels of integers
 * serve signed and unsigned ones: they tell no type. A SendRecv is a send, a receive or an
 * all-to-all.
 */
#include "core/schema/collective.h"

#include <stddef.h>
#include <string.h>

static const char *const prefixes[] = {"ncclDevKernel_", "ncclSymkDevKernel_", "ncclSymDevKernel_",
				       "ncclKernel_"};

struct collective_word {
	const char *text, *meaning;
};

static const struct collective_word names[] = {
	{"AllReduce", "allreduce"}, {"AllGather", "_allgather_base"},
	{"Broadcast", "broadcast"}, {"ReduceScatter", "_reduce_scatter_base"},
	{"Reduce", "reduce"},
};

static const struct collective_word types[] = {
	{"f16", "Half"},
	{"f32", "Float"},
	{"f64", "Double"},
	{"bf16", "BFloat16"},
	{"half", "Half"},
	{"float", "Float"},
	{"double", "Double"},
	{"__nv_bfloat16", "BFloat16"},
	{"rccl_bfloat16", "BFloat16"},
	{"f8e4m3", "Float8_e4m3fn"},
	{"f8e5m2", "Float8_e5m2"},
};

static bool ends_word(char c)
{
	return c == '_' || c == '(' || c == '\0';
}

/* The meaning of the word that @text begins with. */
static const char *meaning_of(const struct collective_word *words, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(words[i].text);

		if (!strncmp(text, words[i].text, length) && ends_word(text[length]))
			return words[i].meaning;
	}
	return NULL;
}

static const char *find_type(const char *text)
{
	const char *type = NULL;

	while (!type && *text && *text != '(') {
		if (*text == '_')
			type = meaning_of(types, sizeof(types) / sizeof(types[0]), text + 1);
		text++;
	}
	return type;
}

bool gt_collective_of_kernel(const char *kernel, struct gt_collective *ret_collective)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);
		const char *rest = kernel + length;

		if (strncmp(kernel, prefixes[i], length) != 0)
			continue;
		ret_collective->name = meaning_of(names, sizeof(names) / sizeof(names[0]), rest);
		ret_collective->dtype = find_type(rest);
		return ret_collective->name != NULL;
	}
	return false;
}
