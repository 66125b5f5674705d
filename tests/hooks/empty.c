/* SPDX-License-Identifier: Apache-2.0
 *
 * A runtime that has nothing: libcudart_empty.so.
 */
int empty(void);

int empty(void)
{
	return 0;
}
