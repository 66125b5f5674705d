/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays and textures: a picture into an array and back, volumes, layers of a mipmap, surfaces.
 */
#include "program.h"

#define SIDE 64

__global__ void sample(cudaTextureObject_t texture, float *out)
{
	out[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, 0.5f);
}

__global__ void draw(cudaSurfaceObject_t surface)
{
	surf2Dwrite(1.0f, surface, threadIdx.x * 4, 0);
}

static float picture[SIDE][SIDE], back[SIDE][SIDE];

static void volume()
{
	cudaExtent extent = make_cudaExtent(16, 8, 4), got;
	cudaChannelFormatDesc channels = cudaCreateChannelDesc<int4>(), seen;
	static int4 host[4][8][16], copy[4][8][16];
	cudaMemcpy3DParms up = {}, down = {};
	unsigned int flags;
	cudaArray_t array;

	host[3][7][15].w = 99;
	CHECK(cudaMalloc3DArray(&array, &channels, extent));
	CHECK(cudaArrayGetInfo(&seen, &got, &flags, array));
	REQUIRE(got.depth == 4 && seen.w == 32 && seen.f == cudaChannelFormatKindSigned);
	up.srcPtr = make_cudaPitchedPtr(host, sizeof(host[0][0]), 16, 8);
	up.dstArray = array;
	up.extent = extent;
	up.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&up));
	down.srcArray = array;
	down.dstPtr = make_cudaPitchedPtr(copy, sizeof(copy[0][0]), 16, 8);
	down.extent = extent;
	down.kind = cudaMemcpyDeviceToHost;
	CHECK(cudaMemcpy3D(&down));
	REQUIRE(copy[3][7][15].w == 99);
	CHECK(cudaFreeArray(array));
}

static void mipmap()
{
	cudaChannelFormatDesc channels = cudaCreateChannelDesc<uchar4>();
	cudaMipmappedArray_t levels;
	cudaExtent extent;
	cudaArray_t third;

	CHECK(cudaMallocMipmappedArray(&levels, &channels, make_cudaExtent(32, 16, 0), 4));
	CHECK(cudaGetMipmappedArrayLevel(&third, levels, 2));
	CHECK(cudaArrayGetInfo(NULL, &extent, NULL, third));
	REQUIRE(extent.width == 8 && extent.height == 4);
	CHECK(cudaFreeMipmappedArray(levels));
}

int main()
{
	cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
	cudaResourceDesc resource = {}, seen;
	cudaTextureDesc how = {}, told;
	cudaTextureObject_t texture;
	cudaSurfaceObject_t surface;
	cudaArray_t array;
	float *out;

	for (int i = 0; i < SIDE * SIDE; i++)
		picture[i / SIDE][i % SIDE] = (float)i;
	CHECK(cudaMalloc(&out, sizeof(picture)));
	CHECK(cudaMallocArray(&array, &channels, SIDE, SIDE, cudaArraySurfaceLoadStore));
	CHECK(cudaMemcpy2DToArray(array, 0, 0, picture, sizeof(picture[0]), sizeof(picture[0]),
				  SIDE, cudaMemcpyHostToDevice));
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = array;
	how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
	how.filterMode = cudaFilterModeLinear;
	how.normalizedCoords = 1;
	CHECK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
	CHECK(cudaGetTextureObjectResourceDesc(&seen, texture));
	CHECK(cudaGetTextureObjectTextureDesc(&told, texture));
	REQUIRE(seen.res.array.array == array && told.normalizedCoords && !told.sRGB &&
		told.filterMode == cudaFilterModeLinear);
	sample<<<1, SIDE>>>(texture, out);
	CHECK(cudaCreateSurfaceObject(&surface, &resource));
	draw<<<1, SIDE>>>(surface);
	CHECK(cudaMemcpy2DFromArray(back, sizeof(back[0]), array, 0, 1, sizeof(back[0]), SIDE - 1,
				    cudaMemcpyDeviceToHost));
	REQUIRE(!memcmp(back, picture[1], sizeof(back[0]) * (SIDE - 1)));
	CHECK(cudaDestroySurfaceObject(surface));
	CHECK(cudaDestroyTextureObject(texture));
	CHECK(cudaFreeArray(array));
	volume();
	mipmap();
	puts("textured");
	return 0;
}
