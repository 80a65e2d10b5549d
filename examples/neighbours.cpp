// Lays points out in a plane by who is near whom: the graph of 15 nearest neighbours, its edges
// weighted as UMAP weights them, and two eigenvectors of it; as an SVG.
//   neighbours OUT.svg POINTS.csv      a line: numbers of a point, and its label, from 0 to 9
//   neighbours OUT.svg FOLDER          MNIST as the package `mnist` has it: 0.json to 9.json
//   neighbours OUT.svg IMAGES LABELS   MNIST as it was published: IDX files, unpacked
// Of MNIST it takes 5,000 digits. Without points it makes 5,000 in 64 dims: ten bent clusters, some
// of which touch.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "devices.h"
#include "digits.h"

using namespace rlx;

namespace {

constexpr int64_t kNeighbours = 15;

Points load_table(const char* file) {
  std::ifstream in(file);
  if (!in) throw Error(ErrorKind::io, std::string("cannot read '") + file + "'");
  Points points;
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    std::vector<float> row;
    for (std::string cell; std::getline(cells, cell, ',');)
      row.push_back(std::strtof(cell.c_str(), nullptr));
    if (row.size() < 2) continue;
    points.labels.push_back(static_cast<int>(row.back()));
    points.dims = static_cast<int64_t>(row.size()) - 1;
    points.numbers.insert(points.numbers.end(), row.begin(), row.end() - 1);
  }
  if (points.dims * points.count() != static_cast<int64_t>(points.numbers.size()))
    throw Error(ErrorKind::io, std::string("lines of '") + file + "' differ in length");
  return points;
}

Points load(int argc, char** argv) {
  Points points = argc > 3                                 ? read_idx(argv[2], argv[3])
                  : std::filesystem::is_directory(argv[2]) ? read_digits(argv[2])
                                                           : load_table(argv[2]);
  if (points.count() <= kNeighbours)
    throw Error(ErrorKind::io, std::string("'") + argv[2] + "' has no more than 15 points");
  return points;
}

// A cluster is a bow along two directions of its own, with noise in all others.
Points make() {
  Points points{64, {}, {}};
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> centre(10), along(10), across(10);
  for (int c = 0; c < 10; ++c)
    for (int64_t d = 0; d < points.dims; ++d) {
      centre[size_t(c)].push_back(0.35f * normal(random));
      along[size_t(c)].push_back(0.5f * normal(random));
      across[size_t(c)].push_back(0.5f * normal(random));
    }
  for (int i = 0; i < 5000; ++i) {
    const auto c = static_cast<size_t>(i % 10);
    const float t = 1.3f * normal(random);
    points.labels.push_back(static_cast<int>(c));
    for (size_t d = 0; d < 64; ++d)
      points.numbers.push_back(centre[c][d] + t * along[c][d] + t * t * 0.4f * across[c][d] +
                               0.7f * normal(random));
  }
  return points;
}

using Graphs = std::vector<std::map<int64_t, double>>;

// UMAP's first step: exp(-(d - nearest) / width), the width such that the weights of a point add up
// to log2 of the neighbours; then an edge is there if either end says so.
Graphs weighted(const Tensor& squares, const Tensor& indices) {
  const int64_t n = indices.shape()[0];
  Graphs one(static_cast<size_t>(n)), both(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    std::vector<double> distance;
    for (int64_t j = 0; j < kNeighbours; ++j)
      distance.push_back(std::sqrt(std::max(0.0, squares.at(i * kNeighbours + j))));
    double low = 0, high = 1e6;
    for (int step = 0; step < 60; ++step) {
      const double width = (low + high) / 2;
      double sum = 0;
      for (const double d : distance) sum += std::exp(-(d - distance[0]) / width);
      (sum > std::log2(kNeighbours) ? high : low) = width;
    }
    for (int64_t j = 0; j < kNeighbours; ++j)
      one[size_t(i)][indices.integer_at(i * kNeighbours + j)] =
          std::exp(-(distance[size_t(j)] - distance[0]) / high);
  }
  for (int64_t i = 0; i < n; ++i)
    for (const auto& [j, there] : one[size_t(i)]) {
      const auto found = one[size_t(j)].find(i);
      const double back = found == one[size_t(j)].end() ? 0 : found->second;
      both[size_t(i)][j] = both[size_t(j)][i] = there + back - there * back;
    }
  return both;
}

