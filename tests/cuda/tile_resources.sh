#!/bin/bash
# tile_resources.sh [ARCHITECTURES] [PRECISIONS] [BATCHES]: registers, spills, stack and shared memory of LeNet's kernels as a table; fails on any
# spill or stack frame.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
read -ra architectures <<< "${1:-80 90 120}"
read -ra precisions <<< "${2:-Float Tf32 Tf32x3 Bf16}"
read -ra batches <<< "${3:-4 64 1024 8192}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for architecture in "${architectures[@]}"; do
    for precision in "${precisions[@]}"; do
        for batch in "${batches[@]}"; do
            nvcc -std=c++20 -I"$here/../../include" -arch="sm_$architecture" -DPRECISION="$precision" -DSAMPLES="$batch" -Xptxas -v \
                 -cubin "$here/tile_lenet_kernels.cu" -o "$folder/kernels.cubin" 2> "$folder/log" || { cat "$folder/log" >&2; exit 1; }
            python3 "$here/tile_resources.py" "$architecture" "$precision" "$batch" < "$folder/log"
        done
    done
done
