#include "rlx/vector/cores.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace rlx::vector {
namespace {

#ifdef __linux__
// By the first hardware thread of each core, of those that this process may run on; 0: not known.
int cores_of_linux() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings)) return 0;
    cores.insert(siblings);
  }
  return static_cast<int>(cores.size());
}
#else
int cores_of_linux() { return 0; }
#endif

}  // namespace

int core_count() {
  static const int count = [] {  // each is a file to read
    const int known = cores_of_linux();
    return known > 0 ? known : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }();
  return count;
}

}  // namespace rlx::vector
