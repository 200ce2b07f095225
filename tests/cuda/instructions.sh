#!/bin/bash
# instructions.sh NVCC [CAPABILITY]: that the kernels of LeNet's step consist of the instructions that they were written for. Needs
# cuobjdump (of the CUDA toolkit, or `pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm`); exits with 77, "skipped", where it is
# missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
nvcc=${1:-nvcc}
capability=${2:-80}
PATH="$(dirname "$(command -v "$nvcc")"):$PATH"
for tool in cuobjdump nvdisasm; do
    command -v $tool > /dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
check() { # check FACTORS WANTED...
    local factors=$1 wanted count
    shift
    "$nvcc" -std=c++20 -I"$here/../../include" -I"$here/.." -arch="sm_$capability" -DFACTORS="$factors" -DSAMPLES=64 -cubin "$here/lenet_step.cu" \
            -o "$folder/step.cubin"
    cuobjdump -sass "$folder/step.cubin" > "$folder/sass"
    for wanted in "$@"; do
        count=$(grep -cE "\b$wanted\b" "$folder/sass" || true)
        echo "sm_$capability $factors: $count of $wanted"
        [ "$count" -gt 0 ]
    done
    if grep -E '\b(STL|LDL)\b' "$folder/sass"; then echo "sm_$capability $factors: local memory is used"; exit 1; fi
}
check float32 FFMA 'LDGSTS\.E(\.BYPASS)?\.128' 'LDS\.128' 'LDG\.E\.128' 'STG\.E\.128'
check tf32 'HMMA\.1688\.F32\.TF32' 'LDGSTS\.E(\.BYPASS)?\.128' 'LDS\.128' 'LDG\.E\.128' 'STG\.E\.128'
check bf16 'HMMA\.16816\.F32\.BF16' 'LDGSTS\.E(\.BYPASS)?\.128' 'LDS\.128' 'LDG\.E\.128' 'STG\.E\.128'
