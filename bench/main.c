/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload as a program; under Python the shared object is loaded instead.
 */
int gt_bench_workload(int argc, char **argv);

int main(int argc, char **argv)
{
	return gt_bench_workload(argc, argv);
}
