# The storage's share of a restart, the agent's side.
plimsoll_test(restart_work_test
  SRCS restart_layout_test.cc restart_refusals_test.cc restart_trials_test.cc restart_work_test.cc
  DEPS plimsoll::agent_restart
  LABELS unit threads)
