/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated libcusparse.so.12, with the prototypes of the toolkit's header: descriptors, which
 * answer, and kernels that compute nothing. A descriptor that was destroyed is refused, as its
 * memory is kept. SIM_CUSPARSE_MAJOR: the version that it says it is.
 */
#include <cusparse.h>
#include <stdlib.h>

#include "libraries/launch.h"

struct cusparseContext {
	cudaStream_t stream;
};

/* Of all kinds. */
struct descriptor {
	int kind; /* 0: destroyed */
	cusparseFormat_t format;
	int64_t rows, cols, nnz, leading, stride;
	void *first, *second, *values;
	cusparseIndexType_t offsets, indices;
	cusparseIndexBase_t base;
	cudaDataType type;
	cusparseOrder_t order;
	int batch;
};

enum { GONE, SPARSE_MATRIX, SPARSE_VECTOR, DENSE_MATRIX, DENSE_VECTOR };

#define OF(pointer) ((struct descriptor *)(uintptr_t)(pointer))
#define CHECK(pointer, wanted)                                                                     \
	do {                                                                                       \
		if (!(pointer) || OF(pointer)->kind != (wanted))                                   \
			return CUSPARSE_STATUS_INVALID_VALUE;                                      \
	} while (0)

static cusparseStatus_t make(void *made, struct descriptor of)
{
	struct descriptor *descriptor = made ? calloc(1, sizeof(*descriptor)) : NULL;

	if (!descriptor || of.rows < 0 || of.cols < 0 || of.nnz < 0) {
		free(descriptor);
		return CUSPARSE_STATUS_INVALID_VALUE;
	}
	of.batch = 1;
	*descriptor = of;
	*(struct descriptor **)made = descriptor;
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t destroy(const void *descriptor, int kind)
{
	CHECK(descriptor, kind);
	OF(descriptor)->kind = GONE;
	return CUSPARSE_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
	if (!handle)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (!sim_library_start())
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	return *handle ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream)
{
	handle->stream = stream;
	return CUSPARSE_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value)
{
	const char *major = getenv("SIM_CUSPARSE_MAJOR");

	*value = type != MAJOR_VERSION ? 0 : major ? atoi(major) : CUSPARSE_VER_MAJOR;
	return CUSPARSE_STATUS_SUCCESS;
}

#define MATRIX(of)                                                                                 \
	((struct descriptor){.kind = SPARSE_MATRIX,                                                \
			     .format = (of),                                                       \
			     .rows = rows,                                                         \
			     .cols = cols,                                                         \
			     .nnz = nnz,                                                           \
			     .first = first,                                                       \
			     .second = second,                                                     \
			     .values = values,                                                     \
			     .base = base,                                                         \
			     .type = type})

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *made, int64_t rows,
						      int64_t cols, int64_t nnz, void *first,
						      void *second, void *values,
						      cusparseIndexType_t offsets,
						      cusparseIndexType_t indices,
						      cusparseIndexBase_t base, cudaDataType type)
{
	struct descriptor of = MATRIX(CUSPARSE_FORMAT_CSR);

	of.offsets = offsets;
	of.indices = indices;
	return make(made, of);
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t *made, int64_t rows,
						      int64_t cols, int64_t nnz, void *first,
						      void *second, void *values,
						      cusparseIndexType_t offsets,
						      cusparseIndexType_t indices,
						      cusparseIndexBase_t base, cudaDataType type)
{
	struct descriptor of = MATRIX(CUSPARSE_FORMAT_CSC);

	of.offsets = offsets;
	of.indices = indices;
	return make(made, of);
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t *made, int64_t rows,
						      int64_t cols, int64_t nnz, void *first,
						      void *second, void *values,
						      cusparseIndexType_t indices,
						      cusparseIndexBase_t base, cudaDataType type)
{
	struct descriptor of = MATRIX(CUSPARSE_FORMAT_COO);

	of.indices = indices;
	return make(made, of);
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseCreateBsr(cusparseSpMatDescr_t *made, int64_t rows,
						      int64_t cols, int64_t nnz, int64_t high,
						      int64_t wide, void *first, void *second,
						      void *values, cusparseIndexType_t offsets,
						      cusparseIndexType_t indices,
						      cusparseIndexBase_t base, cudaDataType type,
						      cusparseOrder_t order)
{
	struct descriptor of = MATRIX(CUSPARSE_FORMAT_BSR);

	of.rows *= high;
	of.cols *= wide;
	of.order = order;
	return make(made, of);
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t descriptor)
{
	return destroy(descriptor, SPARSE_MATRIX);
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t *made, int64_t size,
							int64_t nnz, void *first, void *values,
							cusparseIndexType_t indices,
							cusparseIndexBase_t base, cudaDataType type)
{
	return make(made, (struct descriptor){.kind = SPARSE_VECTOR,
					      .rows = size,
					      .nnz = nnz,
					      .first = first,
					      .values = values,
					      .indices = indices,
					      .base = base,
					      .type = type});
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t descriptor)
{
	return destroy(descriptor, SPARSE_VECTOR);
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *made, int64_t size,
							void *values, cudaDataType type)
{
	return make(made,
		    (struct descriptor){
			    .kind = DENSE_VECTOR, .rows = size, .values = values, .type = type});
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t descriptor)
{
	return destroy(descriptor, DENSE_VECTOR);
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *made, int64_t rows,
							int64_t cols, int64_t leading, void *values,
							cudaDataType type, cusparseOrder_t order)
{
	return make(made, (struct descriptor){.kind = DENSE_MATRIX,
					      .rows = rows,
					      .cols = cols,
					      .leading = leading,
					      .values = values,
					      .type = type,
					      .order = order});
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t descriptor)
{
	return destroy(descriptor, DENSE_MATRIX);
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t descriptor,
								 int batch, int64_t stride)
{
	CHECK(descriptor, DENSE_MATRIX);
	OF(descriptor)->batch = batch;
	OF(descriptor)->stride = stride;
	return CUSPARSE_STATUS_SUCCESS;
}

/* ---- getters ---- */

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t descriptor,
							   cusparseFormat_t *format)
{
	CHECK(descriptor, SPARSE_MATRIX);
	*format = OF(descriptor)->format;
	return CUSPARSE_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t descriptor,
							 int64_t *rows, int64_t *cols, int64_t *nnz)
{
	CHECK(descriptor, SPARSE_MATRIX);
	*rows = OF(descriptor)->rows;
	*cols = OF(descriptor)->cols;
	*nnz = OF(descriptor)->nnz;
	return CUSPARSE_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cusparseStatus_t
cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t descriptor, int *batch)
{
	CHECK(descriptor, SPARSE_MATRIX);
	*batch = OF(descriptor)->batch;
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t get(const struct descriptor *of, cusparseFormat_t format, int64_t *rows,
			    int64_t *cols, int64_t *nnz, const void **first, const void **second,
			    const void **values)
{
	CHECK(of, SPARSE_MATRIX);
	if (of->format != format)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*rows = of->rows;
	*cols = of->cols;
	*nnz = of->nnz;
	*first = of->first;
	*second = of->second;
	*values = of->values;
	return CUSPARSE_STATUS_SUCCESS;
}

#define GET_COMPRESSED(symbol, which)                                                              \
	SIM_LIBRARY_EXPORT cusparseStatus_t symbol(                                                \
		cusparseConstSpMatDescr_t descriptor, int64_t *rows, int64_t *cols, int64_t *nnz,  \
		const void **first, const void **second, const void **values,                      \
		cusparseIndexType_t *offsets, cusparseIndexType_t *indices,                        \
		cusparseIndexBase_t *base, cudaDataType *type)                                     \
	{                                                                                          \
		const struct descriptor *of = OF(descriptor);                                      \
		cusparseStatus_t result = get(of, which, rows, cols, nnz, first, second, values);  \
                                                                                                   \
		if (result)                                                                        \
			return result;                                                             \
		*offsets = of->offsets;                                                            \
		*indices = of->indices;                                                            \
		*base = of->base;                                                                  \
		*type = of->type;                                                                  \
		return result;                                                                     \
	}

GET_COMPRESSED(cusparseConstCsrGet, CUSPARSE_FORMAT_CSR)
GET_COMPRESSED(cusparseConstCscGet, CUSPARSE_FORMAT_CSC)

SIM_LIBRARY_EXPORT cusparseStatus_t
cusparseConstCooGet(cusparseConstSpMatDescr_t descriptor, int64_t *rows, int64_t *cols,
		    int64_t *nnz, const void **first, const void **second, const void **values,
		    cusparseIndexType_t *indices, cusparseIndexBase_t *base, cudaDataType *type)
{
	const struct descriptor *of = OF(descriptor);
	cusparseStatus_t result =
		get(of, CUSPARSE_FORMAT_COO, rows, cols, nnz, first, second, values);

	if (result)
		return result;
	*indices = of->indices;
	*base = of->base;
	*type = of->type;
	return result;
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseConstSpVecGet(cusparseConstSpVecDescr_t descriptor,
							  int64_t *size, int64_t *nnz,
							  const void **first, const void **values,
							  cusparseIndexType_t *indices,
							  cusparseIndexBase_t *base,
							  cudaDataType *type)
{
	const struct descriptor *of = OF(descriptor);

	CHECK(of, SPARSE_VECTOR);
	*size = of->rows;
	*nnz = of->nnz;
	*first = of->first;
	*values = of->values;
	*indices = of->indices;
	*base = of->base;
	*type = of->type;
	return CUSPARSE_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseConstDnVecGet(cusparseConstDnVecDescr_t descriptor,
							  int64_t *size, const void **values,
							  cudaDataType *type)
{
	CHECK(descriptor, DENSE_VECTOR);
	*size = OF(descriptor)->rows;
	*values = OF(descriptor)->values;
	*type = OF(descriptor)->type;
	return CUSPARSE_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseConstDnMatGet(cusparseConstDnMatDescr_t descriptor,
							  int64_t *rows, int64_t *cols,
							  int64_t *leading, const void **values,
							  cudaDataType *type,
							  cusparseOrder_t *order)
{
	const struct descriptor *of = OF(descriptor);

	CHECK(of, DENSE_MATRIX);
	*rows = of->rows;
	*cols = of->cols;
	*leading = of->leading;
	*values = of->values;
	*type = of->type;
	*order = of->order;
	return CUSPARSE_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cusparseStatus_t
cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t descriptor, int *batch, int64_t *stride)
{
	CHECK(descriptor, DENSE_MATRIX);
	*batch = OF(descriptor)->batch;
	*stride = OF(descriptor)->stride;
	return CUSPARSE_STATUS_SUCCESS;
}

/* ---- what computes ---- */

static cusparseStatus_t launch(cusparseHandle_t handle, const char *name)
{
	if (!handle)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	return sim_library_launch(handle->stream, name) ? CUSPARSE_STATUS_SUCCESS
							: CUSPARSE_STATUS_EXECUTION_FAILED;
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op,
						 const void *alpha, cusparseConstSpMatDescr_t a,
						 cusparseConstDnVecDescr_t x, const void *beta,
						 cusparseDnVecDescr_t y, cudaDataType type,
						 cusparseSpMVAlg_t algorithm, void *buffer)
{
	CHECK(a, SPARSE_MATRIX);
	CHECK(x, DENSE_VECTOR);
	CHECK(y, DENSE_VECTOR);
	return launch(handle, "sim_spmv");
}

SIM_LIBRARY_EXPORT cusparseStatus_t
cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
		   cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
		   cudaDataType type, cusparseSpSVAlg_t algorithm, cusparseSpSVDescr_t descriptor)
{
	CHECK(a, SPARSE_MATRIX);
	return launch(handle, "sim_spsv");
}

/* Two kernels, as of some algorithms. */
SIM_LIBRARY_EXPORT cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a,
						 cusparseOperation_t op_b, const void *alpha,
						 cusparseConstSpMatDescr_t a,
						 cusparseConstDnMatDescr_t b, const void *beta,
						 cusparseDnMatDescr_t c, cudaDataType type,
						 cusparseSpMMAlg_t algorithm, void *buffer)
{
	cusparseStatus_t result;

	CHECK(a, SPARSE_MATRIX);
	CHECK(b, DENSE_MATRIX);
	CHECK(c, DENSE_MATRIX);
	result = launch(handle, "sim_spmm_partition");
	return result ? result : launch(handle, "sim_spmm");
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t op_a,
						  cusparseOperation_t op_b, const void *alpha,
						  cusparseConstDnMatDescr_t a,
						  cusparseConstDnMatDescr_t b, const void *beta,
						  cusparseSpMatDescr_t c, cudaDataType type,
						  cusparseSDDMMAlg_t algorithm, void *buffer)
{
	CHECK(a, DENSE_MATRIX);
	CHECK(b, DENSE_MATRIX);
	CHECK(c, SPARSE_MATRIX);
	return launch(handle, "sim_sddmm");
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseSpGEMM_compute(
	cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
	const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
	const void *beta, cusparseSpMatDescr_t c, cudaDataType type, cusparseSpGEMMAlg_t algorithm,
	cusparseSpGEMMDescr_t descriptor, size_t *size, void *buffer)
{
	CHECK(a, SPARSE_MATRIX);
	return launch(handle, "sim_spgemm");
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseGather(cusparseHandle_t handle,
						   cusparseConstDnVecDescr_t y,
						   cusparseSpVecDescr_t x)
{
	CHECK(x, SPARSE_VECTOR);
	return launch(handle, "sim_gather");
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle,
							  cusparseConstSpMatDescr_t a,
							  cusparseDnMatDescr_t b,
							  cusparseSparseToDenseAlg_t algorithm,
							  void *buffer)
{
	CHECK(a, SPARSE_MATRIX);
	return launch(handle, "sim_to_dense");
}

SIM_LIBRARY_EXPORT cusparseStatus_t
cusparseSbsrmm(cusparseHandle_t handle, cusparseDirection_t direction, cusparseOperation_t op_a,
	       cusparseOperation_t op_b, int mb, int n, int kb, int nnzb, const float *alpha,
	       const cusparseMatDescr_t descriptor, const float *values, const int *offsets,
	       const int *indices, const int size, const float *b, const int ldb, const float *beta,
	       float *c, int ldc)
{
	return mb < 0 ? CUSPARSE_STATUS_INVALID_VALUE : launch(handle, "sim_bsrmm");
}

SIM_LIBRARY_EXPORT cusparseStatus_t cusparseDgtsv2StridedBatch(cusparseHandle_t handle, int m,
							       const double *dl, const double *d,
							       const double *du, double *x,
							       int count, int stride, void *buffer)
{
	return m < 0 ? CUSPARSE_STATUS_INVALID_VALUE : launch(handle, "sim_gtsv2");
}
