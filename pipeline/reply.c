/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/reply.h"

#include <stdarg.h>

#include "core/guest/text.h"

void gt_reply_say(struct gt_reply *reply, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	reply->length += gt_text_vformat(reply->text + reply->length, reply->size - reply->length,
					 format, arguments);
	va_end(arguments);
}
