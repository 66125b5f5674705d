/* SPDX-License-Identifier: Apache-2.0
 *
 * Text as a member of a trace's header: what is known of it is what another parser finds. The first
 * byte says which member.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/header_judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = size ? malloc(size) : NULL;

	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	if (!header_judge(data[0] & 1 ? "distributedInfo" : "deviceProperties", text))
		abort();
	free(text);
	return 0;
}
