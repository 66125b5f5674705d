/* SPDX-License-Identifier: Apache-2.0
 *
 * The server of `gputrace open` with misbehaving clients. Client and server take turns in one
 * thread: what the client has sent waits in the socket.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/serve.h"

#define LARGE (64l << 20) /* more than sockets hold */
#define LONG  60000       /* ms, more than a turn takes */

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

static int connect_client(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)server.port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* A client that has sent a request. %s in @first stands for the token, %d in @headers for the port.
 */
static int ask(const char *first, const char *headers)
{
	char request[512];
	int fd = connect_client();
	size_t n = (size_t)snprintf(request, sizeof(request), first, server.token);

	n += (size_t)snprintf(request + n, sizeof(request) - n, headers, server.port);
	snprintf(request + n, sizeof(request) - n, "\r\n");
	say(fd, request);
	return fd;
}

/* Of a client that behaves. */
static int ask_for(const char *name)
{
	char first[128];

	snprintf(first, sizeof(first), "GET /%%s/%s HTTP/1.1\r\n", name);
	return ask(first, "Host: 127.0.0.1:%d\r\n");
}

static bool has_clients(void)
{
	for (size_t i = 0; i < GT_SERVE_CLIENTS; i++)
		if (server.clients[i].fd >= 0)
			return true;
	return false;
}

/* Turns until all clients are done with. */
static void take_turns(void)
{
	do
		cr_assert_eq(gt_server_turn(&server, LONG), 0);
	while (has_clients());
}

static char answer[65536];

/* The status of the answer, whose beginning is in answer[]. */
static int read_answer(int fd)
{
	int status = 0;
	ssize_t n, used = 0;

	while ((n = recv(fd, answer + used, sizeof(answer) - 1 - (size_t)used, 0)) > 0)
		used += n;
	answer[used] = 0;
	cr_assert_eq(sscanf(answer, "HTTP/1.1 %d", &status), 1, "'%s'", answer);
	close(fd);
	return status;
}

static int status_of(int fd)
{
	unsigned int before = server.served;
	int status;

	take_turns();
	status = read_answer(fd);
	cr_assert_eq(server.served, before + (status == 200));
	return status;
}

Test(serve, client_that_goes_early_is_no_end)
{
	make_file("trace.json", LARGE);
	for (int i = 0; i < 3; i++) {
		close(ask_for("trace.json"));
		take_turns();
		cr_assert_eq(server.served, 0);
	}
	cr_assert_eq(status_of(ask_for("other")), 404);
}

Test(serve, client_that_takes_nothing_is_left)
{
	int fd;

	make_file("trace.json", LARGE);
	server.patience_ms = 100;
	fd = ask_for("trace.json");
	take_turns();
	cr_assert_eq(server.served, 0);
	close(fd);
	cr_assert_eq(status_of(ask_for("other")), 404);
}

Test(serve, client_that_trickles_is_left)
{
	int fd;

	make_file("trace.json", 1);
	server.patience_ms = 300;
	fd = connect_client();
	say(fd, "GET / HTTP/1.1\r\n");
	do {
		cr_assert_eq(gt_server_turn(&server, 10), 0);
		send(fd, "X", 1, MSG_NOSIGNAL);
		usleep(5000);
	} while (has_clients());
	cr_assert_geq(gt_server_idle_ms(&server), 300, "that was no request for the file");
	close(fd);
}

Test(serve, client_that_sips_is_left)
{
	char sip[4096];
	int fd;

	make_file("trace.json", LARGE);
	server.patience_ms = 500;
	server.rate = (int)LARGE; /* in a second and a half at most */
	fd = ask_for("trace.json");
	do {
		cr_assert_eq(gt_server_turn(&server, 10), 0);
		recv(fd, sip, sizeof(sip), MSG_DONTWAIT);
	} while (has_clients());
	cr_assert_eq(server.served, 0);
	close(fd);
}

Test(serve, silent_clients_keep_nobody_waiting)
{
	int silent[3 * GT_SERVE_CLIENTS], sleeper, fd;

	make_file("trace.json", LARGE);
	sleeper = ask_for("trace.json");
	while (!gt_server_is_sending(&server))
		cr_assert_eq(gt_server_turn(&server, LONG), 0);
	for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++) {
		silent[i] = connect_client();
		cr_assert_eq(gt_server_turn(&server, LONG), 0);
	}
	fd = ask_for("trace.json");
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (!server.served) {
		cr_assert_eq(gt_server_turn(&server, LONG), 0);
		while (recv(fd, answer, sizeof(answer), 0) > 0)
			;
	}
	cr_assert(gt_server_is_sending(&server), "to the first, which takes nothing yet");
	close(fd);
	close(sleeper);
	for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++)
		close(silent[i]);
}

