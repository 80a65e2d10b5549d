// A call of an image with the implementations that accepted it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rlx/image/call.h"

namespace rlx::detail {

class PreparedCall {
 public:
  PreparedCall() = default;
  // An Error where the table has nothing for it, which names the op and the node.
  PreparedCall(const image::Call& call, int32_t node, const image::Image& image,
               const image::Implementations& implementations);

  const image::Call& call() const { return *call_; }
  image::CallSite& site() { return site_; }

  // Makes the site of this binding: `value` gives what a value holds, `target` where a result is
  // to be written (f32[0] of its dtype where only the call can tell its extents).
  using Find = std::function<Tensor(image::ValueId)>;
  void place(const image::Cells& cells, const Find& value, const Find& target);
  // What a run under this binding will make it hold, and nothing where extents are not known or do
  // not fit: then only a run can tell. `packs` makes what it holds of weights. To be placed again
  // before it runs; no elements but those of weights are looked at.
  void hold(const image::Cells& cells, const Find& value, const Find& target,
            image::Holdings& holdings, bool packs);
  void hold(image::Holdings& holdings, bool packs = false);  // as it is placed
  // Runs the first implementation that does not refuse. Errors name the node.
  void run();
  // Lets go of the operands and results: to be placed again before it runs.
  void forget();
  // The extents that the results tell; an Error where a result is not as large as its value.
  // True where cells were told.
  bool tell(image::Cells& cells) const;
  // The implementation that ran last.
  const std::string& implementation() const { return kernels_[ran_].name; }

 private:
  struct Kernel {
    std::string name;
    bool reads_views = false, finishes = false, stores = false;
    std::unique_ptr<image::CallKernel> kernel;
  };
  // What a kernel cannot do itself: its result is put aside, and the tile of the call, or a copy,
  // brings it where it belongs.
  struct Aside {
    image::Call own, rest;  // the op without the tile, and the tile behind it
    std::unique_ptr<image::CallKernel> rest_kernel;
    image::CallSite own_site, rest_site;
    std::vector<image::StridedCopy> copies;  // by result, as the call was placed
  };
  void make_aside(const image::Image& image, const image::Implementations& implementations);
  void run_check();
  void copy_views();
  void align_inputs();
  void put_views_back();
  bool is_known(const image::Cells& cells) const;
  bool run_kernel(Kernel& kernel);
  bool run_aside(Kernel& kernel);
  const image::Image* image_ = nullptr;
  const image::Call* call_ = nullptr;
  int32_t node_ = -1;
  std::vector<Kernel> kernels_;
  bool has_first_ = false;  // kernels_[0] is of the first implementation there is
  size_t ran_ = 0;
  image::CallSite site_;
  bool has_views_ = false;
  std::vector<image::Argument> views_;  // while copies stand for them
  std::unique_ptr<Aside> aside_;
  std::unique_ptr<image::CallKernel> check_;  // where the table has one
};

}  // namespace rlx::detail
