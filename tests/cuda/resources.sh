#!/bin/bash
# resources.sh NVCC [SAMPLES] [FACTORS] [CAPABILITIES]: registers, shared memory, stack and spills of the kernels of LeNet's training
# step as a table; fails on any spill or stack frame. FACTORS: float32, tf32, tf32x3, bf16. One front end for all capabilities: what
# ptxas gets is that of the first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
nvcc=${1:-nvcc}
read -ra all_samples <<< "${2:-64}"
read -ra all_factors <<< "${3:-float32 tf32 bf16}"
read -ra capabilities <<< "${4:-80 90 120}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf -v code ',sm_%s' "${capabilities[@]}"
for factors in "${all_factors[@]}"; do
    for samples in "${all_samples[@]}"; do
        echo "products of $factors, $samples samples"
        "$nvcc" -std=c++20 -I"$here/../../include" -I"$here/.." -DSAMPLES="$samples" -DFACTORS="$factors" -Xptxas -v \
                -gencode "arch=compute_${capabilities[0]},code=[${code#,}]" -fatbin "$here/lenet_step.cu" -o "$folder/step.fatbin" \
                2> "$folder/log" || { cat "$folder/log" >&2; exit 1; }
        c++filt -r < "$folder/log" | python3 "$here/resources.py"
    done
done
