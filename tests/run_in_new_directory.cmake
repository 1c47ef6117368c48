# SPDX-License-Identifier: BSL-1.0
# cmake -DPROGRAM=... -DDIRECTORY=... -P: runs a program in a directory that is empty at first.
file(REMOVE_RECURSE "${DIRECTORY}")
file(MAKE_DIRECTORY "${DIRECTORY}")
execute_process(
  COMMAND "${PROGRAM}"
  WORKING_DIRECTORY "${DIRECTORY}"
  COMMAND_ERROR_IS_FATAL ANY)
