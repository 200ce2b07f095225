#!/usr/bin/env bash
# usage: consumer.sh find_package|add_subdirectory CMAKE GENERATOR COMPILER SOURCE_DIR BUILD_DIR WORK_DIR
# A project that knows tenon only by name builds and runs: with the installed package, or with the source tree inside its own.
set -euo pipefail
how=$1 cmake=$2 generator=$3 compiler=$4 source_dir=$5 build_dir=$6 work_dir=$7
rm -rf "$work_dir"
mkdir -p "$work_dir"
case $how in
find_package)
    "$cmake" --install "$build_dir" --prefix "$work_dir/installed" >"$work_dir/install.log"
    mv "$work_dir/installed" "$work_dir/moved" # a package finds its files wherever it lies
    where=(-DTENON_FROM=find_package "-DCMAKE_PREFIX_PATH=$work_dir/moved")
    ;;
add_subdirectory)
    where=(-DTENON_FROM=add_subdirectory "-DTENON_SOURCE_DIR=$source_dir")
    ;;
*)
    echo "find_package or add_subdirectory, not $how"
    exit 1
    ;;
esac
"$cmake" -S "$(dirname "$0")/consumer" -B "$work_dir/build" -G "$generator" "-DCMAKE_CXX_COMPILER=$compiler" "${where[@]}"
"$cmake" --build "$work_dir/build"
"$work_dir/build/consumer"
