"""scripts/check-layout keeps dependencies pointing down, folders to one library, tests registered, and files short."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
# A tree in order: two libraries, one upon the other.
SOUND = {
    "common/CMakeLists.txt": "plimsoll_library(common HDRS text.h DEPS plimsoll::proto)\n",
    "common/text.h": "#pragma once\n",
    "controller/plan/CMakeLists.txt": "plimsoll_library(controller_plan HDRS plan.h DEPS plimsoll::common)\n",
    "controller/plan/plan.h": '#include "common/text.h"\n',
    "controller/run/CMakeLists.txt": "plimsoll_library(controller_run HDRS run.h\n  SRCS run.cc\n  DEPS plimsoll::controller_plan)\n",
    "controller/run/run.h": '#include "controller/plan/plan.h"\n',
    "controller/run/run.cc": '#include "controller/run/run.h"\n\n#include "common/text.h"\n',
    "tests/CMakeLists.txt": "plimsoll_test(plan_test SRCS plan_test.cc)\n",
    "tests/plan_test.cc": "",
}


class Layout(unittest.TestCase):

    def faults(self, changes):
        """What it finds in the sound tree with these files changed."""
        with tempfile.TemporaryDirectory(prefix="plimsoll-test-") as place:
            for name, text in {**SOUND, **changes}.items():
                path = pathlib.Path(place, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = subprocess.run([sys.executable, "-B", TREE / "scripts" / "check-layout", place], capture_output=True, text=True,
                                  check=False, timeout=60)
        self.assertEqual(done.returncode, 1 if done.stderr else 0)
        return [line.removeprefix("check-layout: ") for line in done.stderr.splitlines()]

    def test_this_tree_and_a_sound_one_have_no_fault(self):
        self.assertEqual(self.faults({}), [])
        done = subprocess.run([sys.executable, "-B", TREE / "scripts" / "check-layout"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_an_include_that_the_cmake_lists_do_not_allow_is_named(self):
        up = {"controller/plan/plan.h": '#include "controller/run/run.h"\n'}
        self.assertIn("controller/plan/plan.h includes controller/run/run.h, but the DEPS of controller/plan do not reach controller_run",
                      self.faults(up))

    def test_sides_do_not_know_each_other_whatever_the_cmake_lists_say(self):
        agent = {"agent/host/CMakeLists.txt": "plimsoll_library(agent_host HDRS host.h DEPS plimsoll::controller_plan)\n",
                 "agent/host/host.h": '#include "controller/plan/plan.h"\n'}
        self.assertEqual(self.faults(agent), ["agent/host/host.h includes controller/plan/plan.h: agent does not know controller"])
        common = {"common/text.h": '#include "controller/plan/plan.h"\n'}
        self.assertIn("common/text.h includes controller/plan/plan.h: common does not know controller", self.faults(common))

    def test_circles_are_named_of_libraries_and_of_files(self):
        libraries = {"controller/plan/CMakeLists.txt": "plimsoll_library(controller_plan HDRS plan.h DEPS plimsoll::controller_run plimsoll::common)\n"}
        self.assertIn("DEPS make a circle: controller/plan -> controller/run -> controller/plan", self.faults(libraries))
        files = {"common/text.h": '#include "common/units.h"\n', "common/units.h": '#include "common/text.h"\n'}
        self.assertEqual(self.faults(files), ["includes make a circle: common/text.h -> common/units.h -> common/text.h"])

    def test_a_folder_has_one_library_with_its_name(self):
        two = {"common/CMakeLists.txt": SOUND["common/CMakeLists.txt"] + "plimsoll_library(tls HDRS tls.h)\n"}
        self.assertEqual(self.faults(two), ["common holds 2 libraries: give each a folder of its own"])
        name = {"common/CMakeLists.txt": "plimsoll_library(shared HDRS text.h)\n"}
        self.assertIn("common holds the library shared: a library has the name of its folder, common", self.faults(name))

    def test_analysis_does_not_reach_the_service(self):
        remote = {"controller/fleet/CMakeLists.txt": "plimsoll_library(controller_fleet HDRS a.h DEPS plimsoll::service)\n",
                  "controller/analysis/CMakeLists.txt": "plimsoll_library(controller_analysis HDRS b.h DEPS plimsoll::controller_fleet)\n"}
        self.assertEqual(self.faults(remote), ["controller/analysis is made of pure functions, but its DEPS reach plimsoll::service"])

    def test_a_test_that_is_not_registered_and_a_long_file_are_named(self):
        self.assertEqual(self.faults({"tests/other_test.cc": ""}), ["tests/other_test.cc is in no CMakeLists.txt: it is never run"])
        self.assertEqual(self.faults({"common/text.h": "//\n" * 601}), ["common/text.h has 601 lines: does it hold one thing?"])


if __name__ == "__main__":
    unittest.main()
