# Helpers that keep every folder's CMakeLists.txt to a few lines.

# What is installed belongs to the component `lathe` unless it says otherwise: a Debian package each.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME lathe)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# A bundle and an installation carry the libraries beside the executables.
set(CMAKE_BUILD_RPATH "$ORIGIN/../lib")
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# ccache shares objects between build folders of one checkout.
find_program(LATHE_CCACHE ccache)
if(LATHE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LATHE_CCACHE})
endif()

add_library(lathe_flags INTERFACE)
target_compile_options(lathe_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(LATHE_WARNINGS_AS_ERRORS)
  target_compile_options(lathe_flags INTERFACE -Werror)
endif()
target_include_directories(lathe_flags INTERFACE ${PROJECT_SOURCE_DIR})

# lathe_add_library(<name> SOURCES ... [DEPENDS ...]): one folder, one static library, headers
# included as "tuner/<folder>/<folder>.h".
function(lathe_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC lathe_flags ${ARG_DEPENDS})
endfunction()

# lathe_precompile(<target> <headers>...): headers that take most of the time of the target's files, compiled once. GCC leaves
# word in preprocessed text of which it was, without which ccache cannot keep objects that used one.
function(lathe_precompile name)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# lathe_precompile_clang(<target>): Clang's AST, which takes half of the time of the files that use it, compiled once.
function(lathe_precompile_clang name)
  lathe_precompile(${name} <clang/AST/ASTContext.h> <clang/AST/Attr.h> <clang/AST/DeclTemplate.h>
                   <clang/AST/ExprCXX.h> <clang/AST/StmtCXX.h> <clang/Basic/SourceManager.h>)
  # GCC 12 reports joined strings as overflowing copies (GCC bug 105651), and no longer knows which text was a system's.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-maybe-uninitialized
                         -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread>)
endfunction()

# lathe_add_test(<name> SOURCES ... [DEPENDS ...] [LABELS ...] [TIMEOUT seconds] [COST seconds] [FILTER cases]): one GoogleTest
# executable and its test. COST: what it takes, where that is minutes; such tests begin first.
function(lathe_add_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;COST;FILTER" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE lathe_flags ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  # Cases run once, and optimising them takes up to two fifths of their compilation.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  lathe_add_test_part(${name} ${name} TIMEOUT "${ARG_TIMEOUT}" COST "${ARG_COST}" FILTER "${ARG_FILTER}"
                      LABELS ${ARG_LABELS})
endfunction()

# lathe_add_test_part(<name> <executable> [...]): a test of its own of those cases of the executable that the filter names,
# so that long ones run beside each other. ONE_OF <n>: only every n-th of these cases.
function(lathe_add_test_part name executable)
  cmake_parse_arguments(ARG "" "TIMEOUT;COST;FILTER;ONE_OF" "LABELS" ${ARGN})
  if(ARG_FILTER)
    add_test(NAME ${name} COMMAND ${executable} --gtest_filter=${ARG_FILTER})
  else()
    add_test(NAME ${name} COMMAND ${executable})
  endif()
  if(NOT ARG_TIMEOUT)
    # Against a test that hangs, not against a slow machine: many times what they take on a quiet one.
    set(ARG_TIMEOUT 1200)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST} SKIP_RETURN_CODE 77
    ENVIRONMENT "LATHE_SOURCE_DIR=${PROJECT_SOURCE_DIR};LATHE_BIN_DIR=${PROJECT_BINARY_DIR}/bin")
  if(ARG_ONE_OF)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT GTEST_TOTAL_SHARDS=${ARG_ONE_OF} GTEST_SHARD_INDEX=0)
  endif()
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
endfunction()

# lathe_ship(<destination folder> FILES <files>...): files that the executables read at run time. They are found at
# ../share/lathe/<destination> beside the executables, in the build folder (links) and when installed (copies).
function(lathe_ship destination)
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/lathe/${destination})
  foreach(file ${ARG_FILES})
    get_filename_component(name ${file} NAME)
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${PROJECT_BINARY_DIR}/share/lathe/${destination}/${name} SYMBOLIC)
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe/${destination})
  endforeach()
endfunction()

# lathe_ship_as(<destination folder> FILE <file> NAMES <names>...): one such file under several names, which may have
# folders of their own.
function(lathe_ship_as destination)
  cmake_parse_arguments(ARG "" "FILE" "NAMES" ${ARGN})
  foreach(name ${ARG_NAMES})
    get_filename_component(folder ${destination}/${name} DIRECTORY)
    get_filename_component(base ${name} NAME)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/lathe/${folder})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FILE} ${PROJECT_BINARY_DIR}/share/lathe/${folder}/${base} SYMBOLIC)
    install(FILES ${ARG_FILE} DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe/${folder} RENAME ${base})
  endforeach()
endfunction()
