// Tests that run on the CPU and on every adapter found.
#pragma once

#include <gtest/gtest.h>

#include "rlx/conformance/test_devices.h"

namespace rlx {

class DeviceTest : public testing::TestWithParam<size_t> {
 protected:
  const Device& device() const { return test_devices()[GetParam()]; }
};

inline auto every_device() { return testing::Range(size_t{0}, test_devices().size()); }
inline std::string device_name(const testing::TestParamInfo<size_t>& test) {
  return test_devices()[test.param].name();
}

}  // namespace rlx
