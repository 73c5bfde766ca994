# HA drills, the agent's side.
plimsoll_test(ha_parts_test SRCS ha_log_pages_test.cc ha_parts_test.cc DEPS plimsoll::agent_ha LABELS unit threads)
# With processes and faults of their own.
plimsoll_test(ha_instances_test SRCS ha_instances_test.cc ha_faults_test.cc DEPS plimsoll::agent_ha LABELS integration COST 20)
target_compile_definitions(ha_instances_test PRIVATE PLIMSOLL_AGENT="$<TARGET_FILE:plimsoll-agent>"
  PLIMSOLL_FAULTFS="$<TARGET_FILE:faultfs>")
add_dependencies(ha_instances_test plimsoll-agent faultfs)
