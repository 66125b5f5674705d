/* SPDX-License-Identifier: Apache-2.0
 *
 * See serve.h. No call waits but poll(): a client that is slow only delays itself.
 */
#include "cli/serve.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/serve_request.h"

#define PIECE       65536
#define PATIENCE_MS 10000
#define RATE        65536

/* What is said for each enum gt_serve_answer. */
static const char *const statuses[] = {
	[GT_SERVE_FILE] = "200 OK",
	[GT_SERVE_HEAD] = "200 OK",
	[GT_SERVE_PREFLIGHT] = "204 No Content",
	[GT_SERVE_BAD_HOST] = "421 Misdirected Request",
	[GT_SERVE_BAD_ORIGIN] = "403 Forbidden",
	[GT_SERVE_NOT_FOUND] = "404 Not Found",
	[GT_SERVE_BAD_METHOD] = "405 Method Not Allowed",
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool make_token(char *token)
{
	unsigned char bytes[(GT_SERVE_TOKEN - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

static int start_listening(struct gt_server *server, int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t size = sizeof(address);
	int on = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(server->fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(server->fd, GT_SERVE_CLIENTS) ||
	    getsockname(server->fd, (struct sockaddr *)&address, &size))
		return -errno;
	server->port = ntohs(address.sin_port);
	return 0;
}

int gt_server_open(struct gt_server *server, const char *path, const char *origin, int port)
{
	const char *slash = strrchr(path, '/');
	int rc;

	*server = (struct gt_server){.path = path,
				     .name = slash ? slash + 1 : path,
				     .origin = origin,
				     .asked_ms = now_ms(),
				     .patience_ms = PATIENCE_MS,
				     .rate = RATE};
	for (size_t i = 0; i < GT_SERVE_CLIENTS; i++)
		server->clients[i].fd = server->clients[i].file = -1;
	if (!make_token(server->token))
		return -errno;
	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->fd < 0)
		return -errno;
	rc = start_listening(server, port);
	if (rc)
		close(server->fd);
	return rc;
}

static void forget(struct gt_serve_client *client)
{
	if (client->file >= 0)
		close(client->file);
	if (client->fd >= 0)
		close(client->fd);
	client->fd = client->file = -1;
}

void gt_server_close(struct gt_server *server)
{
	for (size_t i = 0; i < GT_SERVE_CLIENTS; i++)
		forget(&server->clients[i]);
	close(server->fd);
}

/* Bytes that a URL has as they are, wherever they stand. */
static bool is_plain(unsigned char c)
{
	return isalnum(c) || strchr("-._~", c);
}

/* The name is escaped in the file's URL, which is escaped once more as it is a value in the
 * page's. The page takes what follows the last slash for the file's name. */
void gt_server_print(const struct gt_server *server, FILE *out)
{
	fprintf(out, "%s/#!/?url=http://127.0.0.1:%d/%s/", server->origin, server->port,
		server->token);
	for (const char *c = server->name; *c; c++)
		fprintf(out, is_plain((unsigned char)*c) ? "%c" : "%%25%02X", (unsigned char)*c);
	fputc('\n', out);
}

bool gt_server_is_sending(const struct gt_server *server)
{
	for (size_t i = 0; i < GT_SERVE_CLIENTS; i++)
		if (server->clients[i].file >= 0)
			return true;
	return false;
}

int64_t gt_server_idle_ms(const struct gt_server *server)
{
	return now_ms() - server->asked_ms;
}

/* A place for one more client. Who has not even asked yet makes room, the oldest first; NULL: all
 * are being answered. */
static struct gt_serve_client *find_place(struct gt_server *server)
{
	struct gt_serve_client *oldest = NULL;

	for (size_t i = 0; i < GT_SERVE_CLIENTS; i++) {
		struct gt_serve_client *client = &server->clients[i];

		if (client->fd < 0)
			return client;
		if (!client->answering && (!oldest || client->started_ms < oldest->started_ms))
			oldest = client;
	}
	if (oldest)
		forget(oldest);
	return oldest;
}

static bool is_passing(int error)
{
	return error == EAGAIN || error == EINTR;
}

/* Errors of the connection that was to be accepted are no reason to stop. */
static int accept_client(struct gt_server *server)
{
	static const int fatal[] = {EBADF, EFAULT, EINVAL, ENOTSOCK, EMFILE, ENFILE, ENOMEM};
	int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct gt_serve_client *client;
	int64_t now = now_ms();

	for (size_t i = 0; fd < 0 && i < sizeof(fatal) / sizeof(*fatal); i++)
		if (errno == fatal[i])
			return -errno;
	if (fd < 0)
		return 0;
	client = find_place(server);
	if (!client) {
		close(fd);
		return 0;
	}
	*client =
		(struct gt_serve_client){.fd = fd, .file = -1, .started_ms = now, .moved_ms = now};
	return 0;
}

/* Opens the file to be sent. False: it is not there any more. */
static bool open_file(struct gt_serve_client *client, const char *path)
{
	struct stat status;

	client->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (client->file < 0 || fstat(client->file, &status))
		return false;
	client->left = status.st_size;
	return true;
}

static void begin_answer(struct gt_server *server, struct gt_serve_client *client)
{
	const struct gt_serve_offer offer = {server->token, server->name, server->origin,
					     server->port};
	enum gt_serve_answer answer = gt_serve_judge(client->text, &offer);

	if (answer <= GT_SERVE_HEAD && !open_file(client, server->path))
		answer = GT_SERVE_NOT_FOUND;
	if (answer <= GT_SERVE_HEAD)
		server->asked_ms = client->moved_ms;
	client->answering = true;
	client->used = (size_t)snprintf(
		client->text, sizeof(client->text),
		"HTTP/1.1 %s\r\nAccess-Control-Allow-Origin: %s\r\n"
		"Access-Control-Allow-Private-Network: true\r\nVary: Origin\r\n"
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
		"Content-Type: application/octet-stream\r\nContent-Length: %lld\r\n"
		"Connection: close\r\n\r\n",
		statuses[answer], server->origin, (long long)client->left);
	if (answer != GT_SERVE_FILE && client->file >= 0) {
		close(client->file);
		client->file = -1;
	}
}

/* Bytes that were read into, or written from; 0: not now; negative: the connection has ended. */
static ssize_t moved(struct gt_serve_client *client, ssize_t n)
{
	if (n > 0)
		client->moved_ms = now_ms();
	if (n < 0 && is_passing(errno))
		return 0;
	return n > 0 ? n : -1;
}

/* False: the client is done with. */
static bool read_request(struct gt_server *server, struct gt_serve_client *client)
{
	size_t room = sizeof(client->text) - 1 - client->used;
	ssize_t n =
		room ? moved(client, recv(client->fd, client->text + client->used, room, 0)) : -1;
	char *end;

	if (n <= 0)
		return !n;
	client->used += (size_t)n;
	client->text[client->used] = 0;
	end = strstr(client->text, "\r\n\r\n");
	if (end) {
		end[4] = 0;
		begin_answer(server, client);
	}
	return true;
}

static bool send_head(struct gt_serve_client *client)
{
	ssize_t n = moved(client, send(client->fd, client->text + client->sent,
				       client->used - client->sent, MSG_NOSIGNAL));

	client->sent += n > 0 ? (size_t)n : 0;
	return n >= 0;
}

/* Not sendfile(): to a client that is gone it would end us, it knows no MSG_NOSIGNAL. */
static bool send_piece(struct gt_serve_client *client)
{
	char piece[PIECE];
	size_t size = client->left < PIECE ? (size_t)client->left : PIECE;
	off_t at = lseek(client->file, 0, SEEK_CUR);
	ssize_t n = pread(client->file, piece, size, at);

	if (n <= 0)
		return false;
	n = moved(client, send(client->fd, piece, (size_t)n, MSG_NOSIGNAL));
	if (n < 0 || lseek(client->file, at + n, SEEK_SET) < 0)
		return false;
	client->left -= n;
	return true;
}

/* One step. False: all was sent, or the connection has ended. */
static bool go_on(struct gt_server *server, struct gt_serve_client *client)
{
	if (!client->answering)
		return read_request(server, client);
	if (client->sent < client->used)
		return send_head(client);
	if (client->file >= 0 && client->left > 0 && !send_piece(client))
		return false;
	if (client->file >= 0 && client->left > 0) {
		server->asked_ms = client->moved_ms;
		return true;
	}
	server->served += client->file >= 0;
	shutdown(client->fd, SHUT_WR);
	return false;
}

/* When the client's time is up. Who trickles gets no longer than who takes the least that is asked
 * for, all in all. */
static int64_t deadline_of(const struct gt_server *server, const struct gt_serve_client *client)
{
	int64_t stalls = client->moved_ms + server->patience_ms;
	int64_t total = client->started_ms + server->patience_ms;

	if (client->file >= 0)
		total += (int64_t)(lseek(client->file, 0, SEEK_CUR) + client->left) * 1000 /
			 server->rate;
	return stalls < total ? stalls : total;
}

static void serve_client(struct gt_server *server, struct gt_serve_client *client, short ready)
{
	if (client->fd < 0)
		return;
	if ((ready && !go_on(server, client)) || now_ms() >= deadline_of(server, client))
		forget(client);
}

/* Milliseconds until the first deadline, at most @wait_ms. */
static int time_to_wait(const struct gt_server *server, int wait_ms)
{
	int64_t now = now_ms();

	for (size_t i = 0; i < GT_SERVE_CLIENTS; i++) {
		const struct gt_serve_client *client = &server->clients[i];
		int64_t left = client->fd < 0 ? -1 : deadline_of(server, client) - now;

		if (client->fd >= 0 && (wait_ms < 0 || left < wait_ms))
			wait_ms = left < 0 ? 0 : (int)left;
	}
	return wait_ms;
}

int gt_server_turn(struct gt_server *server, int wait_ms)
{
	struct pollfd waits[GT_SERVE_CLIENTS + 1];
	int ready;

	for (size_t i = 0; i < GT_SERVE_CLIENTS; i++)
		waits[i] =
			(struct pollfd){.fd = server->clients[i].fd,
					.events = server->clients[i].answering ? POLLOUT : POLLIN};
	waits[GT_SERVE_CLIENTS] = (struct pollfd){.fd = server->fd, .events = POLLIN};
	ready = poll(waits, GT_SERVE_CLIENTS + 1, time_to_wait(server, wait_ms));
	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	for (size_t i = 0; i < GT_SERVE_CLIENTS; i++)
		serve_client(server, &server->clients[i], waits[i].revents);
	return waits[GT_SERVE_CLIENTS].revents ? accept_client(server) : 0;
}
