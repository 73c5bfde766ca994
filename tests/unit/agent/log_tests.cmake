# The write path.
plimsoll_test(log_property_test SRCS block_source_test.cc log_layout_test.cc poisson_arrivals_test.cc recording_property_test.cc unserved_ages_test.cc
  DEPS plimsoll::agent_log LABELS property)
plimsoll_test(log_path_test
  SRCS cpu_pin_test.cc log_files_test.cc ring_test.cc start_gate_test.cc step_recorder_test.cc work_setup_test.cc write_loop_test.cc
    writer_tally_stalls_test.cc writer_tally_test.cc
  DEPS plimsoll::agent_log LABELS unit)
plimsoll_test(log_work_test SRCS log_run_test.cc log_work_test.cc DEPS plimsoll::agent_log LABELS unit)
