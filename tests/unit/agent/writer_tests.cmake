# The write path.
plimsoll_test(writer_property_test SRCS access_order_test.cc block_source_test.cc commit_model_test.cc extent_layout_test.cc file_regions_test.cc log_source_test.cc playback_memory_test.cc playback_model_test.cc poisson_arrivals_test.cc read_back_test.cc recording_property_test.cc not_issued_ages_test.cc
  DEPS plimsoll::agent_writer LABELS property)
plimsoll_test(write_path_test
  SRCS commit_recording_test.cc cpu_pin_test.cc file_loop_test.cc files_setup_test.cc log_files_test.cc pattern_intake_test.cc playback_recording_test.cc ring_test.cc start_gate_test.cc step_recorder_test.cc work_setup_test.cc write_loop_test.cc
    writer_tally_stalls_test.cc writer_tally_test.cc
  DEPS plimsoll::agent_writer LABELS unit threads)
plimsoll_test(log_work_test SRCS log_read_back_test.cc log_run_test.cc log_work_test.cc named_files_work_test.cc playback_work_test.cc DEPS plimsoll::agent_writer LABELS unit threads)
