#!/usr/bin/env bash
# usage: header_text.sh INCLUDE_DIR
# What can be seen in the text of the headers: each guards itself, none imposes a namespace or a variable on its users.
set -uo pipefail
cd "$1" || exit 1
status=0

# forbid WHAT FOUND: complains if anything was found
forbid() {
    [ -n "$2" ] || return 0
    printf '%s:\n%s\n' "$1" "$2"
    status=1
}

forbid "using namespace in a header" "$(grep -rnE '^[^/]*\busing +namespace\b' tenon)"
forbid "no #pragma once" "$(grep -rL '^#pragma once' tenon --include='*.hpp')"
forbid "no comment at the top that says what the file is for" "$(grep -rL '^/// @file' tenon --include='*.hpp')"
forbid "not a .hpp, so the tests do not see it" "$(find tenon -type f ! -name '*.hpp')"
forbid "headers are included as <tenon/...>" "$(grep -rnE '#[ ]*include +"' tenon)"
forbid "a global variable that can be written" \
    "$(grep -rnE '^ *(static |thread_local )*inline [^(=;]*[A-Za-z_0-9] *(=|;|\{[^}]*\};)' tenon |
        grep -vE '\b(constexpr|const|constinit const|namespace)\b')"

exit $status
