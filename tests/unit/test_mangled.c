/* SPDX-License-Identifier: Apache-2.0
 *
 * Computed sizes of demangled names, compared with the demangler.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/symbols/demangle.h"
#include "collectors/symbols/mangled.h"

static struct gt_intern *pool;
static struct gt_demangle *demangle;

static void start(void)
{
	pool = gt_intern_new(16 << 20);
	demangle = pool ? gt_demangle_new(pool) : NULL;
	cr_assert_not_null(demangle);
}

static void stop(void)
{
	gt_demangle_free(demangle);
	gt_intern_free(pool);
}

TestSuite(mangled, .init = start, .fini = stop);

/* From libraries that people use: templates, lambdas, packs, expressions, constructors,
 * operators. */
static const char *const names[] = {
	"_Z3addii",
	"_ZN2at6native31two_four_sgemm_dispatch_layoutsIN7cutlass10bfloat16_tES3_S3_fNS2_"
	"4gemm9GemmShapeILi128ELi128ELi64EEENS5_ILi64ELi64ELi64EEENS5_ILi16ELi8ELi32EEENS2_"
	"4arch13OpMultiplyAddELb1ELb1ELb1ELb1ELb1ELN62_GLOBAL__N__6c9dab5b_29_"
	"SparseSemiStructuredLinear_cu_e967498210ActivationE0EEENS_6TensorERKSD_SF_SF_SF_",
	"_ZSt14__copy_move_a1ILb0EPN2at6TensorES1_EN9__gnu_cxx11__enable_ifIXsrSt23__is_random_"
	"access_iterIT0_NSt15iterator_traitsIS6_E17iterator_categoryEE7__valueESt15_Deque_"
	"iteratorIT1_RSC_PSC_EE6__typeES6_S6_SF_",
	"_ZN5torch15PythonArgParserC2ERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_"
	"traitsIcESaIcEEESaIS7_EEb",
	"_ZZN4c10d12ProcessGroup4sendERSt6vectorIN2at6TensorESaIS3_EEiiE2op",
	"_ZTH15ncclDebugNoWarn",
	"_ZTSSt23_Sp_counted_ptr_inplaceISt5mutexSaIS0_ELN9__gnu_cxx12_Lock_policyE2EE",
	"_ZN4llvm18checkedAddUnsignedImEENSt9enable_ifIXsr3std11is_unsignedIT_EE5valueENS_"
	"8OptionalIS2_EEE4typeES2_S2_",
	"_ZSt11make_uniqueIN4llvm5dwarf3CIEEJRbRmiiNS0_11SmallStringILj8EEEiiiiiS6_iiRKNS0_"
	"8NoneTypeES9_RKNS0_6Triple8ArchTypeEEENSt8__detail9_MakeUniqIT_E15__single_objectEDpOT0_",
	"_ZNK3c108optionalINS_6DeviceEEcvbEv",
	"_ZN1f1gIJidfEEEvDpRKSt5tupleIJT_S2_EE",
	"_ZN3foo4callIDnEEDTcl7forwardIT_Efp_EEOS1_",
	"_ZN5boost3bazILi3EEEvRAT__KcPFivEM1AFvvE",
};

Test(mangled, a_readable_name_is_not_longer_than_estimated)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct gt_string *readable =
			gt_demangle_get(demangle, names[i], strlen(names[i]));
		uint64_t size = gt_mangled_expansion(names[i], strlen(names[i]));

		cr_assert_str_neq(readable->text, names[i]);
		cr_assert_geq(size, readable->length, "%s", names[i]);
		cr_assert_leq(size, 50 * readable->length, "%s: %lu", names[i],
			      (unsigned long)size);
	}
}

/* Each argument is the one before, twice. */
static size_t doubling(char *out, size_t size, unsigned int times)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = (size_t)snprintf(out, size, "_Z1f1AIiiE");

	for (unsigned int i = 0; i < times; i++)
		n += (size_t)snprintf(out + n, size - n, "S_IS%c_S%c_E", digits[i], digits[i]);
	return n;
}

Test(mangled, a_name_that_doubles_itself_stays_as_it_is)
{
	char name[512];
	size_t length = doubling(name, sizeof(name), 10);

	cr_assert_neq(gt_demangle_get(demangle, name, length)->text[0], '_');
	length = doubling(name, sizeof(name), 36); /* 300 bytes for a terabyte */
	cr_assert_str_eq(gt_demangle_get(demangle, name, length)->text, name);
}

/* The pattern of an empty pack prints nothing, but the demangler searches all of it for the pack,
 * through every reference: 2^30 steps for the ten bytes "void f<>()". */
Test(mangled, a_name_that_takes_ages_and_prints_nothing_stays_as_it_is, .timeout = 60)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512];
	size_t n = (size_t)snprintf(name, sizeof(name), "_Z1fIJEEvDp1bI1aIiiE");

	for (int i = 2; i < 32; i++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, "S1_IS%c_S%c_E", digits[i],
				      digits[i]);
	snprintf(name + n, sizeof(name) - n, "T_E");
	cr_assert_str_eq(gt_demangle_get(demangle, name, strlen(name))->text, name);
}

/* libstdc++ 12 never returns from the first one. */
Test(mangled, a_name_that_cannot_be_parsed_stays_as_it_is, .timeout = 60)
{
	static const char *const broken[] = {"_Z1fIXsrdfDp", "_ZN1f1gIJidEXsrdfDpR", "_Z1fS?_"};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		size_t length = strlen(broken[i]);

		cr_assert_eq(gt_mangled_expansion(broken[i], length), UINT64_MAX);
		cr_assert_str_eq(gt_demangle_get(demangle, broken[i], length)->text, broken[i]);
	}
	cr_assert_lt(gt_mangled_expansion("_Zx", 3), 100);
	cr_assert_lt(gt_mangled_expansion("main", 4), 100);
}

/* Cut anywhere, and as deep as they can be. */
Test(mangled, broken_names_end)
{
	static char deep[4000];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t n = 0; n < strlen(names[i]); n++) {
			char *cut = malloc(n + 1); /* of its own, so that a read past it is seen */

			memcpy(cut, names[i], n);
			cut = realloc(cut, n ? n : 1);
			gt_mangled_expansion(cut, n);
			free(cut);
		}
	memcpy(deep, "_Z1f", 4);
	memset(deep + 4, 'P', sizeof(deep) - 4);
	gt_mangled_expansion(deep, sizeof(deep));
	memset(deep + 4, 'N', sizeof(deep) - 4);
	gt_mangled_expansion(deep, sizeof(deep));
}
