/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks are written as words: "eval" is an evaluation loop, "Py..." and "_..." other functions of
 * the interpreter, anything else is not the interpreter's; of Python frames the last of a loop ends
 * in a bar, and a bar alone is a loop without a frame.
 */
#include "collectors/python/merge.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/intern.h"

#define MAX 32

static struct gt_intern *strings;
static struct gt_stack_frame pool[256];
static int used;

static struct gt_stack_frame *new_frame(enum gt_frame_kind kind, const char *name,
					const char *module)
{
	struct gt_stack_frame *frame = &pool[used++];

	*frame = (struct gt_stack_frame){.kind = kind,
					 .function = gt_intern_cstr(strings, name),
					 .module = module ? gt_intern_cstr(strings, module) : NULL};
	return frame;
}

static uint32_t parse_native(const char *text, const char *interpreter,
			     const struct gt_stack_frame **ret_frames)
{
	char copy[256], *save = NULL;
	uint32_t count = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		bool eval = !strcmp(word, "eval");
		bool internal =
			eval || !strncmp(word, "Py", 2) || *word == '_' || !strcmp(word, "main");

		ret_frames[count++] =
			new_frame(GT_FRAME_NATIVE, eval ? "_PyEval_EvalFrameDefault" : word,
				  internal ? interpreter : "/lib/other.so");
	}
	return count;
}

static uint32_t parse_python(const char *text, struct gt_python_frame *ret_frames)
{
	char copy[256], *save = NULL;
	uint32_t count = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *bar = strchr(word, '|');

		if (bar)
			*bar = 0;
		ret_frames[count++] = (struct gt_python_frame){
			.frame = *word ? new_frame(GT_FRAME_PYTHON, word, NULL) : NULL,
			.is_entry = bar != NULL};
	}
	return count;
}

static void expect_in(const char *interpreter, const char *native, bool native_cut,
		      const char *python, bool python_cut, const char *merged)
{
	const struct gt_stack_frame *natives[MAX], *result[2 * MAX];
	struct gt_python_frame pythons[MAX];
	struct gt_python_stacks stacks = {.native = natives,
					  .native_cut = native_cut,
					  .python = pythons,
					  .python_cut = python_cut};
	char text[512] = "";
	uint32_t count;

	strings = gt_intern_new(1 << 20);
	used = 0;
	stacks.native_count = parse_native(native, interpreter, natives);
	stacks.python_count = parse_python(python, pythons);
	count = gt_python_merge(&stacks, 2 * MAX, result);
	for (uint32_t i = 0; i < count; i++) {
		strcat(text, i ? " " : "");
		strcat(text, result[i]->function->text);
	}
	cr_expect_str_eq(text, merged, "%s + %s: got %s, not %s", native, python, text, merged);
	gt_intern_free(strings);
}

static void expect(const char *native, const char *python, const char *merged)
{
	expect_in("/usr/lib/libpython3.11.so.1.0", native, false, python, false, merged);
}

Test(python_merge, one_loop_a_frame)
{
	expect("launch eval PyVector eval Pyrun main start", "f| g|", "launch f g start");
	expect("eval", "f|", "f");
}

Test(python_merge, several_frames_a_loop)
{
	expect("launch eval PyVector ext PyCall eval main start", "f g| h i j|",
	       "launch f g ext h i j start");
}

Test(python_merge, a_loop_whose_frame_has_returned)
{
	expect("free destruct eval PyVector eval main", "| g|", "free destruct g");
}

Test(python_merge, no_python)
{
	expect("launch ext start", "", "launch ext start");
	expect("", "", "");
}

Test(python_merge, what_does_not_fit_stands_in_one_place)
{
	expect("launch eval ext eval start", "f| g| h|", "launch f g h ext start");
	expect("launch eval ext eval start", "f|", "launch f ext start");
	expect("launch ext start", "f| g|", "launch ext start f g");
	expect("launch Pycall ext Pymain start", "f| g|", "launch f g ext start");
}

Test(python_merge, cut_stacks)
{
	const char *python = "/usr/bin/python3.8";

	expect_in(python, "launch eval Pyf ext eval", true, "f| g| h|", false, "launch f ext g h");
	expect_in(python, "launch eval ext eval start", false, "f|", true, "launch f ext start");
	expect_in(python, "launch eval ext eval start", false, "f", true, "launch f ext start");
	expect_in(python, "launch ext", true, "f| g|", false, "launch ext f g");
}

