#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tensor_library.sh OUTPUT SOURCE C10 COMPILER WORD...: a libc10_cuda.so that finds its libc10.so in a folder of its own.
set -eu
output=$1 source=$2 c10=$3
shift 3
folder=$output.d
mkdir -p "$folder"
cp "$c10" "$folder/libc10.so"
"$@" -Xlinker "-rpath=$(cd "$folder" && pwd)" -o "$output" "$source" -L "$folder" -lc10
