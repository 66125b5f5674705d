/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Frames are close to each other: most are on the page that was read last.
 */
#include "collectors/python/peek.h"

#include <string.h>

#include "collectors/python/chain.h"
#include "collectors/python/codes.h"
#include "collectors/python/runtime.h"

#define FRAME_BYTES 512u /* also of a code object's fields */

static bool read_part(struct gt_python_window *window, uint64_t address, uint8_t *to, size_t size)
{
	uint64_t page = address & ~(uint64_t)(GT_PYTHON_PEEK_PAGE - 1);

	if (page == 0) /* means none */
		return false;
	if (window->page != page) {
		window->page = 0;
		if (!gt_python_read_copy(page, window->bytes, GT_PYTHON_PEEK_PAGE))
			return false;
		window->page = page;
	}
	memcpy(to, window->bytes + (address - page), size);
	return true;
}

bool gt_python_peek_bytes(struct gt_python_window *window, uint64_t address, void *ret_bytes,
			  size_t size)
{
	uint8_t *to = ret_bytes;
	size_t first = GT_PYTHON_PEEK_PAGE - (address & (GT_PYTHON_PEEK_PAGE - 1));

	if (first > size)
		first = size;
	return read_part(window, address, to, first) &&
	       (first == size || read_part(window, address + first, to + first, size - first));
}

static bool read_word(struct gt_python_window *window, uint64_t address, uint64_t *ret_word)
{
	return gt_python_peek_bytes(window, address, ret_word, sizeof(*ret_word));
}

static bool find_frame(const struct gt_python_layout *layout, struct gt_python_window *window,
		       const struct gt_python_thread *thread, uint64_t *ret_frame)
{
	uint64_t state = (uint64_t)thread->state, owner;

	if (!state || thread->refused || !read_word(window, state + layout->thread_id, &owner) ||
	    owner != thread->owner || !read_word(window, state + layout->thread_frame, ret_frame))
		return false;
	if (layout->cframe_frame == GT_PYTHON_NO_FIELD || !*ret_frame)
		return true;
	return read_word(window, *ret_frame + layout->cframe_frame, ret_frame);
}

/* The loop of a frame ends the group of Python frames that it runs. */
static uint32_t mark_loop(struct gt_python_raw *frames, uint32_t count)
{
	const uint64_t entry = gt_python_pack(0, true, 0);

	if (count > 0 && !(frames[count - 1].word & entry)) {
		frames[count - 1].word |= entry;
		return count;
	}
	frames[count] = (struct gt_python_raw){.word = entry};
	return count + 1;
}

uint32_t gt_python_peek_chain(const struct gt_python_layout *layout, uint64_t frame,
			      struct gt_python_window *window, uint32_t max,
			      struct gt_python_raw *ret_frames)
{
	_Alignas(uint64_t) uint8_t bytes[FRAME_BYTES];
	uint64_t copy = (uint64_t)bytes;
	uint32_t count = 0;

	if (layout->frame_size > sizeof(bytes))
		return 0;
	/* @max ends a cycle */
	while (frame && count < max) {
		if (frame % sizeof(uint64_t) ||
		    !gt_python_peek_bytes(window, frame, bytes, layout->frame_size))
			return 0;
		if (gt_python_frame_is_loop(layout, copy)) {
			count = mark_loop(ret_frames, count);
		} else {
			uint64_t code =
				gt_python_word(copy, layout->frame_code) & ~GT_PYTHON_TAG_BITS;

			ret_frames[count++] = (struct gt_python_raw){
				.code = code,
				.word = gt_python_pack(0, gt_python_frame_is_entry(layout, copy),
						       gt_python_frame_offset(layout, copy, code)),
			};
		}
		frame = gt_python_word(copy, layout->frame_previous);
	}
	return count;
}

uint32_t gt_python_peek(const struct gt_python_thread *thread, struct gt_python_window *window,
			uint32_t max, struct gt_python_raw *ret_frames)
{
	const struct gt_python_runtime *runtime = gt_python_proven();
	uint64_t frame;

	window->page = 0;
	if (!runtime || !find_frame(&runtime->layout, window, thread, &frame))
		return 0;
	return gt_python_peek_chain(&runtime->layout, frame, window, max, ret_frames);
}

void gt_python_peek_identify(struct gt_python_raw *frames, uint32_t count)
{
	const struct gt_python_runtime *runtime = gt_python_proven();
	_Alignas(uint64_t) uint8_t head[FRAME_BYTES];

	if (!runtime || runtime->layout.code_size > sizeof(head))
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number;

		if (!frames[i].code ||
		    !gt_python_read_copy(frames[i].code, head, runtime->layout.code_size))
			continue;
		number = gt_python_codes_number_of_copy(runtime, frames[i].code, head);
		frames[i].word |= gt_python_pack(number, false, 0);
		frames[i].code = 0;
	}
}

uint64_t gt_python_peek_pack(const struct gt_python_raw *raw)
{
	const struct gt_python_runtime *runtime = gt_python_proven();

	if (!raw->code || !runtime)
		return raw->word;
	return raw->word |
	       gt_python_pack(gt_python_codes_number_elsewhere(runtime, raw->code), false, 0);
}
