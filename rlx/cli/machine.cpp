#include "rlx/cli/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>

#include "rlx/base/text.h"
#include "rlx/vector/cores.h"
#include "rlx/vector/isa.h"

namespace rlx::cli {
namespace {

// What follows the colon of the first line of a file that begins with `word`.
std::string field_of(const char* file, const std::string& word) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(word, 0) != 0) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

int64_t kilobytes_of(const char* file, const char* word) {
  return std::strtoll(field_of(file, word).c_str(), nullptr, 10) * 1024;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.processor = field_of("/proc/cpuinfo", "model name");
  machine.isa = vector::name_of(vector::best_isa());
  utsname name{};
  if (uname(&name) == 0) machine.system = text(name.sysname, ' ', name.release, ' ', name.machine);
  machine.cores = vector::core_count();
  machine.hardware_threads = static_cast<int>(std::thread::hardware_concurrency());
  machine.memory_bytes = kilobytes_of("/proc/meminfo", "MemTotal");
  if (getloadavg(&machine.load, 1) != 1) machine.load = -1;
  return machine;
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char buffer[32];
  std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return buffer;
}

nlohmann::ordered_json machine_json(const Machine& machine) {
  return {{"processor", machine.processor},
          {"instruction_set", machine.isa},
          {"cores", machine.cores},
          {"hardware_threads", machine.hardware_threads},
          {"memory_bytes", machine.memory_bytes},
          {"system", machine.system},
          {"load", machine.load}};
}

}  // namespace rlx::cli
