// Student's t distribution. Pure functions of numbers.
#pragma once

namespace plimsoll {

// Chance that |t| with `degrees` > 0 degrees of freedom, not necessarily whole, is at least `t` >= 0: the regularised
// incomplete beta function I_x(degrees / 2, 1 / 2) at x = degrees / (degrees + t^2), by Lentz's continued fraction
// (NIST Digital Library of Mathematical Functions, 8.17.22).
double TwoSidedT(double t, double degrees);

// The t beyond which |t| lies with chance `share`, in (0, 1).
double CriticalT(double share, double degrees);

}  // namespace plimsoll
