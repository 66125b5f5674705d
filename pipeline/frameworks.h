/* SPDX-License-Identifier: Apache-2.0
 *
 * What became of --pytorch and --python-functions in this process. The Python code of share/python
 * says what it did; where it was never reached, the interpreter's own flags and the loaded objects
 * say why. Which MPI a rank has the loaded objects say, too.
 */
#ifndef GT_PIPELINE_FRAMEWORKS_H
#define GT_PIPELINE_FRAMEWORKS_H

struct gt_config;
struct gt_metadata;
struct gt_modules;

/* All is given. */
struct gt_frameworks {
	const struct gt_config *config;
	const struct gt_modules *modules;
	struct gt_metadata *metadata; /* where it is said */
};

/* Called by share/python/_gputrace: the option @option ("pytorch", "python-functions") is "on", or
 * "off: " and why. Copied, cut at 120 bytes; the first few words of a process count. Any thread. */
void gputrace_framework_state(const char *option, const char *state)
	__attribute__((visibility("default")));

/* Brings the metadata up to date. Drain thread. */
void gt_frameworks_notify(const struct gt_frameworks *frameworks);

#endif
