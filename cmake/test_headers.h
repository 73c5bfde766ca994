// What most tests include, for builds with PLIMSOLL_PRECOMPILE.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/headers.h"
