/* SPDX-License-Identifier: Apache-2.0
 *
 * Identity from /proc and from what launchers put into the environment. Session start only.
 */
#include "core/identity.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"

/* What launchers set, in the order of precedence; docs/ENVIRONMENTS.md has the sources. */
static const struct launcher {
	const char *rank, *world, *local, *local_world;
} launchers[] = {
#define GT_LAUNCHER(rank, world, local, local_world) {rank, world, local, local_world},
#include "core/launchers.def"
#undef GT_LAUNCHER
};

const char *gt_identity_env(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

/* A small non-negative number, or @otherwise. */
static int32_t env_number(const char *name, int32_t otherwise)
{
	const char *value = name ? gt_identity_env(name) : NULL;
	const char *end;
	uint64_t number;

	if (!value || gt_text_parse_u64(value, &end, &number) || *end || number > INT32_MAX)
		return otherwise;
	return (int32_t)number;
}

/* The first launcher's rank. What it does not set is taken from another launcher with the same
 * rank, as srun's around PMIx. @ret_world: 0 when none sets it. */
static int32_t find_rank(int32_t *ret_world, int32_t *ret_local)
{
	int32_t found = -1;

	*ret_world = 0;
	*ret_local = -1;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		int32_t rank = env_number(launchers[i].rank, -1);

		if (rank < 0 || (found >= 0 && rank != found))
			continue;
		found = rank;
		if (*ret_world <= rank)
			*ret_world = env_number(launchers[i].world, 0);
		if (*ret_local < 0)
			*ret_local = env_number(launchers[i].local, -1);
	}
	return found;
}

int32_t gt_identity_rank(void)
{
	int32_t world, local;

	return find_rank(&world, &local);
}

const char *gt_identity_rank_name(void)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (env_number(launchers[i].rank, -1) >= 0)
			return launchers[i].rank;
	return NULL;
}

bool gt_identity_is_rank(const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (strlen(launchers[i].rank) == length && !memcmp(launchers[i].rank, word, length))
			return true;
	return false;
}

bool gt_identity_has_peers(void)
{
	int32_t world, local, rank = find_rank(&world, &local);

	return rank >= 0 && !(rank == 0 && world == 1);
}

bool gt_identity_is_alone(void)
{
	int32_t world, local;

	return find_rank(&world, &local) == 0 && world == 1;
}

/* "RANK=5, but WORLD_SIZE=2": a rank is below the number of ranks. A launcher around another may
 * give other ranks, and no contradiction. False: both agree, or one is not there. */
static bool describe_doubt(const char *rank_name, int32_t rank, const char *size_name,
			   struct gt_metadata *metadata)
{
	int32_t size = env_number(size_name, -1);

	if (rank < 0 || size < 0 || rank < size || *metadata->rank_doubt)
		return false;
	gt_text_format(metadata->rank_doubt, sizeof(metadata->rank_doubt), "%s=%d, but %s=%d",
		       rank_name, rank, size_name, size);
	return true;
}

static void add_to_doubt(struct gt_metadata *metadata, const char *format, int32_t a, int32_t b)
{
	size_t used = strlen(metadata->rank_doubt);

	gt_text_format(metadata->rank_doubt + used, sizeof(metadata->rank_doubt) - used, format, a,
		       b);
}

/* Another variable of the same launcher, which comes first, has the number of ranks. */
static bool is_outdated(const struct launcher *by, int32_t rank)
{
	return by > launchers && !strcmp(by[-1].rank, by->rank) &&
	       env_number(by[-1].world, -1) > rank;
}

/* What contradicts the rank that was found, of launchers that give it, and what is taken. */
static void fill_doubt(struct gt_metadata *metadata)
{
	int32_t rank = metadata->rank;

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		const struct launcher *by = &launchers[i];
		int32_t local = env_number(by->local, -1);

		if (env_number(by->rank, -1) != rank || is_outdated(by, rank))
			continue;
		if (describe_doubt(by->rank, rank, by->world, metadata))
			add_to_doubt(metadata, ": taken as rank %d of %d", rank,
				     metadata->world_size);
		if (describe_doubt(by->local, local, by->local_world, metadata) ||
		    describe_doubt(by->local, local, by->world, metadata))
			add_to_doubt(metadata, ": taken as rank %d, %d on its host", rank,
				     metadata->local_rank);
	}
}

static bool is_set(const char *name)
{
	return name && gt_identity_env(name);
}

/* No launcher tells how many ranks there are. The values of variables are not in the trace. */
static void doubt_world(struct gt_metadata *metadata)
{
	const char *rank_name = gt_identity_rank_name(), *world = NULL;
	bool is_wrong;

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (!strcmp(launchers[i].rank, rank_name) && (!world || is_set(launchers[i].world)))
			world = launchers[i].world;
	is_wrong = is_set(world);
	gt_text_format(metadata->rank_doubt, sizeof(metadata->rank_doubt), "%s=%d, but %s%s",
		       rank_name, metadata->rank, world ? world : "no number of ranks",
		       is_wrong ? " is no number"
		       : world  ? " is not set"
				: "");
	add_to_doubt(metadata, ": taken as rank %d of %d", metadata->rank, metadata->world_size);
}

static void doubt_rank(struct gt_metadata *metadata)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (is_set(launchers[i].rank)) {
			gt_text_format(metadata->rank_doubt, sizeof(metadata->rank_doubt),
				       "%s is no number: taken as no rank", launchers[i].rank);
			return;
		}
}

static void fill_rank(struct gt_metadata *metadata)
{
	int32_t rank = find_rank(&metadata->world_size, &metadata->local_rank);
	bool has_world = metadata->world_size > 0;

	metadata->has_rank = rank >= 0;
	metadata->rank = rank > 0 ? rank : 0;
	if (metadata->world_size <= metadata->rank)
		metadata->world_size = metadata->rank + 1;
	metadata->rank_doubt[0] = 0;
	if (metadata->has_rank)
		fill_doubt(metadata);
	else
		doubt_rank(metadata);
	if (metadata->has_rank && !has_world && !*metadata->rank_doubt)
		doubt_world(metadata);
}

void gt_identity_fill_command(struct gt_metadata *metadata)
{
	size_t n = gt_descriptor_read_file("/proc/self/cmdline", metadata->command,
					   sizeof(metadata->command) - 1);

	while (n > 0 && metadata->command[n - 1] == 0)
		n--;
	for (size_t i = 0; i < n; i++) {
		if (metadata->command[i] == 0)
			metadata->command[i] = ' ';
	}
	metadata->command[n] = 0;
}

static void fill_process(struct gt_metadata *metadata)
{
	size_t n = gt_descriptor_read_file("/proc/self/comm", metadata->process,
					   sizeof(metadata->process) - 1);

	while (n > 0 && metadata->process[n - 1] == '\n')
		n--;
	if (n > 0)
		metadata->process[n] = 0;
	else
		gt_text_format(metadata->process, sizeof(metadata->process), "process");
}

void gt_identity_fill(struct gt_metadata *metadata)
{
	metadata->pid = (uint32_t)getpid();
	fill_process(metadata);
	gt_sys_clock_id(metadata->boot, sizeof(metadata->boot));
	gt_sys_host(metadata->host, sizeof(metadata->host));
	if (!*metadata->host)
		gt_text_format(metadata->host, sizeof(metadata->host), "host");
	if (gt_identity_env("GPUTRACE_RUN"))
		gt_text_format(metadata->run, sizeof(metadata->run), "%s",
			       gt_identity_env("GPUTRACE_RUN"));
	fill_rank(metadata);
}
