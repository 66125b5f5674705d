/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/attachment.h"

#include <errno.h>

#include "core/window/attached.h"
#include "pipeline/output/output.h"
#include "pipeline/pipeline.h"
#include "pipeline/turn.h"

void gt_attachment_begun(const struct gt_pipeline *p)
{
	char text[GT_OUTPUT_WHERE_BYTES];

	if (!gt_turn_is_attached(p))
		return;
	if (*gt_output_name()) {
		gt_output_where(&p->output, text, sizeof(text));
		gt_attached_answer(GT_ATTACH_RECORDS, 0, text);
		return;
	}
	gt_output_refusal(&p->output, text, sizeof(text));
	gt_attached_fails(p->output.lost.error ? p->output.lost.error : -EIO, text);
}

void gt_attachment_idle(const struct gt_pipeline *p)
{
	if (!gt_attached_is_asked() || !gt_turn_is_attached(p))
		return;
	if (!gt_turn_window_waits(p) && gt_attached_wants_records())
		gt_attachment_begun(p);
	else if (gt_turn_window_waits(p) && !gt_attached_wants_records())
		gt_attached_rests(0, "");
}
