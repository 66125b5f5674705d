/* SPDX-License-Identifier: Apache-2.0
 *
 * See settings.h.
 */
#include "cli/settings.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmdline.h"
#include "cli/run_options.h"
#include "core/config.h"

#define NAME       "gputrace.ini"
#define MOST_BYTES 65536
#define LINE_BYTES 4400

/* One file while it is read. */
struct settings_file {
	char path[PATH_MAX];
	bool is_project;
	void (*see)(const struct gt_setting *setting, void *context);
	void *context;
};

static void tell(const struct settings_file *file, int line, bool is_wrong, const char *text)
{
	const struct gt_setting setting = {
		.path = file->path, .line = line, .text = text, .is_wrong = is_wrong};

	file->see(&setting, file->context);
}

/* ---- one line ---- */

/* Without blanks at both ends; in place. */
static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	return text;
}

/* May the file of a project set option @id? */
static bool is_harmless(int id)
{
	return gt_options[id].type != GT_OPTION_PATH && id != GT_CONFIG_FORCE_INJECTION;
}

static void take_setting(const struct settings_file *file, int line, const char *name,
			 const char *value)
{
	int id = gt_config_find(name, strlen(name));
	char option[LINE_BYTES], wrong[LINE_BYTES], *variable;

	if (id >= 0 && file->is_project && !is_harmless(id)) {
		snprintf(wrong, sizeof(wrong),
			 "%s is for your own file, the command line and the environment: a "
			 "project must not choose paths or libraries",
			 name);
		tell(file, line, true, wrong);
		return;
	}
	snprintf(option, sizeof(option), "%.64s=%.4096s", name, value);
	variable = gt_run_option_variable(option, wrong, sizeof(wrong));
	tell(file, line, !variable, variable ? option : wrong);
	free(variable);
}

/* "option = value", a comment, or nothing. */
static void take_line(const struct settings_file *file, int line, char *text)
{
	char *equals;

	text = trim(text);
	if (!*text || *text == '#' || *text == ';')
		return;
	equals = strchr(text, '=');
	if (!equals) {
		tell(file, line, true, "it takes lines of the form: option = value");
		return;
	}
	*equals = 0;
	take_setting(file, line, trim(text), trim(equals + 1));
}

/* ---- the files ---- */

#define HOW "; it takes one option = value a line"

/* Why a file that could not be opened is not read; NULL: there is none. */
static const char *why_closed(const char *path)
{
	int error = errno;
	struct stat status;

	if (error == ENOTDIR || (error == ENOENT && lstat(path, &status) < 0))
		return NULL;
	if (error == ENOENT)
		return "not read: it is a dangling symbolic link; remove it or fix it";
	if (error == ELOOP)
		return "not read: it is a loop of symbolic links; remove it or fix it";
	if (error == EACCES || error == EPERM)
		return "not read: you may not read it; chmod u+r would let you, if it is yours";
	return error == ENXIO ? "not read: it is no regular file" HOW
			      : "not read: input or output error";
}

/* Why an open file is not read; NULL: it can be. */
static const char *why_refused(int fd, struct stat *ret_status)
{
	if (fstat(fd, ret_status) < 0)
		return "not read: input or output error";
	if (S_ISDIR(ret_status->st_mode))
		return "not read: it is a folder, not a file" HOW;
	if (!S_ISREG(ret_status->st_mode))
		return "not read: it is no regular file" HOW;
	if (ret_status->st_uid != geteuid() && ret_status->st_uid != 0)
		return "not read: it belongs to another user; copy it to have one of your own";
	if (ret_status->st_size > MOST_BYTES)
		return "not read: it is larger than 64 KiB, the most that settings take" HOW;
	return NULL;
}

/* The text of a regular file of ours; else NULL, *ret_why says why, NULL: there is none. */
static char *read_own(const char *path, const char **ret_why)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat status;
	char *text = NULL;
	ssize_t n = -1;

	*ret_why = fd < 0 ? why_closed(path) : why_refused(fd, &status);
	if (fd >= 0 && !*ret_why && (text = calloc(1, (size_t)status.st_size + 1)))
		n = read(fd, text, (size_t)status.st_size);
	if (fd >= 0)
		close(fd);
	if (text && n < 0)
		*ret_why = "not read: input or output error";
	if (text && (n < 0 || strlen(text) != (size_t)n)) {
		*ret_why = *ret_why ? *ret_why : "not read: it is no text" HOW;
		free(text);
		text = NULL;
	}
	return text;
}

static void read_file(const struct settings_file *file)
{
	const char *why;
	char *text = read_own(file->path, &why), *rest = text, *row;
	int line = 0;

	if (why)
		tell(file, 0, true, why);
	while ((row = strsep(&rest, "\n")))
		take_line(file, ++line, row);
	free(text);
}

/* $XDG_CONFIG_HOME/gputrace/gputrace.ini; the name is empty where there is no home. */
static void name_own(char *ret_path)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	*ret_path = 0;
	if (config && *config == '/')
		snprintf(ret_path, PATH_MAX, "%s/gputrace/" NAME, config);
	else if (home && *home == '/')
		snprintf(ret_path, PATH_MAX, "%s/.config/gputrace/" NAME, home);
}

void gt_settings_each(void (*see)(const struct gt_setting *setting, void *context), void *context)
{
	struct settings_file file = {
		.path = NAME, .is_project = true, .see = see, .context = context};

	read_file(&file);
	file.is_project = false;
	name_own(file.path);
	if (*file.path)
		read_file(&file);
}

/* ---- for run ---- */

static void complain(const struct gt_setting *setting)
{
	char line[2 * LINE_BYTES], number[16] = "";

	if (setting->line)
		snprintf(number, sizeof(number), ":%d", setting->line);
	snprintf(line, sizeof(line), "%.4096s%s: %.4096s", setting->path, number, setting->text);
	gt_cmdline_complain(line);
}

static void apply(const struct gt_setting *setting, void *context)
{
	char wrong[LINE_BYTES], *equals, *variable;
	bool *is_wrong = context;

	if (setting->is_wrong) {
		if (!*is_wrong)
			complain(setting);
		*is_wrong |= setting->line > 0; /* a file that is not read sets nothing */
		return;
	}
	variable = gt_run_option_variable(setting->text, wrong, sizeof(wrong));
	equals = variable ? strchr(variable, '=') : NULL;
	if (equals) {
		*equals = 0;
		setenv(variable, equals + 1, 0);
	}
	free(variable);
}

bool gt_settings_apply(void)
{
	bool is_wrong = false;

	gt_settings_each(apply, &is_wrong);
	return !is_wrong;
}
