/* SPDX-License-Identifier: Apache-2.0
 *
 * Merging, see the header. Loops (_PyEval_EvalFrameDefault) and groups of Python frames, each
 * ending with the frame that its loop was entered with, are matched in order from the inner end; a
 * stack that was cut is the shorter one.
 */
#include "collectors/python/merge.h"

#include <ctype.h>
#include <string.h>

#include "core/intern.h"

struct python_merge {
	const struct gt_python_stacks *stacks;
	const struct gt_string *interpreter; /* the module with the loops; NULL: not known */
	bool has_loop;                       /* a loop has a symbol name */
	uint32_t max;
	uint32_t count;
	uint32_t next; /* Python frame */
	const struct gt_stack_frame **frames;
};

static bool has_prefix(const struct gt_string *string, const char *prefix)
{
	return string && strncmp(string->text, prefix, strlen(prefix)) == 0;
}

/* The loop, and parts that compilers split off (.cold). */
static bool is_loop(const struct gt_stack_frame *frame)
{
	static const char loop[] = "_PyEval_EvalFrameDefault";

	return has_prefix(frame->function, loop) &&
	       !isalnum((unsigned char)frame->function->text[sizeof(loop) - 1]);
}

static const struct gt_stack_frame *find_loop(const struct gt_python_stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->native_count; i++)
		if (is_loop(stacks->native[i]))
			return stacks->native[i];
	return NULL;
}

/* A file that contains an interpreter and nothing else. */
static bool is_python_file(const struct gt_string *path)
{
	const char *name = path ? strrchr(path->text, '/') : NULL;

	name = name ? name + 1 : path ? path->text : "";
	return !strncmp(name, "python", 6) || !strncmp(name, "libpython", 9);
}

/* C code of the interpreter. In a program that links the interpreter: only functions with one of
 * its names, or without a name where its loops have none. Built with tail calls (3.14), the loop
 * runs each instruction in a function of its own. */
static bool is_internal(const struct python_merge *m, const struct gt_stack_frame *frame)
{
	if (is_python_file(frame->module))
		return true;
	if (!m->interpreter || frame->module != m->interpreter)
		return false;
	return has_prefix(frame->function, "Py") || has_prefix(frame->function, "_Py") ||
	       has_prefix(frame->function, "_TAIL_CALL_") || (!m->has_loop && !frame->function);
}

/* Code outside modules with the interpreter on both sides: the trampoline that python -X perf makes
 * for each function. */
static bool is_trampoline(const struct python_merge *m, uint32_t i)
{
	const struct gt_stack_frame *const *native = m->stacks->native;

	return native[i]->kind == GT_FRAME_JIT && i > 0 && is_internal(m, native[i - 1]) &&
	       i + 1 < m->stacks->native_count && is_internal(m, native[i + 1]);
}

static void put(struct python_merge *m, const struct gt_stack_frame *frame)
{
	if (frame && m->count < m->max)
		m->frames[m->count++] = frame;
}

static void put_group(struct python_merge *m)
{
	while (m->next < m->stacks->python_count) {
		const struct gt_python_frame *python = &m->stacks->python[m->next++];

		put(m, python->frame);
		if (python->is_entry)
			return;
	}
}

static void put_rest(struct python_merge *m)
{
	while (m->next < m->stacks->python_count)
		put_group(m);
}

static uint32_t count_loops(const struct gt_python_stacks *stacks)
{
	uint32_t loops = 0;

	for (uint32_t i = 0; i < stacks->native_count; i++)
		loops += is_loop(stacks->native[i]);
	return loops;
}

static uint32_t count_groups(const struct gt_python_stacks *stacks)
{
	uint32_t groups = 0;

	for (uint32_t i = 0; i < stacks->python_count; i++)
		groups += stacks->python[i].is_entry;
	if (stacks->python_count && !stacks->python[stacks->python_count - 1].is_entry)
		groups++; /* its last frame was cut off */
	return groups;
}

/* Whether the two stacks match. */
static bool fit(const struct gt_python_stacks *stacks)
{
	uint32_t loops = count_loops(stacks), groups = count_groups(stacks);

	return loops == groups || (loops < groups && loops > 0 && stacks->native_cut) ||
	       (loops > groups && stacks->python_cut);
}

/* A native frame. A loop is replaced by its Python frames; where loops have no name, the first
 * frame of the interpreter stands for all of them. */
static void put_native(struct python_merge *m, const struct gt_stack_frame *frame, bool fits)
{
	bool internal = is_internal(m, frame);

	if (is_loop(frame) && fits)
		put_group(m);
	else if (is_loop(frame) || (internal && !m->has_loop))
		put_rest(m);
	else if (!internal)
		put(m, frame);
}

uint32_t gt_python_merge(const struct gt_python_stacks *stacks, uint32_t max,
			 const struct gt_stack_frame **ret_frames)
{
	struct python_merge m = {.stacks = stacks, .max = max, .frames = ret_frames};
	const struct gt_stack_frame *loop = find_loop(stacks);
	bool fits = fit(stacks);

	m.has_loop = loop != NULL;
	m.interpreter = loop ? loop->module : stacks->interpreter;
	for (uint32_t i = 0; i < stacks->native_count; i++)
		if (!is_trampoline(&m, i))
			put_native(&m, stacks->native[i], fits);
	put_rest(&m);
	return m.count;
}
