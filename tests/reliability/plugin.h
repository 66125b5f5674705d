/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_TESTS_RELIABILITY_PLUGIN_H
#define GT_TESTS_RELIABILITY_PLUGIN_H

void plugin_first(void (*launch)(void *), void *data);
void plugin_second(void (*launch)(void *), void *data);

#endif
