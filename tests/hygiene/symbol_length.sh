#!/usr/bin/env bash
# usage: symbol_length.sh PROGRAM LIMIT
# No symbol of the program is longer than LIMIT characters: long ones cost link time, memory and readable profiles.
set -euo pipefail
nm "$1" | awk -v limit="$2" '
    { length_ = length($NF); if (length_ > longest) longest = length_ }
    length_ > limit { ++too_long; if (too_long <= 5) print length_ " characters: " substr($NF, 1, 300) "..." }
    END {
        if (NR == 0) { print "no symbols: was the program stripped?"; exit 1 }
        printf "%d symbols, the longest of %d characters; %d longer than %d\n", NR, longest, too_long, limit
        exit too_long > 0
    }'
