/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a report of gputrace hang that is requested with "summary", for the command that
 * compares the processes: a line with this byte, then a line for each communicator of NCCL
 *
 *   ID MEMBERS MEMBER LAST CALL MS WAITS CALL MS IDLE
 *
 * its id as hexadecimal number; how many members it has and which of them this is, from 1, 0: not
 * known; number, function and age of the newest collective that was called, and of the oldest that
 * is in flight, "0 - 0": none is, "0 ? 0": it is not known; ms without progress.
 */
#ifndef GT_CORE_CONTROL_HANG_SUMMARY_H
#define GT_CORE_CONTROL_HANG_SUMMARY_H

#define GT_HANG_SUMMARY "\f\n"

#endif
