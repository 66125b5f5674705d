/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace open: hands a trace to ui.perfetto.dev from this machine.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmdline.h"
#include "cli/serve.h"
#include "readers/show.h"
#include "recover/join.h"
#include "trace/file/header.h"

#define ORIGIN "https://ui.perfetto.dev"

static const struct gt_cmdline_option options[] = {
	{"port", "N", "0..65535",
	 "port on 127.0.0.1 (default 9001, which ui.perfetto.dev accepts; 0: any)"},
	{"timeout", "TIME", GT_CMDLINE_TIME,
	 "exit with status 1 after this long without a request: 90s, 10m (without a unit: s; "
	 "default 0: never); with --keep, exit normally"},
	{"keep", NULL, NULL, "keep serving after the file has been fetched"},
	{NULL, NULL, NULL, NULL},
};

/* Once nobody is in the middle of it. */
static bool was_fetched(const struct gt_server *server)
{
	return server->served && !gt_server_is_sending(server);
}

/* Serves until the file has been fetched. -ETIMEDOUT: nobody has asked for @timeout_ms (0: no
 * limit). */
static int serve_until(struct gt_server *server, bool keep, long timeout_ms)
{
	int rc = 0;

	while (!rc && (keep || !was_fetched(server))) {
		long left = timeout_ms ? timeout_ms - (long)gt_server_idle_ms(server) : -1;

		if (timeout_ms && left <= 0)
			return -ETIMEDOUT;
		rc = gt_server_turn(server, (int)(left < INT_MAX ? left : INT_MAX));
	}
	return rc;
}

static int serve(const struct gt_cmdline *args, const char *path, struct gt_server *server)
{
	long timeout_ms = (long)(gt_cmdline_time(args, "timeout", 1000000000) / 1000000);
	bool keep = gt_cmdline_get(args, "keep");
	int rc;

	gt_server_print(server, stdout);
	fflush(stdout);
	rc = serve_until(server, keep, timeout_ms);
	if (rc == -ETIMEDOUT && keep)
		return GT_EXIT_OK;
	if (rc == -ETIMEDOUT)
		gt_show_line(stderr, "gputrace open: %s: nobody fetched it in %g s", path,
			     (double)timeout_ms / 1000);
	else if (rc)
		gt_show_line(stderr, "gputrace open: %s", strerror(-rc));
	return rc ? GT_EXIT_FAILED : GT_EXIT_OK;
}

/* Does it begin as a trace? Else that is said. The page reads other tools' .pftrace too. */
static bool begins_as_trace(const char *path)
{
	struct gt_reading reading;
	int rc;

	if (gt_join_is_pftrace(path, path))
		return true;
	rc = gt_file_header(path, &reading);
	if (rc < 0)
		gt_cmdline_complain(reading.error);
	gt_reading_fini(&reading);
	return rc >= 0;
}

static int open_trace(const struct gt_cmdline *args, const char *path)
{
	struct gt_server server;
	int rc;

	if (access(path, R_OK)) {
		gt_show_line(stderr, "gputrace open: %s: %s", path, strerror(errno));
		return GT_EXIT_FAILED;
	}
	if (!gt_cmdline_can_read_twice(path) || !begins_as_trace(path))
		return GT_EXIT_FAILED;
	rc = gt_server_open(&server, path, ORIGIN, (int)gt_cmdline_number(args, "port", 9001));
	if (rc < 0) {
		gt_show_line(stderr, "gputrace open: port %ld: %s",
			     gt_cmdline_number(args, "port", 9001), strerror(-rc));
		return GT_EXIT_FAILED;
	}
	rc = serve(args, path, &server);
	gt_server_close(&server);
	return rc;
}

static int run_open(const struct gt_cmdline *args)
{
	char *path = gt_cmdline_trace(args, 0);
	int rc = path ? open_trace(args, path) : GT_EXIT_FAILED;

	free(path);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_open,
	.details = "Prints the address to open in a browser on this machine and serves the file on "
		   "127.0.0.1 until it has been fetched. Only who knows the printed address can "
		   "fetch the file, and of all web pages only ui.perfetto.dev can read it. From "
		   "another machine, forward the port first: ssh -L 9001:127.0.0.1:9001 HOST.",
	.example = "gputrace open trace.json\n"
		   "# on a cluster node: this on your machine, then the printed address in a "
		   "browser there\n"
		   "ssh -L 9001:127.0.0.1:9001 NODE gputrace open trace.json",
	.options = options,
	.min_inputs = 1,
	.max_inputs = 1,
	.takes_newest = true,
	.run = run_open,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_open = {
	.name = "open",
	.arguments = "[FILE|FOLDER]",
	.help = "serve a trace on 127.0.0.1 for ui.perfetto.dev",
	.run = run,
};
