# The manual page and the completion scripts, made by the built program from its option tables.
set(LATHE_MANUAL_FOLDER ${PROJECT_BINARY_DIR}/manual)
file(MAKE_DIRECTORY ${LATHE_MANUAL_FOLDER})
set(lathe_manual_programs lathe)
if(LATHE_BUILD_REFACTOR)
  list(APPEND lathe_manual_programs lathe-refactor)
endif()
add_custom_command(
  OUTPUT ${LATHE_MANUAL_FOLDER}/lathe.1 ${LATHE_MANUAL_FOLDER}/lathe.bash ${LATHE_MANUAL_FOLDER}/_lathe
         ${LATHE_MANUAL_FOLDER}/lathe.fish
  COMMAND $<TARGET_FILE:lathe> manual --format man > ${LATHE_MANUAL_FOLDER}/lathe.1
  COMMAND $<TARGET_FILE:lathe> completion bash > ${LATHE_MANUAL_FOLDER}/lathe.bash
  COMMAND $<TARGET_FILE:lathe> completion zsh > ${LATHE_MANUAL_FOLDER}/_lathe
  COMMAND $<TARGET_FILE:lathe> completion fish > ${LATHE_MANUAL_FOLDER}/lathe.fish
  DEPENDS ${lathe_manual_programs} COMMENT "Writing the manual and the completion scripts" VERBATIM)
add_custom_target(lathe_manual ALL DEPENDS ${LATHE_MANUAL_FOLDER}/lathe.1)
install(FILES ${LATHE_MANUAL_FOLDER}/lathe.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${LATHE_MANUAL_FOLDER}/lathe.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME lathe)
install(FILES ${LATHE_MANUAL_FOLDER}/_lathe DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${LATHE_MANUAL_FOLDER}/lathe.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
