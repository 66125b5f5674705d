/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest HTTP server that ui.perfetto.dev can fetch one file from. Single-threaded.
 */
#ifndef GT_CLI_SERVE_H
#define GT_CLI_SERVE_H

#include <stdbool.h>
#include <stdio.h>

/* A server that listens. */
struct gt_server {
	int fd; /* listening on 127.0.0.1 */
	int port;
	const char *path;   /* the file */
	const char *name;   /* under which it is served: the last part of its path */
	const char *origin; /* the page that may read it */
	int patience_ms;    /* for a client that says or takes nothing */
};

/* Listens on 127.0.0.1:@port (0: any free one). Negative errno. */
int gt_server_open(struct gt_server *server, const char *path, const char *origin, int port);
void gt_server_close(struct gt_server *server);

/* The address of the page that opens the file, as a line. */
void gt_server_print(const struct gt_server *server, FILE *out);

/* Answers one connection, waiting for it @timeout_ms (-1: for ever). *ret_served: the whole file
 * was sent. -ETIMEDOUT, or another negative errno. */
int gt_server_answer(struct gt_server *server, int timeout_ms, bool *ret_served);

#endif
