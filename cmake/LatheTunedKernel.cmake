# lathe_add_tuned_kernel(<target> HEADER <header> [TEMPLATE <template>])
#
# Makes <target> see a header that `lathe export` wrote: its folder is added to the include path. Where TEMPLATE names
# the template that the header was made from, the build stops with a sentence when the template has changed since: at
# configuration, and again whenever the template or the header changes.
#
# Needs neither the lathe program nor CUDA by itself; the header needs CUDA alone.

function(lathe_add_tuned_kernel target)
  cmake_parse_arguments(ARG "" "HEADER;TEMPLATE" "" ${ARGN})
  if(NOT ARG_HEADER OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lathe_add_tuned_kernel: expected <target> HEADER <header> [TEMPLATE <template>]")
  endif()
  get_filename_component(header ${ARG_HEADER} ABSOLUTE)
  if(NOT EXISTS ${header})
    message(FATAL_ERROR "lathe_add_tuned_kernel: there is no header ${header}: write it with lathe export")
  endif()
  get_filename_component(folder ${header} DIRECTORY)
  target_include_directories(${target} PRIVATE ${folder})
  if(NOT ARG_TEMPLATE)
    return()
  endif()
  get_filename_component(template ${ARG_TEMPLATE} ABSOLUTE)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/LatheCheckHeader.cmake) # beside this file, whoever included it
  set(check ${CMAKE_COMMAND} -DHEADER=${header} -DTEMPLATE=${template} -P ${script})
  execute_process(COMMAND ${check} RESULT_VARIABLE result ERROR_VARIABLE message)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${message}")
  endif()
  get_filename_component(name ${header} NAME_WE)
  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/lathe_${target}_${name}.checked)
  add_custom_command(OUTPUT ${stamp} COMMAND ${check} COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${header} ${template} ${script}
    COMMENT "Checking that ${name} is as new as its template" VERBATIM)
  add_custom_target(lathe_check_${target}_${name} DEPENDS ${stamp})
  add_dependencies(${target} lathe_check_${target}_${name})
endfunction()
