# Installs the headers and a package: `find_package(tenon)` gives tenon::tenon.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tenon")
install(DIRECTORY include/tenon DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS tenon EXPORT tenonTargets)
install(EXPORT tenonTargets NAMESPACE tenon:: DESTINATION "${package_dir}")

configure_package_config_file(cmake/tenonConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/tenonConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/tenonConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tenonConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/tenonConfigVersion.cmake"
              cmake/TenonDependencies.cmake DESTINATION "${package_dir}")