// The eigenvectors behind the first of the graph with rows and columns divided by the roots of
// their sums, by repeated products.
std::vector<std::vector<double>> spectral(const Graphs& graph, size_t count) {
  const size_t n = graph.size();
  std::vector<double> root(n);
  for (size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (const auto& edge : graph[i]) sum += edge.second;
    root[i] = std::sqrt(std::max(sum, 1e-12));
  }
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> vectors(count + 1, std::vector<double>(n));
  vectors[0] = root;
  for (size_t v = 1; v <= count; ++v)
    for (double& x : vectors[v]) x = normal(random);
  for (int step = 0; step < 600; ++step)
    for (size_t v = 0; v <= count; ++v) {
      std::vector<double>& x = vectors[v];
      if (v > 0) {
        std::vector<double> y(n);
        for (size_t i = 0; i < n; ++i) {
          y[i] = x[i];  // all eigenvalues then are positive
          for (const auto& [j, weight] : graph[i])
            y[i] += weight / (root[i] * root[size_t(j)]) * x[size_t(j)];
        }
        x = y;
      }
      for (size_t before = 0; before < v; ++before) {
        double product = 0;
        for (size_t i = 0; i < n; ++i) product += x[i] * vectors[before][i];
        for (size_t i = 0; i < n; ++i) x[i] -= product * vectors[before][i];
      }
      double square = 0;
      for (const double value : x) square += value * value;
      for (double& value : x) value /= std::sqrt(square);
    }
  for (size_t v = 1; v <= count; ++v)
    for (size_t i = 0; i < n; ++i) vectors[v][i] /= root[i];
  return {vectors.begin() + 1, vectors.end()};
}

void write_svg(const char* file, const std::vector<std::vector<double>>& at, const Points& points) {
  constexpr const char* kColours[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd",
                                      "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"};
  std::ofstream out(file);
  out << "<svg xmlns='http://www.w3.org/2000/svg' width='800' height='800'>\n"
         "<rect width='100%' height='100%' fill='white'/>\n"
         "<style>text { font: bold 22px sans-serif; text-anchor: middle; dominant-baseline: central; "
         "stroke: white; stroke-width: 5px; paint-order: stroke }</style>\n";
  const size_t n = points.labels.size();
  // By rank along each: eigenvectors crowd most points together.
  std::vector<double> place[2];
  for (int axis = 0; axis < 2; ++axis) {
    std::vector<size_t> order(n);
    for (size_t i = 0; i < n; ++i) order[i] = i;
    const std::vector<double>& x = at[size_t(axis)];
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
    place[axis].resize(n);
    for (size_t rank = 0; rank < n; ++rank)
      place[axis][order[rank]] = 40 + 720 * static_cast<double>(rank) / static_cast<double>(n - 1);
  }
  char text[160];
  for (size_t i = 0; i < n; ++i) {
    std::snprintf(text, sizeof text,
                  "<circle cx='%.1f' cy='%.1f' r='2' fill='%s' fill-opacity='.6'/>\n", place[0][i],
                  place[1][i], kColours[static_cast<size_t>(points.labels[i]) % 10]);
    out << text;
  }
  for (int label = 0; label < 10; ++label) {  // amid its points
    std::vector<double> middle[2];
    for (size_t i = 0; i < n; ++i)
      for (int axis = 0; axis < 2; ++axis)
        if (points.labels[i] == label) middle[axis].push_back(place[axis][i]);
    if (middle[0].empty()) continue;
    for (std::vector<double>& along : middle)
      std::nth_element(along.begin(), along.begin() + static_cast<long>(along.size() / 2),
                       along.end());
    std::snprintf(text, sizeof text, "<text x='%.1f' y='%.1f'>%d</text>\n",
                  middle[0][middle[0].size() / 2], middle[1][middle[1].size() / 2], label);
    out << text;
  }
  out << "</svg>\n";
  if (!out) throw Error(ErrorKind::io, std::string("cannot write '") + file + "'");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: neighbours OUT.svg [POINTS.csv | FOLDER | IMAGES LABELS]\n");
    return 2;
  }
  try {
    const Points points = argc > 2 ? load(argc, argv) : make();
    Tensor x(DType::f32, {points.count(), points.dims});
    std::copy(points.numbers.begin(), points.numbers.end(), x.mutable_data<float>().data());
    Graph graph;
    const TopK near = knn(graph.input("x", f32({points.count(), points.dims})), kNeighbours);
    graph.output("squares", near.values);
    graph.output("indices", near.indices);
    const TensorMap found = compile(graph, {.device = best_device()}).run({{"x", x}});
    const Tensor& indices = found.at("indices");
    int64_t alike = 0;
    for (int64_t i = 0; i < indices.count(); ++i)
      alike +=
          points.labels[size_t(indices.integer_at(i))] == points.labels[size_t(i / kNeighbours)];
    write_svg(argv[1], spectral(weighted(found.at("squares"), indices), 2), points);
    std::printf("%lld points of %lld dims; of their neighbours %.1f %% have the same label\n",
                static_cast<long long>(points.count()), static_cast<long long>(points.dims),
                100.0 * static_cast<double>(alike) / static_cast<double>(indices.count()));
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
