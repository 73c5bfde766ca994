plimsoll_fuzz(plan_yaml_fuzz
  SRCS plan_yaml_fuzz.cc
  DEPS plimsoll::controller_plan
  CORPUS "${CMAKE_CURRENT_LIST_DIR}/corpus/plan_yaml_fuzz")
