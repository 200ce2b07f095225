# Compiles a case twice and judges what the compiler says. Called by ctest (see CMakeLists.txt) with
#   CASE          the file                          NAME           g++, clang++ or nvcc
#   COMPILER      the program                       INCLUDE_DIR    of tenon
#   TWIN_FLAGS    flags for the corrected twin      MISTAKE_FLAGS  flags for the mistake: warnings, but not as errors
#   CHECK         how to compile without linking    OBJECT         where an object file may be written
set(longest_message 15) # lines of compiler output, all counted

# The compiler's exit status and everything that it says.
function(compile flags result output)
    execute_process(
        COMMAND "${CMAKE_COMMAND}" -E env LC_ALL=C
                "${COMPILER}" -std=c++20 ${flags} "-I${INCLUDE_DIR}" ${CHECK} "${CASE}" -o "${OBJECT}"
        RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
    set(${result} "${status}" PARENT_SCOPE)
    set(${output} "${said}" PARENT_SCOPE)
endfunction()

function(reject why output)
    message(NOTICE "${NAME} said:\n${output}")
    message(FATAL_ERROR "${why}")
endfunction()

function(judge_twin)
    compile("${TWIN_FLAGS}" status output)
    if(NOT status EQUAL 0)
        reject("The corrected twin does not compile." "${output}")
    elseif(NOT output STREQUAL "")
        reject("The corrected twin compiles with warnings." "${output}")
    endif()
endfunction()

function(judge_mistake)
    compile("${MISTAKE_FLAGS};-DMISTAKE" status output)
    if(status EQUAL 0)
        reject("The mistake compiles." "${output}")
    endif()

    string(REGEX MATCHALL "error( #[0-9]+(-D)?)?:" errors "${output}")
    list(LENGTH errors count)
    if(NOT count EQUAL 1)
        reject("The mistake gives ${count} errors, not 1." "${output}")
    endif()

    string(REGEX REPLACE "[^\n]" "" line_ends "${output}")
    string(LENGTH "${line_ends}" lines)
    if(lines GREATER longest_message)
        reject("The message has ${lines} lines, not ${longest_message} at most." "${output}")
    endif()

    # The name of the file is no part of the message, and 5L, as some compilers print a long 5, is 5.
    cmake_path(GET CASE FILENAME file_name)
    string(REPLACE "${file_name}" "" message "${output}")
    string(REGEX REPLACE "([0-9])U?L+" "\\1" message "${message}")
    file(STRINGS "${CASE}" expectations REGEX "^// expect[^:]*: ")
    set(expected_here 0)
    foreach(expectation IN LISTS expectations)
        string(REGEX REPLACE "^// expect([^:]*): .*$" "\\1" compiler "${expectation}")
        string(REGEX REPLACE "^// expect[^:]*: " "" text "${expectation}")
        string(STRIP "${compiler}" compiler)
        if(compiler STREQUAL "" OR compiler STREQUAL NAME)
            math(EXPR expected_here "${expected_here} + 1")
            string(FIND "${message}" "${text}" place)
            if(place EQUAL -1)
                reject("The message does not contain: ${text}" "${output}")
            endif()
        endif()
    endforeach()
    if(expected_here EQUAL 0)
        reject("The case does not say what the message must contain." "${output}")
    endif()
endfunction()

judge_twin()
judge_mistake()
message("One error, as short and clear as expected.")
