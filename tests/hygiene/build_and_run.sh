#!/usr/bin/env bash
# usage: build_and_run.sh PROGRAM COMPILER ARGUMENT... [--run ARGUMENT...]
# Builds PROGRAM, fails if the compiler says anything at all, and runs it with the arguments after --run.
set -euo pipefail
program=$1
shift
command=()
while [ $# -gt 0 ] && [ "$1" != --run ]; do
    command+=("$1")
    shift
done
[ $# -eq 0 ] || shift

output=$("${command[@]}" -o "$program" 2>&1) || { printf '%s\n' "$output"; exit 1; }
if [ -n "$output" ]; then
    printf 'the compiler was to say nothing, but said:\n%s\n' "$output"
    exit 1
fi
exec "$program" "$@"
