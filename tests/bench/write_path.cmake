# Cost of recording a write.
plimsoll_bench(write_path_bench SRCS write_path_bench.cc DEPS plimsoll::agent_log)
