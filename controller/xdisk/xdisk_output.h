// What xdisk prints (guide V8.6): an info block, a header line and lines of figures.
#pragma once

#include <string>

#include "controller/xdisk/xdisk_figures.h"
#include "controller/xdisk/xdisk_options.h"

namespace plimsoll {

// Whether -l takes the name: en_US and de_DE.
bool IsXdiskLocale(const std::string& name);

// Formats a number with three significant digits and at most three decimals: 0.141, 1.20, 10.6. From 100 on, all digits
// before the point are shown: 4388. `locale` is that of -l; "": digits are not grouped.
std::string FormatXdiskNumber(double value, const std::string& locale = "");

// The lines before the figures. `start`: the time of day, "2016.09.08-08:13:21".
std::string RenderXdiskInfo(const XdiskOptions& options, const std::string& start);

// The line with the names of the columns. The first sixteen are the guide's, to the byte.
std::string RenderXdiskHeader(const XdiskOptions& options);

// The line for all hosts and, if there are several, a line for each; with -V only the first one. With -x and without
// -V, the distribution of writes has a line of its own below that of reads.
std::string RenderXdiskResult(const XdiskOptions& options, const XdiskResult& result);

}  // namespace plimsoll
