# What the headers lean on beside the C++ standard library: threads, and zlib where there is one (for data files in .gz;
# where there is none, the headers look for it when the program runs).
# The installed package reads this file too, so that a user of the package gets what a user of the source tree gets.

macro(tenon_find_dependencies)
    find_package(Threads REQUIRED)
    find_package(ZLIB QUIET)
endmacro()

# Links what was found to the interface target. BUILD_INTERFACE keeps it out of the exported target, to which the package's
# own call of this function adds what the user's machine has.
function(tenon_link_dependencies target)
    target_link_libraries(${target} INTERFACE $<BUILD_INTERFACE:Threads::Threads> $<BUILD_INTERFACE:${CMAKE_DL_LIBS}>)
    if(ZLIB_FOUND)
        target_link_libraries(${target} INTERFACE $<BUILD_INTERFACE:ZLIB::ZLIB>)
        target_compile_definitions(${target} INTERFACE $<BUILD_INTERFACE:TENON_HAS_ZLIB=1>)
    endif()
endfunction()
