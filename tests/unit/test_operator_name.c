/* SPDX-License-Identifier: Apache-2.0
 *
 * PyTorch's names of ranges, complete and cut anywhere, and other names.
 */
#include "pipeline/ranges/operator_name.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static void expect(const char *text, bool is_operator, const char *name, long sequence,
		   const char *dims)
{
	struct gt_operator_name got;

	cr_assert_eq(gt_operator_name_parse(text, strlen(text), &got), is_operator, "%s", text);
	cr_assert_eq(got.length, strlen(name), "%s: %zu", text, got.length);
	cr_assert_eq(memcmp(text, name, got.length), 0);
	cr_assert_eq(got.has_sequence, sequence >= 0, "%s", text);
	if (sequence >= 0)
		cr_assert_eq(got.sequence, (uint64_t)sequence, "%s: %lu", text, got.sequence);
	cr_assert_eq(got.dims != NULL, dims != NULL, "%s", text);
	if (dims)
		cr_assert(got.dims_length == strlen(dims) &&
				  memcmp(got.dims, dims, got.dims_length) == 0,
			  "%s", text);
}

Test(operator_name, operators)
{
	expect("aten::mm", true, "aten::mm", -1, NULL);
	expect("aten::addmm, seq = 12", true, "aten::addmm", 12, NULL);
	expect("AddmmBackward0, seq = 12", true, "AddmmBackward0", 12, NULL);
	expect("AddmmBackward, stashed seq = 3", true, "AddmmBackward", 3, NULL);
	expect("aten::addmm, seq = 1, op_id = 34, sizes = [[8], [4, -1], []], input_op_ids = "
	       "[(3,0)]",
	       true, "aten::addmm", 1, "[[8], [4, -1], []]");
	expect("aten::mm, op_id = 34, sizes = [[2, 3]]", true, "aten::mm", -1, "[[2, 3]]");
	expect("aten::mm, op_id = 34, input_op_ids = [(3,0)]", true, "aten::mm", -1, NULL);
	expect("aten::add_.Tensor, op_id = 2", true, "aten::add_.Tensor", -1, NULL);
	expect("torch::autograd::AccumulateGrad", true, "torch::autograd::AccumulateGrad", -1,
	       NULL);
	expect("detach", true, "detach", -1, NULL);
	expect("detach_, op_id = 9, sizes = [[512]]", true, "detach_", -1, "[[512]]");
	expect("CppNode<Foo<int, 2>>, seq = 7", true, "CppNode<Foo<int, 2>>", 7, NULL);
	expect("A<int, 2>, seq = 7, op_id = 9, sizes = [[2]]", true, "A<int, 2>", 7, "[[2]]");
	expect("autograd::engine::evaluate_function: CppNode<Foo<int, 2>>, op_id = 3", true,
	       "autograd::engine::evaluate_function: CppNode<Foo<int, 2>>", -1, NULL);
	expect("autograd::engine::evaluate_function: MmBackward0", true,
	       "autograd::engine::evaluate_function: MmBackward0", -1, NULL);
}

Test(operator_name, backward)
{
	static const char engine[] = "autograd::engine::evaluate_function: MmBackward0";
	struct gt_operator_name name;

	cr_assert(gt_operator_name_parse(engine, strlen(engine), &name) && name.is_backward);
	cr_assert(gt_operator_name_parse("aten::mm", 8, &name) && !name.is_backward);
	cr_assert(gt_operator_name_parse("autograd::engine", 16, &name) && !name.is_backward);
}

Test(operator_name, ranges_of_the_program)
{
	expect("forward", false, "forward", -1, NULL);
	expect("detached", false, "detached", -1, NULL);
	expect("_", false, "_", -1, NULL);
	expect("forward, op_id = 5", false, "forward", -1, NULL);
	expect("epoch 3, step, op_id = 8123", false, "epoch 3, step", -1, NULL);
	expect("load, decode, op_id = 5", false, "load, decode", -1, NULL);
	expect("solver::run for all", false, "solver::run for all", -1, NULL);
	expect("std::vector<int>", false, "std::vector<int>", -1, NULL);
	expect("a::b::", false, "a::b::", -1, NULL);
	expect("a::b.", false, "a::b.", -1, NULL);
	expect("load, decode", false, "load, decode", -1, NULL);
	expect("a::", false, "a::", -1, NULL);
	expect("::a", false, "::a", -1, NULL);
	expect("12::a", false, "12::a", -1, NULL);
	expect("x, seq = ", false, "x, seq = ", -1, NULL);
	expect("x, seq = 99999999999999999999999", false, "x, seq = 99999999999999999999999", -1,
	       NULL);
	expect(", seq = 1", false, "", 1, NULL);
	expect("", false, "", -1, NULL);
}

Test(operator_name, lists_that_are_none)
{
	static const char *const lists[] = {"[[8], [4",      "[",     "",   "[[1,2]]", "[-]",
					    "[[[[[[1]]]]]]", "[1, ]", "{}", "[1"};
	char text[100];

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		strcpy(text, "aten::mm, sizes = ");
		strcat(text, lists[i]);
		expect(text, true, "aten::mm", -1, NULL);
	}
}

Test(operator_name, cut_anywhere)
{
	static const char text[] =
		"aten::addmm, seq = 12, op_id = 34, sizes = [[8], [4, 16]], input_op_ids = [(3,0)]";

	for (size_t length = 0; length < sizeof(text); length++) {
		struct gt_operator_name got;
		char *cut = malloc(length + 1); /* so that a sanitizer sees what is read beyond */

		cr_assert_not_null(cut);
		memcpy(cut, text, length);
		gt_operator_name_parse(cut, length, &got);
		cr_assert_leq(got.length, length);
		if (got.dims)
			cr_assert(got.dims + got.dims_length <= cut + length);
		free(cut);
	}
}
