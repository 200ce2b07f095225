#!/usr/bin/env bash
# usage: global_state.sh FILE [COMPILER ARGUMENT...]
# Looks in FILE, an object or a program (made first by the command "COMPILER ARGUMENT... -o FILE", if there is one), for
# variables of tenon that can be written: a header library has none.
set -euo pipefail
file=$1
shift
[ $# -eq 0 ] || "$@" -o "$file"

# Lines of objdump: address, flags, section, size, mangled name. Constants that hold addresses lie in .data.rel.ro.
found=$(objdump --syms "$file" |
    grep -E '[[:space:]]\.(data|bss|tdata|tbss)' |
    grep -vE '[[:space:]]\.data\.rel\.ro' |
    awk '{ print $NF }' | grep -E '^_Z(GV)?Z*(N[VK]*)?5tenon' | c++filt || true)
if [ -n "$found" ]; then
    printf 'variables in the headers that outlive a call and can be written:\n%s\n' "$found"
    exit 1
fi
