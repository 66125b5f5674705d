/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the memory limit, see the header. A container may see its groups under another name than
 * the kernel's (cgroup namespaces, bind mounts); where no mount has the group of the process, the
 * mounted groups themselves count, which in a container are its own.
 */
#include "core/guest/cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/memory.h"
#include "core/guest/text.h"

#define LINE_BYTES    8192u /* longer lines are skipped */
#define NO_LIMIT      ((uint64_t)1 << 60)
#define DEEPEST_LEVEL 64u
#define LONGEST_FILE  32u /* bytes of the longest name in `limits`, and more */

/* Files of a group that limit memory. `key`: the number is after that word at the start of a
 * line. */
static const struct {
	const char *file, *key;
} limits[GT_CGROUP_VERSIONS_][2] = {
	[GT_CGROUP_V1] = {{"memory.limit_in_bytes", ""},
			  {"memory.stat", "hierarchical_memory_limit "}},
	[GT_CGROUP_V2] = {{"memory.max", ""}, {"memory.high", ""}},
};

/* Limits of one version, while they are being found. */
struct found {
	struct gt_cgroup_limit limit;
	bool exact; /* of the process's own group and those above it */
};

struct search {
	const char *root;
	struct found found[GT_CGROUP_VERSIONS_];
	char group[GT_CGROUP_VERSIONS_][PATH_MAX]; /* "": none */
	char line[LINE_BYTES];
	char path[PATH_MAX + LONGEST_FILE];
	char text[4096]; /* of a small file */
};

/* ---- lines ---- */

/* Cuts the next word off. NULL: there is none. */
static char *next_word(char **text)
{
	char *word = *text, *end = word + strcspn(word, " ");

	if (end == word)
		return NULL;
	if (*end)
		*end++ = 0;
	*text = end;
	return word;
}

/* Whether @words, with commas between them, has @wanted. */
static bool has_word(const char *words, const char *wanted)
{
	size_t length = strlen(wanted);

	while (*words) {
		size_t n = strcspn(words, ",");

		if (n == length && !memcmp(words, wanted, n))
			return true;
		words += n + (words[n] == ',');
	}
	return false;
}

static bool is_octal(const char *digits)
{
	for (int i = 0; i < 3; i++)
		if (digits[i] < '0' || digits[i] > (i ? '7' : '3'))
			return false;
	return true;
}

/* "\040" is a blank. */
static void decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\' && is_octal(text + 1)) {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
				       (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
}

bool gt_cgroup_parse_group(char *line, enum gt_cgroup_version *ret_version, char **ret_group)
{
	char *words = strchr(line, ':');
	char *group = words ? strchr(words + 1, ':') : NULL;

	if (!group || group[1] != '/')
		return false;
	*group++ = 0;
	*ret_version = words[1] ? GT_CGROUP_V1 : GT_CGROUP_V2;
	*ret_group = group;
	return *ret_version == GT_CGROUP_V2 || has_word(words + 1, "memory");
}

bool gt_cgroup_parse_mount(char *line, struct gt_cgroup_mount *ret_mount)
{
	char *word[5], *type, *options = NULL;

	for (size_t i = 0; i < 5; i++) /* numbers of mount, parent, device; root; mount point */
		if (!(word[i] = next_word(&line)))
			return false;
	while ((type = next_word(&line)) && strcmp(type, "-") != 0)
		continue;
	type = next_word(&line);
	if (type && next_word(&line)) /* the source */
		options = next_word(&line);
	if (!options || word[3][0] != '/' || word[4][0] != '/')
		return false;
	*ret_mount = (struct gt_cgroup_mount){.root = word[3], .point = word[4]};
	ret_mount->version = strcmp(type, "cgroup2") ? GT_CGROUP_V1 : GT_CGROUP_V2;
	decode(ret_mount->root);
	decode(ret_mount->point);
	return ret_mount->version == GT_CGROUP_V2 ||
	       (!strcmp(type, "cgroup") && has_word(options, "memory"));
}

/* Whether @path leads above where it starts. */
static bool leads_up(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")); at += 3)
		if (at[3] == '/' || !at[3])
			return true;
	return false;
}

const char *gt_cgroup_below(const struct gt_cgroup_mount *mount, const char *group)
{
	size_t length = strlen(mount->root);

	if (leads_up(mount->root) || leads_up(group))
		return NULL;
	if (length && mount->root[length - 1] == '/')
		length--;
	if (strncmp(mount->root, group, length) || (group[length] && group[length] != '/'))
		return NULL;
	return group[length] && group[length + 1] ? group + length : "";
}

