#include "rlx/base/report.h"

namespace rlx {

Counters difference(const Counters& after, const Counters& before) {
  return {after.runs - before.runs,
          after.plans - before.plans,
          after.pipelines - before.pipelines,
          after.buffers - before.buffers,
          after.bind_groups - before.bind_groups,
          after.submits - before.submits,
          after.uploads - before.uploads,
          after.upload_bytes - before.upload_bytes,
          after.readbacks - before.readbacks,
          after.readback_bytes - before.readback_bytes,
          after.dispatches - before.dispatches,
          after.host_steps - before.host_steps};
}

}  // namespace rlx
