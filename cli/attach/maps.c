/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/attach/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOWEST_GAP  0x10000000ull     /* above what mmap_min_addr and old programs have */
#define HIGHEST_GAP 0x7f0000000000ull /* below the stack */

static bool parse(const char *line, struct gt_mapping *ret_mapping)
{
	struct gt_mapping mapping = {.path = ""};
	char access[5] = "";
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &mapping.start,
		   &mapping.end, access, &mapping.offset, &path) < 4)
		return false;
	mapping.reads = access[0] == 'r';
	mapping.writes = access[1] == 'w';
	mapping.runs = access[2] == 'x';
	snprintf(mapping.path, sizeof(mapping.path), "%s", path ? line + path : "");
	mapping.path[strcspn(mapping.path, "\n")] = 0;
	*ret_mapping = mapping;
	return true;
}

static int add(struct gt_maps *maps, const struct gt_mapping *mapping)
{
	struct gt_mapping *grown;

	if (!(maps->count & (maps->count - 1)) && (maps->count >= 64 || !maps->count)) {
		size_t room = maps->count ? maps->count * 2 : 64;

		grown = realloc(maps->at, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		maps->at = grown;
	}
	maps->at[maps->count++] = *mapping;
	return 0;
}

int gt_maps_read(pid_t pid, struct gt_maps *ret_maps)
{
	struct gt_mapping mapping;
	char name[64], *line = NULL;
	size_t room = 0;
	int error = 0;
	FILE *file;

	*ret_maps = (struct gt_maps){.at = NULL};
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	while (!error && getline(&line, &room, file) > 0)
		if (parse(line, &mapping))
			error = add(ret_maps, &mapping);
	if (!error && ferror(file))
		error = -EIO;
	free(line);
	fclose(file);
	return error;
}

void gt_maps_free(struct gt_maps *maps)
{
	free(maps->at);
	*maps = (struct gt_maps){.at = NULL};
}

const struct gt_mapping *gt_maps_at(const struct gt_maps *maps, uint64_t address)
{
	for (size_t i = 0; i < maps->count; i++)
		if (address >= maps->at[i].start && address < maps->at[i].end)
			return &maps->at[i];
	return NULL;
}

const struct gt_mapping *gt_maps_file(const struct gt_maps *maps, const char *name)
{
	for (size_t i = 0; i < maps->count; i++) {
		const struct gt_mapping *mapping = &maps->at[i];
		const char *slash = strrchr(mapping->path, '/');

		if (*mapping->path == '/' && !mapping->offset && slash &&
		    !strncmp(slash + 1, name, strlen(name)))
			return mapping;
	}
	return NULL;
}

uint64_t gt_maps_gap(const struct gt_maps *maps, uint64_t bytes)
{
	uint64_t end = LOWEST_GAP, best = 0, widest = 0;

	for (size_t i = 0; i <= maps->count; i++) {
		uint64_t start = i < maps->count ? maps->at[i].start : HIGHEST_GAP;

		if (start > HIGHEST_GAP)
			start = HIGHEST_GAP;
		if (start > end && start - end > widest) {
			widest = start - end;
			best = end + widest / 2;
		}
		if (i < maps->count && maps->at[i].end > end)
			end = maps->at[i].end;
	}
	return widest / 4 > bytes ? best & ~(uint64_t)0xfff : 0;
}
