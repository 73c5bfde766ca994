# The packages that cpack makes: plimsoll-agent and plimsoll, as .deb, and of a static build as .rpm too.

set(CPACK_PACKAGE_CONTACT "The Plimsoll developers")
set(CPACK_PACKAGE_VENDOR Plimsoll)
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL agent controller)

set(agent_summary "Agent of Plimsoll, the storage benchmark for IBM MQ recovery logs")
set(agent_text "plimsoll-agent writes log files below the directories in its configuration,
and nowhere else, measures each write, and sends the figures to the controller.
The service is not started: edit /etc/default/plimsoll-agent first.")
set(controller_summary "Benchmarks shared storage for IBM MQ recovery logs, from many hosts at once")
set(controller_text "plimsoll hands a test plan to agents on several hosts, puts the latencies that
they measure on one timeline, and prints one report.")

set(CPACK_GENERATOR DEB)
if(PLIMSOLL_ARCH)
  # Debian has another name for one of them.
  string(REPLACE ppc64le ppc64el CPACK_DEBIAN_PACKAGE_ARCHITECTURE "${PLIMSOLL_ARCH}")
  set(CPACK_RPM_PACKAGE_ARCHITECTURE "${PLIMSOLL_ARCH}")
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_AGENT_PACKAGE_NAME plimsoll-agent)
set(CPACK_DEBIAN_AGENT_DESCRIPTION "${agent_summary}\n${agent_text}")
set(CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA
    "${CMAKE_CURRENT_LIST_DIR}/conffiles;${CMAKE_CURRENT_LIST_DIR}/postinst;${CMAKE_CURRENT_LIST_DIR}/prerm;${CMAKE_CURRENT_LIST_DIR}/postrm")
set(CPACK_DEBIAN_CONTROLLER_PACKAGE_NAME plimsoll)
set(CPACK_DEBIAN_CONTROLLER_DESCRIPTION "${controller_summary}\n${controller_text}")
if(NOT PLIMSOLL_STATIC)
  # Their names and versions are Debian's.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  return()
endif()

list(APPEND CPACK_GENERATOR RPM)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_GROUP Applications/System)
# It holds all that it uses; and stripping is done already.
set(CPACK_RPM_PACKAGE_AUTOREQPROV OFF)
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none\n%define __os_install_post %{nil}")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /etc/default /usr/lib/systemd /usr/lib/systemd/system /usr/lib/sysusers.d
    /usr/share/man /usr/share/man/man1 /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh
    /usr/share/zsh/site-functions)
set(CPACK_RPM_AGENT_PACKAGE_NAME plimsoll-agent)
set(CPACK_RPM_AGENT_PACKAGE_SUMMARY "${agent_summary}")
set(CPACK_RPM_AGENT_PACKAGE_DESCRIPTION "${agent_text}")
set(CPACK_RPM_AGENT_USER_FILELIST "%config(noreplace) /etc/default/plimsoll-agent")
set(CPACK_RPM_AGENT_POST_INSTALL_SCRIPT_FILE "${CMAKE_CURRENT_LIST_DIR}/postinst")
set(CPACK_RPM_AGENT_PRE_UNINSTALL_SCRIPT_FILE "${CMAKE_CURRENT_LIST_DIR}/prerm")
set(CPACK_RPM_AGENT_POST_UNINSTALL_SCRIPT_FILE "${CMAKE_CURRENT_LIST_DIR}/postrm")
set(CPACK_RPM_CONTROLLER_PACKAGE_NAME plimsoll)
set(CPACK_RPM_CONTROLLER_PACKAGE_SUMMARY "${controller_summary}")
set(CPACK_RPM_CONTROLLER_PACKAGE_DESCRIPTION "${controller_text}")
