# How this repository's own programs (examples, tests, benchmarks) are compiled. Nothing here reaches users of tenon::tenon.

# The flags that the headers promise to survive without a word.
set(TENON_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)

# Object files and programs that include tenon: warnings are errors, and the code is for this machine where TENON_NATIVE is on.
function(tenon_configure_program target)
    target_link_libraries(${target} PRIVATE tenon::tenon)
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF COMPILE_WARNING_AS_ERROR ON)
    target_compile_options(${target} PRIVATE ${TENON_WARNINGS})
    if(TENON_NATIVE)
        target_compile_options(${target} PRIVATE -march=native)
    endif()
endfunction()

# One program for each .cpp file under `folder`: <folder>/a/b.cpp becomes the target <prefix>a_b and the program
# <build>/<folder>/a/b. Further arguments are linked.
function(tenon_add_programs folder prefix)
    set(root "${PROJECT_SOURCE_DIR}/${folder}")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${root}" "${root}/*.cpp")
    foreach(source IN LISTS sources)
        cmake_path(GET source PARENT_PATH path)
        cmake_path(GET source STEM program)
        string(REGEX REPLACE "\\.cpp$" "" name "${source}")
        string(REPLACE "/" "_" name "${prefix}${name}")
        add_executable(${name} "${root}/${source}")
        tenon_configure_program(${name})
        target_link_libraries(${name} PRIVATE ${ARGN})
        set_target_properties(${name} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}/${path}" OUTPUT_NAME "${program}")
    endforeach()
endfunction()
