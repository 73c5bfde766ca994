plimsoll_test(fsck_work_test
  SRCS fsck_work_test.cc
  DEPS plimsoll::agent_fsck
  LABELS unit threads)
