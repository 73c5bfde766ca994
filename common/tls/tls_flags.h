// The options --tls-ca, --tls-cert and --tls-key, the same for every program and command that speaks over the network.
#pragma once

#include <CLI/CLI.hpp>

#include "common/tls/identity.h"

namespace plimsoll {

// Adds the three options; they fill `paths`, which must outlive the parsing. CheckTlsPaths says whether they are good.
inline void AddTlsFlags(CLI::App& app, TlsPaths& paths) {
  struct Flag {
    const char* name;
    std::string* path;
    const char* help;
  };
  const Flag flags[] = {
      {"--tls-ca", &paths.ca, "Certificate of the CA that the other side's certificate must be of"},
      {"--tls-cert", &paths.cert, "This side's certificate"},
      {"--tls-key", &paths.key, "The key of that certificate"},
  };
  for (const Flag& flag : flags) app.add_option(flag.name, *flag.path, flag.help)->type_name("FILE")->group("TLS");
}

}  // namespace plimsoll
