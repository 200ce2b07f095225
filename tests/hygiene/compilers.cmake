# The compilers that the headers must please, whatever compiler builds the rest: sets TENON_COMPILERS to those of
# g++, clang++ and nvcc that this machine has, and for each <compiler>
#   <compiler>_PATH            the program
#   <compiler>_FLAGS           its language and warnings, each an error
#   <compiler>_MISTAKE_FLAGS   the same for a file with an error in it: warnings stay warnings
#   <compiler>_CHECK           its way to check a file without linking
#   <compiler>_PLAIN           what users type to build one file, beside -std=c++20 -Iinclude

find_program(TENON_GXX NAMES g++ g++-15 g++-14 g++-13 g++-12)
find_program(TENON_CLANGXX NAMES clang++ clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14)

set(g++_PATH "${TENON_GXX}")
set(g++_FLAGS ${TENON_WARNINGS} -Werror)
set(g++_MISTAKE_FLAGS ${TENON_WARNINGS})
set(g++_CHECK -fsyntax-only)
set(g++_PLAIN -O3 -march=native)

set(clang++_PATH "${TENON_CLANGXX}")
set(clang++_FLAGS ${TENON_WARNINGS} -Werror)
set(clang++_MISTAKE_FLAGS ${TENON_WARNINGS})
set(clang++_CHECK -fsyntax-only)
set(clang++_PLAIN -O3 -march=native)

# nvcc hands code that it has rewritten to the host compiler, which finds pedantry and false sign conversions in the rewriting.
set(nvcc_PATH "${TENON_NVCC}")
set(nvcc_FLAGS -x cu -Werror all-warnings -Xcompiler=-Wall,-Wextra,-Wshadow,-Werror)
set(nvcc_MISTAKE_FLAGS -x cu)
set(nvcc_CHECK -c)
set(nvcc_PLAIN -x cu)

set(TENON_COMPILERS "")
foreach(compiler g++ clang++ nvcc)
    if(${compiler}_PATH)
        list(APPEND TENON_COMPILERS ${compiler})
    endif()
endforeach()

# Adds one entry <group>/<compiler> for each compiler that is missing: it says so and counts as skipped.
function(tenon_add_skipped_tests group)
    foreach(compiler g++ clang++ nvcc)
        if(NOT compiler IN_LIST TENON_COMPILERS)
            add_test(NAME "${group}/${compiler}" COMMAND "${CMAKE_COMMAND}" -E echo "SKIPPED: no ${compiler} here")
            set_tests_properties("${group}/${compiler}" PROPERTIES
                LABELS "${group};${compiler}" SKIP_REGULAR_EXPRESSION "SKIPPED")
        endif()
    endforeach()
endfunction()
