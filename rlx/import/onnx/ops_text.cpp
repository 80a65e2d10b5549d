// ONNX operators on text, and on text that has become numbers.

#include "rlx/ops/ops_text.h"

#include <algorithm>

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_core.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

// The n-grams of one length: [count, length] tokens, and which results they are.
struct Grams {
  int64_t length, count;
  std::vector<int64_t> tokens;
  size_t first;  // of its indexes among those of all lengths
};

std::vector<Grams> grams_of(Site site) {
  if (site.attribute("pool_strings")) site.fail_node("of strings is not there, only of numbers");
  const Ints pool = site.ints("pool_int64s"), starts = site.ints("ngram_counts");
  std::vector<Grams> all;
  size_t first = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t length = static_cast<int64_t>(i) + 1, size = static_cast<int64_t>(pool.size());
    const int64_t from = starts[i], to = i + 1 < starts.size() ? starts[i + 1] : size;
    if (from < 0 || to < from || to > size || (to - from) % length != 0)
      site.fail_node("ngram_counts do not part the pool of ", size, " tokens");
    Grams grams{length, (to - from) / length, {}, first};
    grams.tokens.assign(pool.begin() + from, pool.begin() + to);
    first += static_cast<size_t>(grams.count);
    all.push_back(std::move(grams));
  }
  return all;
}

// How often each n-gram is in x [N, C], its tokens `distance` apart: [N, count].
Value occurrences(Site site, Value x, const Grams& grams, int64_t distance) {
  const int64_t windows = x.shape()[1].number() - (grams.length - 1) * distance;
  Value found;
  for (int64_t j = 0; j < grams.length; ++j) {
    site.spend_elements(grams.count);
    Tensor tokens(x.dtype(), {grams.count});
    for (int64_t g = 0; g < grams.count; ++g)
      tokens.set_integer(g, grams.tokens[static_cast<size_t>(g * grams.length + j)]);
    const Value here = slice(x, {j * distance}, {j * distance + windows}, {1});
    const Value same = equal(unsqueeze(here, {2}), site.constant(tokens));
    found = j == 0 ? same : logical_and(found, same);
  }
  return sum(cast(found, DType::f32), {1});
}

// Counts become results by a product with a matrix, which has the weights.
Items tf_idf(Site site) {
  const bool vector = site.in(0).shape().size() == 1;
  const Value x = vector ? unsqueeze(site.in(0), {0}) : site.in(0);
  if (!x.shape().at(1).is_number()) site.fail_node("the number of tokens must be known");
  const std::string mode = site.string("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") site.fail_node("mode is '", mode, "'");
  const Ints indexes = site.ints("ngram_indexes");
  const Floats weights = site.floats("weights");
  const int64_t results =
      indexes.empty() ? 0 : *std::max_element(indexes.begin(), indexes.end()) + 1;
  constexpr int64_t kMost = 1 << 24;  // a matrix of n-grams by results is made
  if (results > kMost / std::max<int64_t>(1, static_cast<int64_t>(indexes.size())))
    site.fail_node("has ", indexes.size(), " n-grams and ", results, " results, which is too much");
  Value y = expand(site.scalar(DType::f32, 0), {x.shape()[0], Dim(results)});
  for (const Grams& grams : grams_of(site)) {
    if (grams.length < site.integer("min_gram_length") ||
        grams.length > site.integer("max_gram_length") || grams.count == 0)
      continue;
    site.spend_elements(grams.count * results);
    Tensor matrix(DType::f32, {grams.count, results});
    for (int64_t g = 0; g < grams.count; ++g) {
      const size_t at = grams.first + static_cast<size_t>(g);
      if (at >= indexes.size() || indexes[at] < 0) site.fail_node("n-gram ", at, " has no index");
      matrix.set(g * results + indexes[at], mode == "TF" || weights.empty() ? 1 : weights.at(at));
    }
    // Single tokens have no distance.
    const int64_t skips = grams.length == 1 ? 0 : site.integer("max_skip_count");
    Value counts;
    for (int64_t distance = 1; distance <= skips + 1; ++distance) {
      if ((grams.length - 1) * distance >= x.shape()[1].number()) break;
      const Value more = occurrences(site, x, grams, distance);
      counts = counts ? counts + more : more;
    }
    if (!counts) continue;
    if (mode == "IDF") counts = minimum(counts, site.scalar(DType::f32, 1));
    y = y + matmul(counts, site.constant(matrix));
  }
  return {vector ? squeeze(y, {0}) : y};
}

Items string_normalizer(Site site) {
  const std::string action = site.string("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    site.fail_node("case_change_action is '", action, "'");
  const char* letter_case = action == "LOWER" ? "lower" : action == "UPPER" ? "upper" : "none";
  const Value kept =
      normalise_text(site.text_in(0), {.letter_case = letter_case,
                                       .stopwords = site.strings("stopwords"),
                                       .case_sensitive = site.flag("is_case_sensitive")});
  return {tensor_item(kept, true)};
}

}  // namespace

std::span<const Operator> text_operators() {
  static constexpr Operator kOperators[] = {{"StringNormalizer", string_normalizer},
                                            {"TfIdfVectorizer", tf_idf}};
  return kOperators;
}

}  // namespace rlx::onnx
