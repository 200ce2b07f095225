#!/bin/bash
# tile_instructions.sh [ARCHITECTURE]: that LeNet's kernels consist of the instructions that they were written for. Needs cuobjdump (of the CUDA toolkit, or
# `pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm`); exits with 77, "skipped", where it is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
architecture=${1:-80}
command -v cuobjdump > /dev/null || { echo "cuobjdump is not installed"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
check() { # check PRECISION WANTED...
    local precision=$1 wanted
    shift
    nvcc -std=c++20 -I"$here/../../include" -arch="sm_$architecture" -DPRECISION="$precision" -DSAMPLES=64 -cubin "$here/tile_lenet_kernels.cu" -o "$folder/kernels.cubin"
    cuobjdump -sass "$folder/kernels.cubin" > "$folder/sass"
    for wanted in "$@"; do
        local count
        count=$(grep -cE "\b$wanted\b" "$folder/sass" || true)
        echo "sm_$architecture $precision: $count of $wanted"
        [ "$count" -gt 0 ]
    done
    if grep -E '\b(STL|LDL)\b' "$folder/sass"; then echo "sm_$architecture $precision: local memory is used"; exit 1; fi
}
check Float FFMA 'LDGSTS\.E(\.BYPASS)?\.128' 'LDS\.128' 'LDG\.E\.128' 'STG\.E\.128'
check Tf32 'HMMA\.1688\.F32\.TF32' 'LDGSTS\.E(\.BYPASS)?\.128' 'LDS\.128' 'LDG\.E\.128' 'STG\.E\.128'
check Bf16 'HMMA\.16816\.F32\.BF16' 'LDGSTS\.E(\.BYPASS)?\.128' 'LDS\.128'
