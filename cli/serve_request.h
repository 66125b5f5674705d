/* SPDX-License-Identifier: Apache-2.0
 *
 * What a request to the server of `gputrace open` gets. Any web page can send requests to
 * 127.0.0.1, also under a name of its own that resolves to it: only who knows the token under the
 * address that was printed gets the file. Pure functions.
 */
#ifndef GT_CLI_SERVE_REQUEST_H
#define GT_CLI_SERVE_REQUEST_H

/* What is asked for, or why it is refused. */
enum gt_serve_answer {
	GT_SERVE_FILE,
	GT_SERVE_HEAD,      /* the same without the file */
	GT_SERVE_PREFLIGHT, /* a browser asks whether the page may ask */
	GT_SERVE_BAD_HOST,
	GT_SERVE_BAD_ORIGIN,
	GT_SERVE_NOT_FOUND,
	GT_SERVE_BAD_METHOD,
};

/* What must be asked for. */
struct gt_serve_offer {
	const char *token, *name; /* the path is /token/name */
	const char *origin;
	int port;
};

/* Judges a request up to the blank line behind its headers, which ends the string. */
enum gt_serve_answer gt_serve_judge(const char *request, const struct gt_serve_offer *offer);

#endif