uint64_t gt_cgroup_parse_limit(const char *text, const char *key)
{
	size_t length = strlen(key);
	const char *end;
	uint64_t bytes;

	while (strncmp(text, key, length)) {
		text = strchr(text, '\n');
		if (!text)
			return 0;
		text++;
	}
	if (gt_text_parse_u64(text + length, &end, &bytes) || (*end && *end != '\n'))
		return 0;
	return bytes < NO_LIMIT ? bytes : 0;
}

/* ---- files ---- */

/* Calls @take for each whole line in the first @length bytes of the buffer and moves the rest to
 * its start. Returns the length of the rest. */
static size_t take_lines(struct search *s, size_t length, bool *skip,
			 void (*take)(struct search *s, char *line))
{
	char *line = s->line, *end;

	while ((end = memchr(line, '\n', length))) {
		*end++ = 0;
		if (!*skip)
			take(s, line);
		*skip = false;
		length -= (size_t)(end - line);
		line = end;
	}
	if (length == LINE_BYTES - 1) {
		*skip = true;
		return 0;
	}
	memmove(s->line, line, length);
	return length;
}

static void each_line(struct search *s, const char *file,
		      void (*take)(struct search *s, char *line))
{
	struct gt_descriptor open;
	size_t length = 0;
	bool skip = false;
	ssize_t n = 0;

	gt_text_format(s->path, sizeof(s->path), "%s%s", s->root, file);
	if (!gt_descriptor_open(&open, AT_FDCWD, s->path, O_RDONLY | O_NONBLOCK, 0))
		n = read(open.fd, s->line, LINE_BYTES - 1);
	while (n > 0) {
		length = take_lines(s, length + (size_t)n, &skip, take);
		n = read(open.fd, s->line + length, LINE_BYTES - 1 - length);
	}
	gt_descriptor_close(&open);
}

static void take_group(struct search *s, char *line)
{
	enum gt_cgroup_version version;
	char *group;

	if (gt_cgroup_parse_group(line, &version, &group) && strlen(group) < PATH_MAX)
		gt_text_format(s->group[version], PATH_MAX, "%s", group);
}

/* ---- limits ---- */

/* The limits that the group at `path` sets itself. */
static void look_at_group(struct search *s, enum gt_cgroup_version version)
{
	struct gt_cgroup_limit *limit = &s->found[version].limit;
	size_t length = strlen(s->path), n;
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(limits[0]) / sizeof(limits[0][0]); i++) {
		gt_text_format(s->path + length, sizeof(s->path) - length, "/%s",
			       limits[version][i].file);
		n = gt_descriptor_read_file(s->path, s->text, sizeof(s->text) - 1);
		s->text[n] = 0;
		bytes = gt_cgroup_parse_limit(s->text, limits[version][i].key);
		if (bytes && (!limit->bytes || bytes < limit->bytes)) {
			limit->bytes = bytes;
			gt_text_format(limit->file, sizeof(limit->file), "%s",
				       s->path + strlen(s->root));
		}
	}
	s->path[length] = 0;
}

/* The group @below the mount point, and every one above it. */
static void look_at_groups(struct search *s, const struct gt_cgroup_mount *mount, const char *below)
{
	size_t top = strlen(s->root) + strlen(mount->point);

	if (top + strlen(below) >= PATH_MAX)
		return;
	gt_text_format(s->path, PATH_MAX, "%s%s%s", s->root, mount->point, below);
	for (size_t level = 0; level < DEEPEST_LEVEL; level++) {
		char *slash = strrchr(s->path, '/');

		look_at_group(s, mount->version);
		if (!slash || (size_t)(slash - s->path) < top)
			return;
		*slash = 0;
	}
}

static void take_mount(struct search *s, char *line)
{
	struct gt_cgroup_mount mount;
	const char *below;
	struct found *found;

	if (!gt_cgroup_parse_mount(line, &mount) || !*s->group[mount.version])
		return;
	found = &s->found[mount.version];
	below = gt_cgroup_below(&mount, s->group[mount.version]);
	if (below && !found->exact)
		*found = (struct found){.exact = true};
	if (below || !found->exact)
		look_at_groups(s, &mount, below ? below : "");
}

void gt_cgroup_find(const char *root, struct gt_cgroup_limit *ret_limit)
{
	struct search *s = gt_memory_map(sizeof(*s));

	*ret_limit = (struct gt_cgroup_limit){0};
	if (!s)
		return;
	s->root = root;
	each_line(s, "/proc/self/cgroup", take_group);
	each_line(s, "/proc/self/mountinfo", take_mount);
	for (int i = 0; i < GT_CGROUP_VERSIONS_; i++) {
		const struct gt_cgroup_limit *limit = &s->found[i].limit;

		if (limit->bytes && (!ret_limit->bytes || limit->bytes < ret_limit->bytes))
			*ret_limit = *limit;
	}
	gt_memory_unmap(s, sizeof(*s));
}
