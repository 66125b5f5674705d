/* SPDX-License-Identifier: Apache-2.0
 *
 * The file: consecutive packets, written in batches. Every prefix of it is a valid trace; a process
 * may die between any two bytes.
 */
#include "writers/perfetto/perfetto.h"

#include <errno.h>

int gt_perfetto_file_flush(struct gt_perfetto_file *file)
{
	struct gt_file *output = &file->output;
	struct gt_proto *batch = &file->batch;
	int error = output->error;

	if (error || !batch->length)
		return error;
	if (batch->failed)
		error = gt_file_stop(output, -ENOMEM);
	else
		error = gt_file_write(output, batch->data, batch->length, 0);
	if (error && gt_sink_can_patch(output->sink))
		gt_sink_truncate(output->sink, output->written.offset);
	gt_proto_cut(batch, 0);
	return error;
}

static int write_end(struct gt_perfetto *pf, const struct gt_ledger *session)
{
	struct gt_perfetto_file *file = &pf->file;
	struct gt_ledger ledger = gt_file_ledger(&file->output, session);

	gt_proto_cut(&file->batch, 0);
	gt_perfetto_put_end(pf, &ledger);
	if (file->batch.failed)
		return -ENOMEM;
	return gt_sink_write(file->output.sink, file->output.written.offset, file->batch.data,
			     file->batch.length);
}

int gt_perfetto_file_close(struct gt_perfetto *pf, struct gt_ledger *ledger)
{
	struct gt_file *output = &pf->file.output;
	int error;

	error = gt_perfetto_file_flush(&pf->file);
	if (pf->metadata.repaired.without_ledger)
		return error; /* the end is the ledger */
	error = write_end(pf, ledger);
	if (error && gt_file_drop_newest(output, error) == 0)
		error = write_end(pf, ledger);
	if (error && gt_sink_can_patch(output->sink))
		gt_sink_truncate(output->sink, output->written.offset);
	*ledger = gt_file_ledger(output, ledger);
	output->has_end = !error;
	return error;
}