Test(serve, hosts)
{
	static const struct {
		const char *headers;
		int status;
	} cases[] = {
		{"Host: 127.0.0.1:%d\r\n", 200},
		{"User-Agent: x\r\nhost:127.0.0.1:%d \r\n", 200},
		{"Host: localhost:%d\r\n", 421},
		{"Host: rebound.example.org:%d\r\n", 421},
		{"Host: 127.0.0.1:%d.example.org\r\n", 421},
		{"Host: 127.0.0.1:%d0\r\n", 421},
		{"Host: 127.0.0.1\r\n", 421},
		{"Host: rebound.example.org\r\nHost: 127.0.0.1:%d\r\n", 421},
		{"Host: 127.0.0.1:%d\r\nHost: rebound.example.org\r\n", 421},
		{"X-Host: 127.0.0.1:%d\r\n", 421},
		{"", 421},
	};

	make_file("trace.json", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(status_of(ask("GET /%s/trace.json HTTP/1.1\r\n", cases[i].headers)),
			     cases[i].status, "%s", cases[i].headers);
}

Test(serve, origins)
{
	make_file("trace.json", 1);
	cr_assert_eq(status_of(ask("GET /%s/trace.json HTTP/1.1\r\n",
				   "Host: 127.0.0.1:%d\r\nOrigin: https://example.org\r\n")),
		     200);
	cr_assert(strstr(answer, "\r\nAccess-Control-Allow-Origin: https://example.org\r\n"));
	cr_assert_eq(status_of(ask("GET /%s/trace.json HTTP/1.1\r\n",
				   "Host: 127.0.0.1:%d\r\nOrigin: https://evil.example\r\n")),
		     403);
	cr_assert_eq(status_of(ask("GET /%s/trace.json HTTP/1.1\r\n",
				   "Host: 127.0.0.1:%d\r\nOrigin: null\r\n")),
		     403);
	cr_assert_eq(status_of(ask("OPTIONS /%s/trace.json HTTP/1.1\r\n",
				   "Host: 127.0.0.1:%d\r\nOrigin: https://example.org\r\n"
				   "Access-Control-Request-Private-Network: true\r\n")),
		     204);
	cr_assert(strstr(answer, "\r\nAccess-Control-Allow-Private-Network: true\r\n"));
}

Test(serve, token)
{
	struct gt_server other;

	make_file("trace.json", 1);
	cr_assert_eq(strlen(server.token), 32);
	cr_assert_eq(gt_server_open(&other, path, "https://example.org", 0), 0);
	cr_assert_str_neq(server.token, other.token);
	gt_server_close(&other);
	cr_assert_eq(status_of(ask("GET /trace.json HTTP/1.1\r\n", "Host: 127.0.0.1:%d\r\n")), 404);
	cr_assert_eq(status_of(ask("GET //trace.json HTTP/1.1\r\n", "Host: 127.0.0.1:%d\r\n")),
		     404);
	cr_assert_eq(status_of(ask("GET /0123456789abcdef0123456789abcdef/trace.json HTTP/1.1\r\n",
				   "Host: 127.0.0.1:%d\r\n")),
		     404);
	cr_assert_eq(status_of(ask("OPTIONS /trace.json HTTP/1.1\r\n", "Host: 127.0.0.1:%d\r\n")),
		     404);
	cr_assert_eq(status_of(ask("PUT /%s/trace.json HTTP/1.1\r\n", "Host: 127.0.0.1:%d\r\n")),
		     405);
}

Test(serve, names)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);
	char expected[192];

	make_file("a b#1+%.json", 1);
	gt_server_print(&server, out);
	fclose(out);
	snprintf(expected, sizeof(expected),
		 "https://example.org/#!/?url=http://127.0.0.1:%d/%s/"
		 "a%%2520b%%25231%%252B%%2525.json\n",
		 server.port, server.token);
	cr_assert_str_eq(line, expected);
	free(line);
	cr_assert_eq(status_of(ask_for("a%%20b%%231%%2B%%25.json")), 200);
	cr_assert_eq(status_of(ask_for("a%%20b%%231%%2b%%25.json?from=there")), 200);
	cr_assert_eq(status_of(ask_for("a%%20b%%231%%2B%%.json")), 200,
		     "as it was sent, no escape");
	cr_assert_eq(status_of(ask_for("a%%20b")), 404);
	cr_assert_eq(status_of(ask_for("a%%20b%%231%%2B%%25.json.gz")), 404);
	cr_assert_eq(status_of(ask_for("a%%20b%%231%%2B%%25.json%%")), 404);
}
