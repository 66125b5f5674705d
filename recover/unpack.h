/* SPDX-License-Identifier: Apache-2.0
 *
 * A compressed trace is completed as a plain file beside it, which is then packed into its place.
 * Until then it stays as it is. Both files are hidden, and what a killed repair left of them is
 * replaced by the next one, under the lock of the trace. One thread.
 */
#ifndef GT_RECOVER_UNPACK_H
#define GT_RECOVER_UNPACK_H

#include <stdbool.h>

#include "recover/pin.h"

/* By its first bytes; what is too short to tell, by its name. */
bool gt_is_packed(const struct gt_pin *pin);

/* What is known of a compressed file. */
enum gt_unpack_state {
	GT_UNPACK_WHOLE,   /* one or more whole members */
	GT_UNPACK_CUT,     /* or it cannot be read from some place on */
	GT_UNPACK_CHANGED, /* whole, but not what was written: its checksum is wrong */
};

/* Reads all of it. */
enum gt_unpack_state gt_unpack_check(const char *path);

/* Unpacks what can be read into a new file, which is pinned. 0 or a negative errno: there is none.
 */
int gt_unpack(const struct gt_pin *packed, struct gt_pin *ret_plain);

/* Packs @plain into the place of @packed. 0 or a negative errno: that stays as it is. */
int gt_pack_again(const struct gt_pin *packed, const struct gt_pin *plain);

/* Removes and unpins the plain file. */
void gt_unpack_forget(struct gt_pin *plain);

#endif
