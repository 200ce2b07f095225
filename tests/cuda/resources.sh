#!/bin/bash
# resources.sh NVCC [SAMPLES] [CAPABILITIES]: registers, shared memory, stack and spills of the kernels of LeNet's training step as a table; fails
# on any spill or stack frame. One front end for all capabilities: what ptxas gets is that of the first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
nvcc=${1:-nvcc}
samples=${2:-64}
read -ra capabilities <<< "${3:-80 90 120}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf -v code ',sm_%s' "${capabilities[@]}"
"$nvcc" -std=c++20 -I"$here/../../include" -I"$here/.." -DSAMPLES="$samples" -gencode "arch=compute_${capabilities[0]},code=[${code#,}]" -Xptxas -v \
        -fatbin "$here/lenet_step.cu" -o "$folder/step.fatbin" 2> "$folder/log" || { cat "$folder/log" >&2; exit 1; }
c++filt -r < "$folder/log" | python3 "$here/resources.py"
