#include "rlx/runtime/image.h"

#include "rlx/image/file.h"
#include "rlx/runtime/internals.h"

namespace rlx {

using namespace detail;
namespace {

template <class Named>
std::vector<Description> describe(const std::vector<Named>& list) {
  std::vector<Description> descriptions;
  for (const Named& each : list) descriptions.push_back({each.name, each.type});
  return descriptions;
}

}  // namespace

std::vector<Description> Image::inputs() const { return describe(data_->inputs); }
std::vector<Description> Image::outputs() const { return describe(data_->outputs); }
std::vector<Description> Image::weights() const { return describe(data_->weights); }
std::vector<Description> Image::states() const { return describe(data_->states); }
const DeviceTraits& Image::traits() const { return data_->traits; }
uint64_t Image::hash() const { return image::hash_of(*data_); }
bool Image::operator==(const Image& other) const { return *data_ == *other.data_; }

SymbolRanges Image::symbols() const {
  SymbolRanges ranges;
  for (const image::Symbol& symbol : data_->numbers.symbols)
    if (symbol.bounded) ranges.emplace(symbol.name, symbol.range);
  return ranges;
}

std::string to_text(const Image& image) { return image::to_text(image.data()); }

void write_image(const std::string& path, const Image& image, const image::WriteOptions& options) {
  image::write_image(path, image.data(), options);
}
Image read_image(const std::string& path, const image::ReadOptions& options) {
  return detail::image_of(image::read_image(path, options));
}

namespace detail {

Image image_of(image::Image image) {
  return Image(std::make_shared<const image::Image>(std::move(image)));
}
const image::Image& image_of(const Program& program) { return *program.state().image; }

MemoryPlan memory_plan(const Program& program, const SymbolValues& symbols) {
  return plan_memory(image_of(program), cells_of(image_of(program), symbols));
}

image::Cells cells_of(const image::Image& image, const SymbolValues& symbols) {
  image::Cells cells(image.numbers);
  for (const image::Symbol& symbol : image.numbers.symbols)
    if (const auto value = symbols.find(symbol.name); value != symbols.end())
      cells.set(symbol.number, value->second);
  return cells;
}

}  // namespace detail
}  // namespace rlx
