plimsoll_test(host_test
  SRCS host_block_stack_test.cc host_clean_test.cc host_counters_test.cc host_describe_test.cc host_leftovers_test.cc host_mounts_test.cc host_planted_test.cc
    host_queue_managers_test.cc host_run_directory_test.cc host_sandbox_test.cc
  DEPS plimsoll::agent_host
  LABELS unit)
