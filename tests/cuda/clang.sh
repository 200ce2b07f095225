#!/bin/bash
# clang.sh TOOLKIT FILE...: that clang compiles the device code of these files too, for old and new devices. Needs clang++-19 or later; exits with 77, "skipped",
# where there is none. TOOLKIT: the folder of CUDA's headers, from toolkit 13 on with an include/cccl and without a header that clang asks for.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
toolkit=$1
shift
compiler=
for version in 19 20 21 22; do
    command -v "clang++-$version" > /dev/null && compiler="clang++-$version"
done
[ -n "$compiler" ] || { echo "clang++-19 is not installed"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: > "$folder/texture_fetch_functions.h"
for file in "$@"; do
    for architecture in sm_75 sm_90; do
        "$compiler" -x cuda --cuda-device-only --cuda-gpu-arch=$architecture --cuda-path="$toolkit" -Wno-unknown-cuda-version -std=c++20 -O1 -I"$folder" \
            -isystem "$toolkit/include/cccl" -I"$here/../../include" -I"$here/.." -S "$file" -o "$folder/device.ptx"
        kernels=$(grep -cE '^\s*(\.visible|\.weak)?\s*\.entry' "$folder/device.ptx")
        echo "$compiler $architecture: $kernels kernels of $(basename "$file")"
        [ "$kernels" -gt 0 ]
    done
done
