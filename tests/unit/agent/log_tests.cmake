# The write path.
plimsoll_test(log_work_test SRCS log_work_test.cc DEPS plimsoll::agent_log LABELS unit)