Test(python_merge, a_function_for_each_instruction_runs_on_its_loop)
{
	expect("launch _TAIL_CALL_CALL eval PyVector ext _TAIL_CALL_CALL_KW eval main start",
	       "f| g|", "launch f ext g start");
}

Test(python_merge, an_interpreter_linked_into_a_program)
{
	expect_in("/opt/app/simulator", "launch _TAIL_CALL_CALL eval PyVector eval main start",
		  false, "f| g|", false, "launch f g main start");
	expect_in("/opt/app/simulator", "launch eval PyVector eval main start", false, "f| g|",
		  false, "launch f g main start");
}

/* Frames are written "name", "-" (no name) or "jit"; all but the first are the interpreter's. */
static void expect_nameless(const char *native, const char *merged)
{
	const struct gt_stack_frame *natives[MAX], *result[2 * MAX];
	struct gt_python_frame pythons[MAX];
	struct gt_python_stacks stacks = {.native = natives, .python = pythons};
	char copy[256], text[512] = "", *save = NULL;
	uint32_t count;

	strings = gt_intern_new(1 << 20);
	used = 0;
	stacks.interpreter = gt_intern_cstr(strings, "/opt/app/simulator");
	snprintf(copy, sizeof(copy), "%s", native);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		bool jit = !strcmp(word, "jit"), first = stacks.native_count == 0;
		struct gt_stack_frame *frame = new_frame(jit ? GT_FRAME_JIT : GT_FRAME_NATIVE, word,
							 jit     ? NULL
							 : first ? "/lib/other.so"
								 : "/opt/app/simulator");

		if (*word == '-')
			frame->function = NULL;
		natives[stacks.native_count++] = frame;
	}
	stacks.python_count = parse_python("f g|", pythons);
	count = gt_python_merge(&stacks, 2 * MAX, result);
	for (uint32_t i = 0; i < count; i++) {
		strcat(text, i ? " " : "");
		strcat(text, result[i]->function ? result[i]->function->text : "-");
	}
	cr_expect_str_eq(text, merged, "%s: got %s, not %s", native, text, merged);
	gt_intern_free(strings);
}

Test(python_merge, an_interpreter_without_names_in_a_program)
{
	expect_nameless("launch - PyVector - main", "launch f g main");
	expect_nameless("launch app - main", "launch app f g main");
	expect_nameless("launch eval", "launch eval f g");
}

Test(python_merge, trampolines_between_frames_of_the_interpreter)
{
	expect_nameless("launch - jit - jit - main", "launch f g main");
	expect_nameless("launch jit - main", "launch jit f g main");
	expect_nameless("launch _PyEval_EvalFrameDefault jit PyVector main", "launch f g main");
}

Test(python_merge, no_more_than_asked_for)
{
	const struct gt_stack_frame *natives[MAX], *result[MAX];
	struct gt_python_frame pythons[MAX];
	struct gt_python_stacks stacks = {.native = natives, .python = pythons};

	strings = gt_intern_new(1 << 20);
	stacks.native_count = parse_native("launch eval start", "/usr/bin/python3", natives);
	stacks.python_count = parse_python("a b c d|", pythons);
	cr_assert_eq(gt_python_merge(&stacks, 3, result), 3);
	cr_assert_str_eq(result[2]->function->text, "b");
	gt_intern_free(strings);
}

Test(python_merge, parts_of_the_loop)
{
	const struct gt_stack_frame *natives[3], *result[MAX];
	struct gt_python_frame pythons[MAX];
	struct gt_python_stacks stacks = {.native = natives, .native_count = 3, .python = pythons};

	strings = gt_intern_new(1 << 20);
	natives[0] =
		new_frame(GT_FRAME_NATIVE, "_PyEval_EvalFrameDefault.cold", "/usr/bin/python3");
	natives[1] = new_frame(GT_FRAME_NATIVE, "_PyEval_EvalFrameDefaultish", "/lib/other.so");
	natives[2] = new_frame(GT_FRAME_NATIVE, "_PyEval_EvalFrameDefault", "/usr/bin/python3");
	stacks.python_count = parse_python("f| g|", pythons);
	cr_assert_eq(gt_python_merge(&stacks, MAX, result), 3);
	cr_assert_str_eq(result[0]->function->text, "f");
	cr_assert_str_eq(result[1]->function->text, "_PyEval_EvalFrameDefaultish");
	cr_assert_str_eq(result[2]->function->text, "g");
	gt_intern_free(strings);
}
