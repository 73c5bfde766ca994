// Texts as MQ and its tools write them.
#pragma once

#include <string>

#include "controller/mq/mq_files.h"

namespace plimsoll::tests {

// Reads the whole of a file at once.
inline absl::StatusOr<LogRecording> ReadAmqsrua(const std::string& text, const std::string& file_name) {
  AmqsruaReader reader(file_name);
  reader.Feed(text);
  return reader.Finish();
}

// The form in which MQ itself writes the file: indented by three spaces, with a head of comments.
inline constexpr char kQmIni[] =
    "#*******************************************************************#\n"
    "#* Module Name: qm.ini                                             *#\n"
    "#* Type       : IBM MQ queue manager configuration file            *#\n"
    "#*******************************************************************#\n"
    "ExitPath:\n"
    "   ExitsDefaultPath=/var/mqm/exits\n"
    "   ExitsDefaultPath64=/var/mqm/exits64\n"
    "#*                                                                 *#\n"
    "Log:\n"
    "   LogPrimaryFiles=16\n"
    "   LogSecondaryFiles=2\n"
    "   LogFilePages=16384\n"
    "   LogType=CIRCULAR\n"
    "   LogBufferPages=0\n"
    "   LogPath=/var/mqm/log/saturn!queue!manager/\n"
    "   LogWriteIntegrity=TripleWrite\n"
    "Service:\n"
    "   Name=AuthorizationService\n"
    "   EntryPoints=14\n"
    "ServiceComponent:\n"
    "   Service=AuthorizationService\n"
    "   Name=MQSeries.UNIX.auth.service\n"
    "   Module=amqzfu\n"
    "   ComponentDataSize=0\n"
    "CHANNELS:\n"
    "   MaxChannels=200\n";

// A publication as MQ 9.0.4 has it.
inline constexpr char kPublication[] =
    "Publication received PutDate:20171004 PutTime:13560170 Interval:10.001 seconds\n"
    "Log - physical bytes written 3660836864 366039835/sec\n"
    "Log - logical bytes written 3655298220 365486037/sec\n"
    "Log - write latency 306 uSec\n"
    "Log - write size 304454\n"
    "\n";

// One with every element, in the order of messages, after more than a day.
inline constexpr char kWholePublication[] =
    "Publication received PutDate:20240229 PutTime:23595999 Interval:1 days,2 hours,3 minutes,4.500 seconds\n"
    "Log - physical bytes written 93784500 1000/sec\n"
    "Log - logical bytes written 90000000 960/sec\n"
    "Log - bytes in use 50331648\n"
    "Log - bytes max 83886080\n"
    "Log file system - bytes in use 16434135040\n"
    "Log file system - bytes max 19549782016\n"
    "Log - write latency 994 uSec\n"
    "Log - write size 4099\n"
    "Log - current primary space in use 150.82% \n"
    "Log - workload primary space utilization 49.58%\n"
    "Log - bytes required for media recovery 12MB\n"
    "Log - bytes occupied by reusable extents 0MB\n"
    "Log - bytes occupied by extents waiting to be archived 3MB\n"
    "Log file system - free space 81.05%\n"
    "Log - disk written log sequence number <0:0:15:41328> 0x00000000000fa170\n"
    "Log - quorum log sequence number 1024368\n"
    "Log - slowest write since restart 71902 uSec\n"
    "Log - timestamp of slowest write 1709251199000000\n"
    "\n";

// The text, of ASCII characters, in UTF-16 with a byte order mark.
inline std::string Utf16(const std::string& text, bool big_endian) {
  std::string bytes = big_endian ? "\xfe\xff" : "\xff\xfe";
  for (const char c : text) bytes += big_endian ? std::string({'\0', c}) : std::string({c, '\0'});
  return bytes;
}

}  // namespace plimsoll::tests
