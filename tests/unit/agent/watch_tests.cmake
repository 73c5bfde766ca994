plimsoll_test(watch_test
  SRCS watch_calls_test.cc watch_files_test.cc watch_parts_test.cc watch_records_test.cc watch_tally_test.cc
  DEPS plimsoll::agent_watch LABELS unit)
