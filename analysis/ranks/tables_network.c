/* SPDX-License-Identifier: Apache-2.0
 *
 * See tables.h: what NCCL's proxies waited for. All members of a ring are as slow as its slowest
 * link, so their transfers take the same time in all; but only those of that link wait for the
 * network while it has the data.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/ranks/tables.h"

#define COLUMNS(table) (sizeof(table) / sizeof((table)[0]))
#define MB             1e6
#define SLOWER         1.25 /* than the middle one: as in network.c */
#define OF_WAITS       0.1  /* of all that its transfers waited for */
#define OF_TIME        0.01 /* of the time of its trace */

static const struct gt_column columns[] = {
	{"rank", "Rank", "rank", GT_COLUMN_TEXT},
	{"count", "Operations", "operations", GT_COLUMN_COUNT},
	{"transfers", "Transfers", "transfers", GT_COLUMN_COUNT},
	{"sent", "Sent (MB)", "sent MB", GT_COLUMN_BYTES},
	{"received", "Received (MB)", "received MB", GT_COLUMN_BYTES},
	{"gpu", "GPU Wait (ns)", "GPU wait", GT_COLUMN_TIME},
	{"peer", "Peer Wait (ns)", "peer wait", GT_COLUMN_TIME},
	{"send", "Send Wait (ns)", "send wait", GT_COLUMN_TIME},
	{"receive", "Receive Wait (ns)", "receive wait", GT_COLUMN_TIME},
	{"rate", "Send Wait per MB (ns)", "send wait per MB", GT_COLUMN_MEAN},
	{"ratio", "Times the Middle Rank", "x middle rank", GT_COLUMN_NUMBER},
};

/* ns that a sent MB waited for the network; below 0: nothing was sent. */
static double rate_of(const struct gt_model_network *network)
{
	return network->sent ? (double)network->wait[GT_NCCL_WAIT_SEND] * MB / (double)network->sent
			     : -1;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the processes that send, of an even number the lower one; below 0: they are fewer than three,
 * of which none is in the middle, or there is no memory. */
static double find_middle(const struct gt_ranks *ranks)
{
	double *rates = malloc((ranks->job->count + 1) * sizeof(*rates)), middle = -1;
	size_t count = 0;

	for (size_t f = 0; rates && f < ranks->job->count; f++) {
		double rate = rate_of(&ranks->excerpts[f].network);

		if (rate >= 0)
			rates[count++] = rate;
	}
	if (count > 2) {
		qsort(rates, count, sizeof(*rates), by_size);
		middle = rates[(count - 1) / 2];
	}
	free(rates);
	return middle;
}

size_t gt_ranks_sending(const struct gt_ranks *ranks)
{
	size_t count = 0;

	for (size_t f = 0; f < ranks->job->count; f++)
		count += ranks->excerpts[f].network.operations > 0;
	return count;
}

/* Sums over transfers that overlap are longer than the time that they take, so less than that part
 * of it is nothing; and where a network is slow, its transfers hardly wait for anything else. */
static bool matters(const struct gt_ranks *ranks, size_t which, double middle)
{
	const struct gt_model_network *network = &ranks->excerpts[which].network;
	const struct gt_model *model = &ranks->job->models[which];
	double wait = (double)network->wait[GT_NCCL_WAIT_SEND], all = 0;
	double excess = wait - middle * (double)network->sent / MB;

	for (size_t i = 0; i < GT_NCCL_WAIT_COUNT_; i++)
		all += (double)network->wait[i];
	return wait >= all * OF_WAITS && excess >= (double)(model->last - model->first) * OF_TIME;
}

bool gt_ranks_slow_sender(const struct gt_ranks *ranks, size_t *ret_which, double *ret_ratio)
{
	double middle = find_middle(ranks), slowest = -1;

	*ret_which = 0;
	*ret_ratio = 0;
	for (size_t f = 0; f < ranks->job->count; f++) {
		double rate = rate_of(&ranks->excerpts[f].network);

		if (rate <= slowest)
			continue;
		slowest = rate;
		*ret_which = f;
	}
	if (!(middle > 0) || slowest < middle * SLOWER || !matters(ranks, *ret_which, middle))
		return false;
	*ret_ratio = slowest / middle;
	return true;
}

static void put_network(const struct gt_model_network *network, double middle,
			struct gt_table *table)
{
	double rate = rate_of(network);

	gt_table_number(table, (double)network->operations);
	gt_table_number(table, (double)network->transfers);
	gt_table_number(table, (double)network->sent);
	gt_table_number(table, (double)network->received);
	for (size_t i = 0; i < GT_NCCL_WAIT_COUNT_; i++)
		gt_table_number(table, (double)network->wait[i]);
	if (rate >= 0)
		gt_table_number(table, rate);
	else
		gt_table_absent(table, "-");
	if (rate >= 0 && middle > 0)
		gt_table_number(table, rate / middle);
	else
		gt_table_absent(table, "-");
}

int gt_ranks_network(const struct gt_ranks *ranks, struct gt_table *ret_table)
{
	double middle = find_middle(ranks);
	char text[64];

	gt_table_init(ret_table, "rank_network", "Network: what NCCL's proxies waited for", columns,
		      COLUMNS(columns));
	for (size_t f = 0; f < ranks->job->count; f++) {
		const struct gt_model_network *network = &ranks->excerpts[f].network;

		if (!network->operations)
			continue;
		gt_key_of_place(&ranks->job->models[f], "", text, sizeof(text));
		gt_table_text(ret_table, text);
		put_network(network, middle, ret_table);
	}
	return gt_table_sort(ret_table, "rate");
}
