/* SPDX-License-Identifier: Apache-2.0
 *
 * See choice.h.
 */
#include "transform/job/choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/window/glob.h"
#include "core/window/rank_list.h"
#include "trace/file/header.h"

/* 1: it is asked for, 0: it is not, -1: it is no trace. */
static int is_chosen(const char *path, const struct gt_merge_choice *choice)
{
	struct gt_reading reading;
	char host[256] = "";
	int rc = gt_file_header_whole(path, &reading) < 0 ? -1 : 1;

	if (rc > 0 && choice->ranks)
		rc = gt_rank_list_has(choice->ranks, reading.header.rank);
	if (rc > 0 && choice->host) {
		gt_header_text(&reading.header, "metadata", "hostname", host, sizeof(host));
		rc = gt_glob_has(choice->host, strlen(choice->host), host, strlen(host));
	}
	gt_reading_fini(&reading);
	return rc;
}

int gt_merge_choose(struct gt_job *job, const struct gt_merge_choice *choice)
{
	size_t kept = 0, chosen = 0;

	if (!choice->ranks && !choice->host)
		return 0;
	for (size_t i = 0; i < job->paths.count; i++) {
		int is = is_chosen(job->paths.at[i], choice);

		chosen += is > 0;
		if (is)
			job->paths.at[kept++] = job->paths.at[i];
		else
			free(job->paths.at[i]);
	}
	job->paths.count = kept;
	return chosen ? 0 : -ENODATA;
}
