/* SPDX-License-Identifier: Apache-2.0
 *
 * See origins.h.
 */
#include "trace/file/origins.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/schema/metadata.h"

/* A launcher that gives only ranks says nothing of their number: then it is taken to be the rank's
 * own and one. */
static void see_world(struct gt_job_origins *o, const struct gt_header *header, const char *path)
{
	int64_t world = header->world_size;

	if (!header->has_rank || world <= header->rank + 1)
		return;
	if (!o->world_path) {
		o->world = world;
		o->world_path = path;
	} else if (world != o->world && !o->other_world_path) {
		o->other_world = world;
		o->other_world_path = path;
	}
}

static void see_version(struct gt_job_origins *o, const struct gt_header *header, const char *path)
{
	char version[sizeof(o->version)];

	if (!gt_header_text(header, "metadata", "gputrace_version", version, sizeof(version)))
		return;
	if (!o->version_path) {
		strcpy(o->version, version);
		o->version_path = path;
	} else if (strcmp(version, o->version) != 0 && !o->other_version_path) {
		strcpy(o->other_version, version);
		o->other_version_path = path;
	}
}

/* Traces of other tools have a number of their own. */
static void see_schema(struct gt_job_origins *o, const struct gt_header *header, const char *path)
{
	const char *text = gt_header_find(header, "schemaVersion");
	int64_t schema = text ? strtoll(text, NULL, 10) : 0;
	char version[32];

	if (schema <= GT_METADATA_SCHEMA || schema <= o->schema ||
	    !gt_header_text(header, "metadata", "gputrace_version", version, sizeof(version)))
		return;
	o->schema = schema;
	o->schema_path = path;
}

void gt_job_origins_see(struct gt_job_origins *origins, const struct gt_header *header,
			const char *path)
{
	see_world(origins, header, path);
	see_version(origins, header, path);
	see_schema(origins, header, path);
}

void gt_job_origins_judge(const struct gt_job_origins *o, void (*complain)(const char *line))
{
	char line[8700];

	if (o->other_world_path) {
		snprintf(line, sizeof(line),
			 "traces of different jobs: %.4096s is of %" PRId64
			 " ranks, %.4096s of %" PRId64 "; name the files of one job",
			 o->world_path, o->world, o->other_world_path, o->other_world);
		complain(line);
	}
	if (o->schema_path) {
		snprintf(line, sizeof(line),
			 "%.4096s: its schemaVersion is %" PRId64
			 ", that of a newer gputrace (%d is known): what is new in it is not read",
			 o->schema_path, o->schema, GT_METADATA_SCHEMA);
		complain(line);
	}
	if (o->other_version_path) {
		snprintf(line, sizeof(line),
			 "traces of different versions of gputrace: %.4096s of %s, %.4096s of %s",
			 o->version_path, o->version, o->other_version_path, o->other_version);
		complain(line);
	}
}
