// The block devices below a file system, from the one that is mounted down to the disks, as /sys tells them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Layers from the top down: a partition, a volume or a multipath device, then what it is made of, each device once.
// Empty where `number` is no block device's. `sys` is "/sys", but for tests.
std::vector<v1::BlockLayer> DescribeBlockStack(dev_t number, const std::string& sys = "/sys");

// The device that a file system which numbers its volumes itself (btrfs) names as what is mounted, such as "/dev/sda1";
// `device` where that is none.
dev_t DeviceOfSource(dev_t device, const std::string& source);

// What this host itself exports over NFS that holds `path`: "CLIENT(OPTIONS)", from nfsd's table of exports. Empty
// where it exports nothing there, or the table cannot be read. `etab` is "/var/lib/nfs/etab", but for tests.
std::vector<std::string> ExportsOf(const std::string& path, const std::string& etab = "/var/lib/nfs/etab");

}  // namespace plimsoll
