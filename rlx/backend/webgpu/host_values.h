// What the host holds of a program's values.
#pragma once

#include <optional>
#include <vector>

#include "rlx/image/image.h"

namespace rlx::detail::webgpu {

struct HostValues {
  explicit HostValues(const image::Image& image)
      : made(image.values.size()), sources(image.values.size()) {
    for (size_t v = 0; v < image.values.size(); ++v)
      if (const int32_t source = image.values[v].source; source >= 0)
        sources[v] = image.sources[size_t(source)];
  }
  const Tensor& source(image::ValueId value) const { return *sources[size_t(value)]; }

  std::vector<Tensor> made;  // by place: what steps wrote there
  // Of weights and constants, by value; none: it is given later. They change between runs only.
  std::vector<std::optional<Tensor>> sources;
};

}  // namespace rlx::detail::webgpu
