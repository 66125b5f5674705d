/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the trace of this process goes: folder, file name, sink. Drain thread, once, but for the
 * folder: that is found when the session starts.
 */
#ifndef GT_PIPELINE_OUTPUT_OUTPUT_H
#define GT_PIPELINE_OUTPUT_OUTPUT_H

#include <stddef.h>

#include "core/budget.h"
#include "core/config.h"
#include "core/losses.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "pipeline/output/segments.h"
#include "writers/sink.h"
#include "writers/writer.h"

struct gt_spooling;

/* The file that was closed last. */
struct gt_output_end {
	char path[1024]; /* empty: there was none */
	uint64_t lost;   /* events that should be in it */
	int error;       /* why: a negative errno; 0: not the file's fault */
};

/* The file that is written, and those before it. Given: the first five; the rest is zero at first,
 * and again when it is closed. */
struct gt_output {
	const struct gt_config *config;
	const struct gt_budget *budget; /* NULL: no memory limit */
	struct gt_metadata *metadata;
	struct gt_ledger *ledger;           /* what the session has counted so far */
	const struct gt_spooling *spooling; /* learns which files are closed */
	char folder[1024];   /* absolute, unless the working folder of the start had no name */
	char fallback[1024]; /* $TMPDIR likewise; empty: not set */
	char home[1024];     /* the folder that has the file of the first window; empty: none yet */
	int folder_error;    /* negative errno: its name cannot be made */
	struct gt_writer *writer;
	struct gt_sink *sink;
	bool failed;               /* tried, could not: events are counted as lost */
	struct gt_losses lost;     /* events while there is no file; the file takes them over */
	struct gt_losses earlier;  /* of the file's losses, what it has taken over so */
	uint32_t metadata_written; /* generation of the metadata that the writer has */
	struct gt_writer_options options;
	struct gt_segments segments;
	uint32_t dump;      /* number of the dump that is written; 0: none */
	uint64_t dump_time; /* trace ns */
	struct gt_output_end ended;
	const struct gt_string *kernel; /* the last one that was looked at: is it of NCCL? */
	int refused;        /* why the last window had no file in its folder; 0: it had one */
	uint32_t unwritten; /* windows in a row that had none at all */
};

/* Finds the folder that the trace goes into, if it can be written, before the program changes its
 * environment or its working folder. Session start. */
void gt_output_find(struct gt_output *output);

/* The files of later windows go into @folder, an absolute path; NULL: where they went. Drain
 * thread, while there is no file. */
void gt_output_move(struct gt_output *output, const char *folder);

/* Makes folder and file and opens the writer. A negative errno, said once on stderr: the program
 * runs on, nothing is written. */
int gt_output_open(struct gt_output *output);

/* There is a file, and it can be written to. */
static inline bool gt_output_is_open(const struct gt_output *output)
{
	return output->writer && !output->failed;
}

/* The name of the file that is being written, for the drain thread to tell and for any thread to
 * read: the sink itself may be freed meanwhile. Empty: there is none. */
void gt_output_set_name(const char *path);
const char *gt_output_name(void);

/* Whether it is, or the last one was, a pipe or a device, of which nothing can be repaired. */
void gt_output_set_stream(bool is_stream);
bool gt_output_is_stream(void);

/* Room for two paths and a reason. */
#define GT_OUTPUT_WHERE_BYTES 2200u

/* The same for the user: also why it is not in the folder that was asked for. Drain thread. */
void gt_output_where(const struct gt_output *output, char *ret_text, size_t size);

/* Why there is no file, in words. */
void gt_output_refusal(const struct gt_output *output, char *ret_text, size_t size);

/* Folder and name without an end of a file that belongs to the process, while no trace is open.
 * False: no trace can be written, or none is wanted (--format=null). Buffers of @size. */
bool gt_output_beside(const struct gt_output *output, char *ret_folder, char *ret_name,
		      size_t size);

/* The file that is written; NULL: there is none. */
struct gt_file *gt_output_file(const struct gt_output *output);

/* What is lost so far: that is in no ledger before the end. */
const struct gt_losses *gt_output_lost(const struct gt_output *output);

/* What of it a command must know: " without N events (disk full)", or nothing. Returns @error. */
int gt_output_lack(uint64_t lost, int error, char *ret_text, size_t size);

/* An event for the writer, which counts what it cannot write; before it, metadata that has changed.
 * Only while it is open, as _flush. */
void gt_output_event(struct gt_output *output, const struct gt_event *event);

/* As the writer's flush. */
void gt_output_flush(struct gt_output *output, uint64_t settled);

/* A window ends behind a flush of everything, and another one may follow: closes writer and sink.
 * @ledger: of the session so far. @in_flight: launches in it that nobody waits for any more. */
void gt_output_end_window(struct gt_output *output, struct gt_ledger *ledger, uint64_t in_flight);

/* The same of a dump: recording goes on, and what is not in this file is for the next one to tell.
 * False: there is no file, or it could not be closed, and the next dump has to have what is in it.
 */
bool gt_output_end_dump(struct gt_output *output, struct gt_ledger *ledger);

/* Closes writer and sink, behind a flush of everything; the ledger receives what the writer
 * counted. A negative errno, said on stderr: the file has no end, or there was no room for one. */
int gt_output_close(struct gt_output *output);

#endif
