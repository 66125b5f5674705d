/* SPDX-License-Identifier: Apache-2.0
 *
 * Origins of graph nodes: through clones of clones, from several threads, bounded, all losses
 * counted.
 */
#include "collectors/cupti/graph_nodes.h"

#include <criterion/criterion.h>
#include <pthread.h>

Test(graph_nodes, a_clone_of_a_clone_has_the_first_origin)
{
	struct gt_graph_nodes *nodes = gt_graph_nodes_start(1024);

	gt_graph_nodes_created(10, 777);
	gt_graph_nodes_cloned(20, 10);
	gt_graph_nodes_cloned(30, 20);
	gt_graph_nodes_cloned(40, 99);
	cr_assert_eq(gt_graph_nodes_find(nodes, 30), 0, "not drained yet");
	cr_assert_eq(gt_graph_nodes_drain(nodes), 4);
	cr_assert_eq(gt_graph_nodes_find(nodes, 30), 777);
	cr_assert_eq(gt_graph_nodes_find(nodes, 40), 0, "of unknown origin");
	cr_assert_eq(gt_graph_nodes_find(nodes, 0), 0);
}

Test(graph_nodes, an_id_that_is_used_again_has_its_new_origin)
{
	struct gt_graph_nodes *nodes = gt_graph_nodes_start(1024);

	gt_graph_nodes_created(10, 1);
	gt_graph_nodes_created(10, 2);
	gt_graph_nodes_drain(nodes);
	cr_assert_eq(gt_graph_nodes_find(nodes, 10), 2);
	cr_assert_eq(gt_graph_nodes_lost(nodes), 0);
}

Test(graph_nodes, over_the_bound_old_nodes_are_forgotten_and_counted)
{
	struct gt_graph_nodes *nodes = gt_graph_nodes_start(64);
	uint64_t known = 0;

	for (uint64_t node = 1; node <= 1000; node++) {
		gt_graph_nodes_created(node, node);
		gt_graph_nodes_drain(nodes);
	}
	for (uint64_t node = 1; node <= 1000; node++)
		known += gt_graph_nodes_find(nodes, node) == node;
	cr_assert_leq(known, 64);
	cr_assert_eq(known + gt_graph_nodes_lost(nodes), 1000);
	cr_assert_eq(gt_graph_nodes_find(nodes, 1000), 1000);
}

/* As --max-rss=513M makes it. */
Test(graph_nodes, a_bound_that_is_no_power_of_two_has_room_for_half_of_it)
{
	struct gt_graph_nodes *nodes = gt_graph_nodes_start((1 << 19) + (1 << 10));
	uint64_t known = 0;

	for (uint64_t node = 1; node <= 20000; node++)
		gt_graph_nodes_created(node, node);
	cr_assert_eq(gt_graph_nodes_drain(nodes), 20000);
	for (uint64_t node = 1; node <= 20000; node++)
		known += gt_graph_nodes_find(nodes, node) == node;
	cr_assert_eq(known, 20000);
	cr_assert_eq(gt_graph_nodes_lost(nodes), 0);
}

/* Captured, then instantiated twice, which some CUPTI reports as creation, too. */
Test(graph_nodes, a_graph_has_the_stack_of_its_first_node_and_a_count)
{
	struct gt_graph_nodes *nodes = gt_graph_nodes_start(1024);

	for (uint64_t stack = 100; stack < 103; stack++)
		gt_graph_nodes_added(7, stack);
	for (uint32_t clone = 8; clone < 10; clone++) {
		for (int i = 0; i < 3; i++) {
			gt_graph_nodes_added(clone, 900);
			gt_graph_nodes_copied(clone, 7);
		}
	}
	cr_assert_eq(gt_graph_nodes_drain(nodes), 15);
	for (uint32_t graph = 7; graph < 10; graph++) {
		cr_assert_eq(gt_graph_nodes_find(nodes, graph), 100);
		cr_assert_eq(gt_graph_nodes_count(nodes, graph), 3);
	}
	cr_assert_eq(gt_graph_nodes_find(nodes, 11), 0);
	cr_assert_eq(gt_graph_nodes_count(nodes, 11), 0);
}

/* Without stacks (--stacks=off) there still is a count. */
Test(graph_nodes, a_graph_without_stacks_has_a_count)
{
	struct gt_graph_nodes *nodes = gt_graph_nodes_start(1024);

	gt_graph_nodes_added(7, 0);
	gt_graph_nodes_copied(8, 7);
	gt_graph_nodes_drain(nodes);
	cr_assert_eq(gt_graph_nodes_find(nodes, 8), 0);
	cr_assert_eq(gt_graph_nodes_count(nodes, 8), 1);
}

/* A count that may be too small is none. */
Test(graph_nodes, a_dropped_node_leaves_no_count)
{
	struct gt_graph_nodes *nodes = gt_graph_nodes_start(1024);

	for (uint32_t i = 0; i < 65537; i++)
		gt_graph_nodes_added(7, 100);
	gt_graph_nodes_drain(nodes);
	cr_assert_eq(gt_graph_nodes_find(nodes, 7), 100);
	cr_assert_eq(gt_graph_nodes_count(nodes, 7), 0);
}

Test(graph_nodes, a_full_queue_drops_and_counts)
{
	struct gt_graph_nodes *nodes = gt_graph_nodes_start(1 << 20);

	for (uint64_t node = 1; node <= 70000; node++)
		gt_graph_nodes_created(node, node);
	cr_assert_eq(gt_graph_nodes_drain(nodes) + gt_graph_nodes_lost(nodes), 70000);
	cr_assert_eq(gt_graph_nodes_lost(nodes), 70000 - 65536);
	gt_graph_nodes_created(5, 9);
	cr_assert_eq(gt_graph_nodes_drain(nodes), 1, "it goes on");
}

static void *create_many(void *argument)
{
	uint64_t first = (uint64_t)(uintptr_t)argument;

	for (uint64_t i = 0; i < 10000; i++)
		gt_graph_nodes_created(first + i, first + i + 1);
	return NULL;
}

Test(graph_nodes, threads_do_not_disturb_each_other)
{
	struct gt_graph_nodes *nodes = gt_graph_nodes_start(1 << 18);
	pthread_t threads[4];
	uint64_t drained = 0;

	for (uint64_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, create_many, (void *)(uintptr_t)(i * 100000 + 1));
	for (int round = 0; round < 100; round++)
		drained += gt_graph_nodes_drain(nodes);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	drained += gt_graph_nodes_drain(nodes);
	cr_assert_eq(drained, 40000);
	for (uint64_t i = 0; i < 4; i++)
		cr_assert_eq(gt_graph_nodes_find(nodes, i * 100000 + 5000), i * 100000 + 5001);
}
