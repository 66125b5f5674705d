/* SPDX-License-Identifier: Apache-2.0
 *
 * The server of `gputrace open` and clients that do not behave. Client and server take turns in one
 * thread: what the client has sent waits in the socket.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/serve.h"

#define LARGE (64l << 20) /* more than sockets hold */

static char folder[] = "/tmp/gputrace-serve-XXXXXX";
static char path[128];
static struct gt_server server;

static void make_file(const char *name, long size)
{
	FILE *file;

	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	cr_assert(file && !fseek(file, size - 1, SEEK_SET) && fputc('x', file) == 'x');
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(gt_server_open(&server, path, "https://example.org", 0), 0);
}

static void teardown(void)
{
	gt_server_close(&server);
	unlink(path);
	rmdir(folder);
}

TestSuite(serve, .fini = teardown, .timeout = 100);

/* A client that has sent a request for @what. */
static int ask(const char *what)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)server.port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char request[256];
	int n = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n\r\n", what);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(send(fd, request, (size_t)n, 0), n);
	return fd;
}

/* The status of the answer to a request for @what. */
static int status_of(const char *what)
{
	char answer[1024] = "";
	int fd = ask(what), status = 0;
	bool served;

	cr_assert_eq(gt_server_answer(&server, 60000, &served), 0);
	cr_assert(recv(fd, answer, sizeof(answer) - 1, 0) > 0);
	cr_assert_eq(sscanf(answer, "HTTP/1.1 %d", &status), 1);
	cr_assert_eq(served, status == 200);
	close(fd);
	return status;
}

Test(serve, client_that_goes_early_is_no_end)
{
	bool served;

	make_file("trace.json", LARGE);
	for (int i = 0; i < 3; i++) {
		close(ask("/trace.json"));
		cr_assert_eq(gt_server_answer(&server, 60000, &served), 0);
		cr_assert_not(served);
	}
	cr_assert_eq(status_of("/other"), 404);
}

Test(serve, client_that_takes_nothing_is_left)
{
	bool served;
	int fd;

	make_file("trace.json", LARGE);
	server.patience_ms = 100;
	fd = ask("/trace.json");
	cr_assert_eq(gt_server_answer(&server, 60000, &served), 0);
	cr_assert_not(served);
	close(fd);
	cr_assert_eq(status_of("/other"), 404);
}

Test(serve, names)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);
	char expected[128];

	make_file("a b#1+%.json", 1);
	gt_server_print(&server, out);
	fclose(out);
	snprintf(expected, sizeof(expected),
		 "https://example.org/#!/?url=http://127.0.0.1:%d/"
		 "a%%2520b%%25231%%252B%%2525.json\n",
		 server.port);
	cr_assert_str_eq(line, expected);
	free(line);
	cr_assert_eq(status_of("/a%20b%231%2B%25.json"), 200);
	cr_assert_eq(status_of("/a%20b%231%2b%25.json?from=there"), 200);
	cr_assert_eq(status_of("/a%20b%231%2B%.json"), 200, "as it was sent, no escape");
	cr_assert_eq(status_of("/a%20b"), 404);
	cr_assert_eq(status_of("/a%20b%231%2B%25.json.gz"), 404);
	cr_assert_eq(status_of("/a%20b%231%2B%25.json%"), 404);
}
