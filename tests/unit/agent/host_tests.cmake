plimsoll_test(host_test
  SRCS host_block_stack_test.cc host_clean_test.cc host_counters_test.cc host_describe_test.cc host_leftovers_test.cc host_mount_counters_test.cc host_mounts_test.cc host_planted_test.cc
    host_queue_managers_test.cc host_run_directory_test.cc host_sandbox_test.cc host_throttling_test.cc kept_files_test.cc target_devices_test.cc target_files_test.cc
  DEPS plimsoll::agent_host
  LABELS unit threads)

# The sandbox's promises on kernels before Linux 5.6, and in containers whose filter does not know these calls.
add_test(NAME host_test.older_kernel
  COMMAND /usr/bin/python3 -B "${CMAKE_CURRENT_SOURCE_DIR}/without_calls.py" openat2,statx "$<TARGET_FILE:host_test>" --gtest_brief=1)
set_tests_properties(host_test.older_kernel PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77
  FAIL_REGULAR_EXPRESSION "Running 0 tests")
