plimsoll_test(host_test SRCS host_leftovers_test.cc host_run_directory_test.cc host_sandbox_test.cc DEPS
                  plimsoll::agent_host LABELS unit)
