/* SPDX-License-Identifier: Apache-2.0
 *
 * The terminal that is standard output. Single-threaded.
 */
#ifndef GT_CLI_TERMINAL_H
#define GT_CLI_TERMINAL_H

#include <stddef.h>

/* Its columns: COLUMNS where that is set, 0: not known. */
size_t gt_terminal_columns(void);

/* COLUMNS alone, which holds for pipes, too. 0: not set. */
size_t gt_terminal_columns_told(void);

#endif
