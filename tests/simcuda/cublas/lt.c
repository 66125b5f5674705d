/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated libcublasLt.so.13: descriptors, as opaque as the real ones, with attributes that
 * must be asked for with their exact size, and a product that launches a kernel.
 */
#include <cublasLt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cublas/sim_cublas.h"
#include "cublas/sim_launch.h"

/* Where an attribute lies in its descriptor; size 0: there is none. */
struct place {
	uint8_t at, size;
};

static const struct place of_layout[] = {
	[CUBLASLT_MATRIX_LAYOUT_TYPE] = {0, 4},
	[CUBLASLT_MATRIX_LAYOUT_ORDER] = {4, 4},
	[CUBLASLT_MATRIX_LAYOUT_ROWS] = {8, 8},
	[CUBLASLT_MATRIX_LAYOUT_COLS] = {16, 8},
	[CUBLASLT_MATRIX_LAYOUT_LD] = {24, 8},
	[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = {32, 4},
	[CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET] = {40, 8},
	[CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET] = {48, 8},
	[8] = {36, 4}, /* batch mode, of 13.0 */
};

static const struct place of_product[] = {
	[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = {0, 4},
	[CUBLASLT_MATMUL_DESC_SCALE_TYPE] = {4, 4},
	[CUBLASLT_MATMUL_DESC_POINTER_MODE] = {8, 4},
	[CUBLASLT_MATMUL_DESC_TRANSA] = {12, 4},
	[CUBLASLT_MATMUL_DESC_TRANSB] = {16, 4},
	[CUBLASLT_MATMUL_DESC_TRANSC] = {20, 4},
	[CUBLASLT_MATMUL_DESC_FILL_MODE] = {24, 4},
	[CUBLASLT_MATMUL_DESC_EPILOGUE] = {28, 4},
	[CUBLASLT_MATMUL_DESC_BIAS_POINTER] = {32, 8},
	[CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE] = {40, 8},
	[CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER] = {48, 8},
	[CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD] = {56, 8},
	[CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE] = {64, 8},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct place *place_of(const struct place *places, size_t count, unsigned int which)
{
	return which < count && places[which].size ? &places[which] : NULL;
}

static cublasStatus_t set(void *data, const struct place *place, const void *buffer, size_t size)
{
	if (!data || !place || !buffer || size != place->size)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy((char *)data + place->at, buffer, size);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t get(const void *data, const struct place *place, void *buffer, size_t size,
			  size_t *written)
{
	if (!data || !place || (!size && !written) || (size && !buffer))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (written)
		*written = place->size;
	if (!size)
		return CUBLAS_STATUS_SUCCESS;
	if (size != place->size)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(buffer, (const char *)data + place->at, size);
	return CUBLAS_STATUS_SUCCESS;
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
	const char *major = getenv("SIM_CUBLAS_MAJOR");

	*value = type != MAJOR_VERSION ? 0 : major ? atoi(major) : CUBLAS_VER_MAJOR;
	return CUBLAS_STATUS_SUCCESS;
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	*handle = NULL;
	if (sim_cublas_start())
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(struct cublasLtContext));
	return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
	free(handle);
	return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

/* ---- layouts ---- */

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(
	cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which, const void *buffer,
	size_t size)
{
	return set(layout, place_of(of_layout, COUNT(of_layout), which), buffer, size);
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtMatrixLayoutGetAttribute(
	cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which, void *buffer,
	size_t size, size_t *written)
{
	return get(layout, place_of(of_layout, COUNT(of_layout), which), buffer, size, written);
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout,
								   size_t size, cudaDataType type,
								   uint64_t rows, uint64_t cols,
								   int64_t ld)
{
	const int32_t batch = 1;

	if (!layout || size < sizeof(*layout))
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(layout, 0, sizeof(*layout));
	set(layout, &of_layout[CUBLASLT_MATRIX_LAYOUT_TYPE], &type, sizeof(type));
	set(layout, &of_layout[CUBLASLT_MATRIX_LAYOUT_ROWS], &rows, sizeof(rows));
	set(layout, &of_layout[CUBLASLT_MATRIX_LAYOUT_COLS], &cols, sizeof(cols));
	set(layout, &of_layout[CUBLASLT_MATRIX_LAYOUT_LD], &ld, sizeof(ld));
	return set(layout, &of_layout[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT], &batch, sizeof(batch));
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
							    cudaDataType type, uint64_t rows,
							    uint64_t cols, int64_t ld)
{
	*layout = malloc(sizeof(**layout));
	return cublasLtMatrixLayoutInit_internal(*layout, sizeof(**layout), type, rows, cols, ld);
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
	free(layout);
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- what is to be computed ---- */

SIM_CUBLAS_EXPORT cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t which,
			       const void *buffer, size_t size)
{
	return set(product, place_of(of_product, COUNT(of_product), which), buffer, size);
}

SIM_CUBLAS_EXPORT cublasStatus_t
cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t which,
			       void *buffer, size_t size, size_t *written)
{
	return get(product, place_of(of_product, COUNT(of_product), which), buffer, size, written);
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t product,
								 size_t size,
								 cublasComputeType_t compute,
								 cudaDataType_t scale)
{
	const int32_t none = CUBLASLT_EPILOGUE_DEFAULT, full = CUBLAS_FILL_MODE_FULL;

	if (!product || size < sizeof(*product))
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(product, 0, sizeof(*product));
	set(product, &of_product[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE], &compute, sizeof(compute));
	set(product, &of_product[CUBLASLT_MATMUL_DESC_SCALE_TYPE], &scale, sizeof(scale));
	set(product, &of_product[CUBLASLT_MATMUL_DESC_FILL_MODE], &full, sizeof(full));
	return set(product, &of_product[CUBLASLT_MATMUL_DESC_EPILOGUE], &none, sizeof(none));
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product,
							  cublasComputeType_t compute,
							  cudaDataType_t scale)
{
	*product = malloc(sizeof(**product));
	return cublasLtMatmulDescInit_internal(*product, sizeof(**product), compute, scale);
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product)
{
	free(product);
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- the product ---- */

struct size {
	uint64_t rows, cols;
};

static struct size size_of(cublasLtMatrixLayout_t layout)
{
	const char *data = (const char *)layout;
	struct size size;

	memcpy(&size.rows, data + of_layout[CUBLASLT_MATRIX_LAYOUT_ROWS].at, sizeof(size.rows));
	memcpy(&size.cols, data + of_layout[CUBLASLT_MATRIX_LAYOUT_COLS].at, sizeof(size.cols));
	return size;
}

static struct size used(cublasLtMatrixLayout_t layout, cublasLtMatmulDesc_t product,
			cublasLtMatmulDescAttributes_t operation)
{
	struct size size = size_of(layout);
	int32_t way;

	memcpy(&way, (const char *)product + of_product[operation].at, sizeof(way));
	return way == CUBLAS_OP_N ? size : (struct size){size.cols, size.rows};
}

SIM_CUBLAS_EXPORT cublasStatus_t cublasLtMatmul(
	cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void *alpha, const void *A,
	cublasLtMatrixLayout_t a_layout, const void *B, cublasLtMatrixLayout_t b_layout,
	const void *beta, const void *C, cublasLtMatrixLayout_t c_layout, void *D,
	cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algorithm, void *workspace,
	size_t workspace_size, cudaStream_t stream)
{
	struct size a, b, d;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!product || !a_layout || !b_layout || !c_layout || !d_layout)
		return CUBLAS_STATUS_INVALID_VALUE;
	a = used(a_layout, product, CUBLASLT_MATMUL_DESC_TRANSA);
	b = used(b_layout, product, CUBLASLT_MATMUL_DESC_TRANSB);
	d = size_of(d_layout);
	if (a.rows != d.rows || b.cols != d.cols || a.cols != b.rows)
		return CUBLAS_STATUS_INVALID_VALUE;
	return sim_cublas_launch(handle, stream, "sim_cublasLtMatmul");
}
