/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest HTTP server that ui.perfetto.dev can fetch one file from: several clients at once,
 * each for a limited time. Single-threaded.
 */
#ifndef GT_CLI_SERVE_H
#define GT_CLI_SERVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define GT_SERVE_CLIENTS 16   /* at once */
#define GT_SERVE_REQUEST 8192 /* bytes of a request, with its end */
#define GT_SERVE_TOKEN   33   /* 128 bits in hexadecimal digits, with their end */

/* A connection that was accepted. */
struct gt_serve_client {
	int fd;             /* -1: none */
	int file;           /* what is sent once the head is gone; -1: nothing */
	int64_t started_ms; /* on the monotonic clock */
	int64_t moved_ms;   /* bytes went into or out of the socket */
	off_t left;         /* bytes of the file to send */
	size_t used;        /* bytes of the request, then of the answer's head, in text */
	size_t sent;        /* of the head */
	bool answering;     /* the request is complete */
	char text[GT_SERVE_REQUEST];
};

/* A server that listens. */
struct gt_server {
	int fd; /* listening on 127.0.0.1 */
	int port;
	const char *path;           /* the file */
	const char *name;           /* under which it is served: the last part of its path */
	const char *origin;         /* the page that may read it */
	char token[GT_SERVE_TOKEN]; /* the folder in the address: nobody guesses it */
	int patience_ms;            /* for a request, and for a client that takes nothing */
	int rate;                   /* bytes per second that a client takes at least */
	unsigned int served;        /* times that the whole file was sent */
	int64_t asked_ms; /* the file was asked for, or a part of it taken; at first: now */
	struct gt_serve_client clients[GT_SERVE_CLIENTS];
};

/* Listens on 127.0.0.1:@port (0: any free one). @path and @origin are kept. Negative errno. */
int gt_server_open(struct gt_server *server, const char *path, const char *origin, int port);

/* Also closes the connections. */
void gt_server_close(struct gt_server *server);

/* The address of the page that opens the file, as a line. */
void gt_server_print(const struct gt_server *server, FILE *out);

/* Waits until a client moves, at most @wait_ms (-1: for ever), and serves all that can go on.
 * Clients whose time is up are disconnected. Negative errno: the server cannot go on. */
int gt_server_turn(struct gt_server *server, int wait_ms);

/* Is the file being sent to somebody? */
bool gt_server_is_sending(const struct gt_server *server);

/* Milliseconds since somebody asked for the file or took a part of it. */
int64_t gt_server_idle_ms(const struct gt_server *server);

#endif
