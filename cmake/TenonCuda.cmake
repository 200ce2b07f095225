# Finds nvcc where TENON_CUDA asks for it: sets TENON_CUDA_FOUND and TENON_NVCC. No GPU is needed to configure or build.
set(TENON_CUDA_FOUND FALSE)
if(TENON_CUDA STREQUAL "OFF")
    return()
endif()

# Code for each generation since Turing, and PTX of the newest for those to come.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90-real 100-real 120)
endif()

include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(TENON_CUDA_FOUND TRUE)
    set(TENON_NVCC "${CMAKE_CUDA_COMPILER}")
elseif(TENON_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TENON_CUDA is ON, but no CUDA compiler was found. "
                        "Put nvcc on PATH, set CUDACXX to it, or set TENON_CUDA to AUTO or OFF.")
endif()
