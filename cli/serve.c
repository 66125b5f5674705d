/* SPDX-License-Identifier: Apache-2.0
 *
 * See serve.h. Only GET, HEAD and OPTIONS of the one name; everything else is 404. Single-threaded.
 */
#include "cli/serve.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST_MAX 8192
#define PIECE       65536
#define PATIENCE_MS 10000

int gt_server_open(struct gt_server *server, const char *path, const char *origin, int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t size = sizeof(address);
	const char *slash = strrchr(path, '/');
	int on = 1, rc;

	*server = (struct gt_server){.path = path,
				     .name = slash ? slash + 1 : path,
				     .origin = origin,
				     .patience_ms = PATIENCE_MS};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server->fd < 0)
		return -errno;
	setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(server->fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(server->fd, 8) || getsockname(server->fd, (struct sockaddr *)&address, &size)) {
		rc = -errno;
		close(server->fd);
		return rc;
	}
	server->port = ntohs(address.sin_port);
	return 0;
}

void gt_server_close(struct gt_server *server)
{
	close(server->fd);
}

/* Bytes that a URL has as they are, wherever they stand. */
static bool is_plain(unsigned char c)
{
	return isalnum(c) || strchr("-._~", c);
}

/* The name is escaped in the file's URL, which is escaped once more as it is a value in the
 * page's. */
void gt_server_print(const struct gt_server *server, FILE *out)
{
	fprintf(out, "%s/#!/?url=http://127.0.0.1:%d/", server->origin, server->port);
	for (const char *c = server->name; *c; c++)
		fprintf(out, is_plain((unsigned char)*c) ? "%c" : "%%25%02X", (unsigned char)*c);
	fputc('\n', out);
}

/* Reads up to the blank line behind the headers. */
static int read_request(int fd, char *request)
{
	size_t n = 0;
	ssize_t got;

	while (n < REQUEST_MAX - 1) {
		got = recv(fd, request + n, REQUEST_MAX - 1 - n, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ECONNRESET;
		n += (size_t)got;
		request[n] = 0;
		if (strstr(request, "\r\n\r\n"))
			return 0;
	}
	return -EMSGSIZE;
}

static int send_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static int send_head(const struct gt_server *server, int fd, const char *status, long long length)
{
	char head[1024];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 %s\r\nAccess-Control-Allow-Origin: %s\r\n"
			 "Access-Control-Allow-Private-Network: true\r\nCache-Control: no-cache\r\n"
			 "Content-Type: application/octet-stream\r\nContent-Length: %lld\r\n"
			 "Connection: close\r\n\r\n",
			 status, server->origin, length);

	return send_all(fd, head, (size_t)n);
}

/* Not sendfile(): to a client that is gone it would end us, it knows no MSG_NOSIGNAL. */
static int send_bytes(int fd, int file, off_t left)
{
	char piece[PIECE];

	while (left) {
		ssize_t n = read(file, piece, left < PIECE ? (size_t)left : PIECE);
		int rc = n > 0 ? send_all(fd, piece, (size_t)n) : n ? -errno : -EIO;

		if (rc && rc != -EINTR)
			return rc;
		left -= n > 0 ? n : 0;
	}
	return 0;
}

static int send_file(const struct gt_server *server, int fd, bool with_body)
{
	int file = open(server->path, O_RDONLY | O_CLOEXEC), rc;
	struct stat st;

	if (file < 0 || fstat(file, &st)) {
		rc = -errno;
		if (file >= 0)
			close(file);
		send_head(server, fd, "404 Not Found", 0);
		return rc;
	}
	rc = send_head(server, fd, "200 OK", (long long)st.st_size);
	if (!rc && with_body)
		rc = send_bytes(fd, file, st.st_size);
	close(file);
	return rc;
}

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

/* Is the request for our file? */
static bool asks_for(const char *request, const char *name)
{
	const char *path = strchr(request, ' ');

	if (!path || path[1] != '/')
		return false;
	for (path += 2; *name; name++)
		if (next_byte(&path) != *name)
			return false;
	return *path == ' ' || *path == '?';
}

static int answer(struct gt_server *server, int fd, bool *ret_served)
{
	char request[REQUEST_MAX];
	int rc = read_request(fd, request);

	if (rc)
		return rc;
	if (!strncmp(request, "OPTIONS ", 8))
		return send_head(server, fd, "204 No Content", 0);
	if (!asks_for(request, server->name))
		return send_head(server, fd, "404 Not Found", 0);
	if (!strncmp(request, "HEAD ", 5))
		return send_file(server, fd, false);
	if (strncmp(request, "GET ", 4))
		return send_head(server, fd, "405 Method Not Allowed", 0);
	rc = send_file(server, fd, true);
	*ret_served = !rc;
	return rc;
}

int gt_server_answer(struct gt_server *server, int timeout_ms, bool *ret_served)
{
	struct pollfd wait = {.fd = server->fd, .events = POLLIN};
	struct timeval patience = {.tv_sec = server->patience_ms / 1000,
				   .tv_usec = server->patience_ms % 1000 * 1000};
	int fd, ready;

	*ret_served = false;
	ready = poll(&wait, 1, timeout_ms);
	if (ready <= 0)
		return ready ? -errno : -ETIMEDOUT;
	fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	/* what goes wrong with one client is no reason to stop */
	answer(server, fd, ret_served);
	shutdown(fd, SHUT_WR);
	close(fd);
	return 0;
}
