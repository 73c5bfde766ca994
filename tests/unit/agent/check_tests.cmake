plimsoll_test(check_work_test
  SRCS check_work_test.cc
  DEPS plimsoll::agent_check
  LABELS unit threads)
