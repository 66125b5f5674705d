/* SPDX-License-Identifier: Apache-2.0
 *
 * See serve.h. Only GET, HEAD and OPTIONS of the one name; everything else is 404. Single-threaded.
 */
#include "cli/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST_MAX 8192
#define PATIENCE_S  10 /* for a client that says nothing */

int gt_server_open(struct gt_server *server, const char *path, const char *origin, int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t size = sizeof(address);
	const char *slash = strrchr(path, '/');
	int on = 1, rc;

	*server = (struct gt_server){
		.path = path, .name = slash ? slash + 1 : path, .origin = origin};
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

static int send_file(const struct gt_server *server, int fd, bool with_body)
{
	int file = open(server->path, O_RDONLY | O_CLOEXEC), rc;
	off_t offset = 0;
	struct stat st;

	if (file < 0 || fstat(file, &st)) {
		rc = -errno;
		if (file >= 0)
			close(file);
		send_head(server, fd, "404 Not Found", 0);
		return rc;
	}
	rc = send_head(server, fd, "200 OK", (long long)st.st_size);
	while (!rc && with_body && offset < st.st_size) {
		ssize_t n = sendfile(fd, file, &offset, (size_t)(st.st_size - offset));

		if (n < 0 && errno != EINTR)
			rc = -errno;
		else if (n == 0)
			rc = -EIO;
	}
	close(file);
	return rc;
}

/* Is the request for our file? Percent-escapes of the name are not needed: it is compared as printed. */
static bool asks_for(const char *request, const char *name)
{
	const char *path = strchr(request, ' ');
	size_t n = strlen(name);

	return path && path[1] == '/' && !strncmp(path + 2, name, n) &&
	       (path[2 + n] == ' ' || path[2 + n] == '?');
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
	struct timeval patience = {.tv_sec = PATIENCE_S};
	int fd, ready;

	*ret_served = false;
	ready = poll(&wait, 1, timeout_ms);
	if (ready <= 0)
		return ready ? -errno : -ETIMEDOUT;
	fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	/* what goes wrong with one client is no reason to stop */
	answer(server, fd, ret_served);
	shutdown(fd, SHUT_WR);
	close(fd);
	return 0;
}
