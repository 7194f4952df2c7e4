# The installable package: executables, run-time files, and find_package(Lathe) for lathe_add_tuned_kernel().
include(CMakePackageConfigHelpers)
set(LATHE_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/Lathe)
configure_package_config_file(cmake/LatheConfig.cmake.in ${PROJECT_BINARY_DIR}/LatheConfig.cmake
  INSTALL_DESTINATION ${LATHE_PACKAGE_FOLDER})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LatheConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/LatheConfig.cmake ${PROJECT_BINARY_DIR}/LatheConfigVersion.cmake
  cmake/LatheTunedKernel.cmake cmake/LatheCheckHeader.cmake DESTINATION ${LATHE_PACKAGE_FOLDER})
file(RELATIVE_PATH LATHE_PREFIX_FROM_PKGCONFIG /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/lathe.pc.in ${PROJECT_BINARY_DIR}/lathe.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lathe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
include(LatheManual)
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
    -P ${PROJECT_SOURCE_DIR}/cmake/LatheUninstall.cmake VERBATIM)
  include(LathePackage)
endif()
