# The installable package: executables, run-time files, and find_package(Lathe) for lathe_add_tuned_kernel().
include(CMakePackageConfigHelpers)
include(LatheTunedKernel)
set(LATHE_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/Lathe)
configure_package_config_file(cmake/LatheConfig.cmake.in ${CMAKE_BINARY_DIR}/LatheConfig.cmake
  INSTALL_DESTINATION ${LATHE_PACKAGE_FOLDER})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/LatheConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/LatheConfig.cmake ${CMAKE_BINARY_DIR}/LatheConfigVersion.cmake
  cmake/LatheTunedKernel.cmake cmake/LatheCheckHeader.cmake DESTINATION ${LATHE_PACKAGE_FOLDER})
