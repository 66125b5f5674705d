/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/serve_request.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int hex(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* The next byte of a path, percent-escape or not. */
static char next_byte(const char **path)
{
	const char *p = *path;
	int high = *p == '%' ? hex(p[1]) : -1, low = high < 0 ? -1 : hex(p[2]);

	if (low < 0) {
		++*path;
		return *p;
	}
	*path += 3;
	return (char)(high << 4 | low);
}

/* Moves *path behind @text if it begins with that. */
static bool skip(const char **path, const char *text)
{
	for (; *text; text++)
		if (next_byte(path) != *text)
			return false;
	return true;
}

static bool asks_for_file(const char *request, const struct gt_serve_offer *offer)
{
	const char *path = strchr(request, ' ');

	if (!path)
		return false;
	path++;
	return skip(&path, "/") && skip(&path, offer->token) && skip(&path, "/") &&
	       skip(&path, offer->name) && (*path == ' ' || *path == '?');
}

/* The first header of that name at or behind @line: its value, or NULL. */
static const char *find_header(const char *line, const char *name)
{
	size_t n = strlen(name);

	while ((line = strstr(line, "\r\n"))) {
		line += 2;
		if (!strncasecmp(line, name, n) && line[n] == ':')
			return line + n + 1;
	}
	return NULL;
}

/* Is the value, up to the end of its line, @text? */
static bool has_value(const char *value, const char *text)
{
	size_t n = strlen(text);

	value += strspn(value, " \t");
	if (strncmp(value, text, n))
		return false;
	value += n;
	return !strncmp(value + strspn(value, " \t"), "\r\n", 2);
}

/* One Host, as in the address; browsers leave out the port that is HTTP's own. */
static bool is_our_host(const char *request, int port)
{
	const char *value = find_header(request, "Host");
	char host[32];

	if (!value || find_header(value, "Host"))
		return false;
	snprintf(host, sizeof(host), "127.0.0.1:%d", port);
	return has_value(value, host) || (port == 80 && has_value(value, "127.0.0.1"));
}

/* Who is no browser sends none. */
static bool is_our_origin(const char *request, const char *origin)
{
	const char *value = find_header(request, "Origin");

	return !value || (has_value(value, origin) && !find_header(value, "Origin"));
}

enum gt_serve_answer gt_serve_judge(const char *request, const struct gt_serve_offer *offer)
{
	if (!is_our_host(request, offer->port))
		return GT_SERVE_BAD_HOST;
	if (!is_our_origin(request, offer->origin))
		return GT_SERVE_BAD_ORIGIN;
	if (!asks_for_file(request, offer))
		return GT_SERVE_NOT_FOUND;
	if (!strncmp(request, "OPTIONS ", 8))
		return GT_SERVE_PREFLIGHT;
	if (!strncmp(request, "HEAD ", 5))
		return GT_SERVE_HEAD;
	return strncmp(request, "GET ", 4) ? GT_SERVE_BAD_METHOD : GT_SERVE_FILE;
}
