/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a row's change more than noise? Compared are means over units, or over runs where a side has
 * several. Two tests, both of the logarithm of the ratio of means (delta method):
 *
 * - as it stands: Welch's t (Welch 1947, Satterthwaite 1946);
 * - against the other rows: noise that all rows of a unit share (a clock) is divided out first, the
 *   middle half of the rows tells it; what is left of a row is compared with a variance that is
 *   moderated by that of the other rows (Smyth 2004, "Linear models and empirical Bayes methods for
 *   assessing differential expression in microarray experiments"). It is used where ten rows or
 *   more have a value in each unit, and only while all rows together did not change.
 *
 * Units that depend on their neighbours count for less (variance times (1 + r) / (1 - r), r their
 * correlation: Bayley and Hammersley 1946). The probabilities of all rows of all tables are
 * corrected together (Holm 1979): a gate gives one answer, and false alarms are counted by answer,
 * not by row, which is why the false discovery rate of Benjamini and Hochberg is not used.
 */
#ifndef GT_ANALYSIS_DIFF_JUDGE_H
#define GT_ANALYSIS_DIFF_JUDGE_H

#include "analysis/diff/collect.h"
#include "analysis/diff/settle.h"

#define GT_DIFF_ALPHA    0.004 /* of all rows together, for both directions */
#define GT_DIFF_ROW      1e-4  /* of one row at most, however few there are: noise has tails */
#define GT_DIFF_SMALLEST 0.5   /* %: a change below is "same" however small the noise */
#define GT_DIFF_LENGTHS  0.02  /* recordings that differ by less, as a part, are as long */

/* A difference of two logarithms of means. */
struct gt_test {
	bool is_known;
	double change, error, freedom; /* its estimate, standard error, degrees of freedom */
};

/* A row that is compared. */
struct gt_diff_row {
	uint32_t row; /* in its table */
	struct gt_series side[2];
	double mean[2];    /* ns, as shown */
	double scatter[2]; /* standard deviation of one unit, a part of the mean; < 0: not known */
	struct gt_test whole, apart; /* as it stands; against the others */
	double more_ops;             /* logarithm; of whole traces that have more or fewer */
	double longer;               /* logarithm: its change is that much more if B's recording
				      * is no longer than A's; 0: its count says that it is */
	struct gt_test trend[2];     /* inside of the runs of a side (trend.h) */
	double p;                    /* of both directions, not corrected; > 1: no test */
	bool is_sure;                /* after the correction */
	double could;                /* the change that would have been found, a part; INFINITY */
	enum gt_verdict verdict;
};

/* The rows of one table. */
struct gt_judged {
	GT_VEC(struct gt_diff_row) rows;
	double between_units, between_runs; /* usual noise, a part; 0: not known */
};

/* Estimates and tests of each row that has values, without the correction. -ENOMEM; free with
 * gt_judged_fini in any case. */
int gt_judge_table(struct gt_judged *ret_judged, const struct gt_diff_sides *sides,
		   const struct gt_diff_rows *rows);
void gt_judged_fini(struct gt_judged *judged);

/* Corrects the probabilities of all rows of @count tables, finds what each could have shown, and
 * gives the verdicts. @enough: a row that could not have shown a change of so much (a part), and in
 * which none was found, is "cannot tell". -ENOMEM. */
int gt_judge_all(struct gt_judged *tables, const struct gt_diff_rows *rows, size_t count,
		 double enough);

/* The probability that a test of one of @rows rows may have by chance, for both directions. */
double gt_judge_limit(size_t rows);

/* Whether a row that has not become more often with the recording has changed the same way, longer
 * recording or not: else it cannot be told. True of all other rows. */
bool gt_judge_is_plain(const struct gt_diff_row *row);

/* The interval that holds the row's change with 95 %, as parts. False: it is not known. */
bool gt_judge_interval(const struct gt_diff_row *row, double *ret_low, double *ret_high);

/* Whether such an interval says anything: it is less than ten times as wide on each side. */
bool gt_judge_is_bounded(double low, double high);

/* The same of the change that could have been shown. */
bool gt_judge_could_show(double could);

#endif
