// Tests of a family's rows on a device: one test takes a whole family, because opening a device
// costs more than running a row.
#pragma once

#include <gtest/gtest.h>

#include <cctype>

#include "rlx/conformance/op_cases.h"
#include "rlx/conformance/test_devices.h"

namespace rlx {

struct FamilyOnDevice {
  std::string device;
  CaseFamily family;
};

inline std::vector<FamilyOnDevice> families_on(const std::vector<std::string>& devices) {
  std::vector<FamilyOnDevice> all;
  for (const std::string& device : devices)
    for (const CaseFamily& family : case_families()) all.push_back({device, family});
  return all;
}
inline std::string family_name(const testing::TestParamInfo<FamilyOnDevice>& info) {
  std::string device = info.param.device;
  device[0] = static_cast<char>(std::toupper(device[0]));
  return device + "_" + info.param.family.name;
}

// Skipped where the device is not there.
class FamilyTest : public testing::TestWithParam<FamilyOnDevice> {
 protected:
  void SetUp() override {
    device_ = test_device(GetParam().device);
    if (!device_) GTEST_SKIP() << "there is no " << GetParam().device;
  }
  const Device& device() const { return *device_; }
  std::vector<OpCase> rows() const { return GetParam().family.rows(); }

 private:
  std::optional<Device> device_;
};

}  // namespace rlx
