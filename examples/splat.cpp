// Draws scenes of Gaussians, and fits one to pictures.
//   splat SCENE OUT [FRAMES]   draws a scene (.ply, .spz, .splat) from a circle of cameras:
//                              OUT-0.png, OUT-1.png ..
//   splat --fit FOLDER OUT [STEPS [COUNT]]   finds COUNT Gaussians from noise, by gradients, that
//                              give the pictures of FOLDER (views.h says what is in it), prints how
//                              near they are as it goes, and draws the last: OUT-fitted.png
//   splat --scene FOLDER       makes such a folder of a scene of its own

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

#include "devices.h"
#include "picture.h"
#include "splat_files.h"
#include "views.h"

using namespace rlx;

namespace {

constexpr double kPi = 3.14159265358979;
const char* const kParameters[] = {"position", "log_scale", "rotation", "opacity", "colour"};

using Camera = std::array<double, 12>;

Camera camera_at(double angle, const std::array<double, 3>& target, double distance, double up) {
  return {target[0] + distance * std::sin(angle),
          target[1] + 0.25 * distance * up,
          target[2] + distance * std::cos(angle),
          target[0],
          target[1],
          target[2],
          0,
          up,
          0,
          0.8,
          0.01 * distance,
          10 * distance};
}
Tensor tensor_of(const Camera& camera) { return Tensor::of(DType::f32, {12}, camera); }

Picture picture_of(const Tensor& drawn) {
  Picture picture{static_cast<int>(drawn.shape()[1]), static_cast<int>(drawn.shape()[0]), {}};
  for (int64_t i = 0; i < drawn.count(); ++i)
    if (i % 5 < 3)
      picture.rgb.push_back(
          static_cast<unsigned char>(std::clamp(drawn.at(i), 0.0, 1.0) * 255 + 0.5));
  return picture;
}

TensorMap tensors_of(const SplatFile& file) {
  const auto tensor = [](const std::vector<float>& values, const Shape& shape) {
    Tensor made(DType::f32, shape);
    std::copy(values.begin(), values.end(), made.mutable_data<float>().begin());
    return made;
  };
  const int64_t n = file.count;
  return {{"position", tensor(file.position, {n, 3})},
          {"log_scale", tensor(file.log_scale, {n, 3})},
          {"rotation", tensor(file.rotation, {n, 4})},
          {"opacity", tensor(file.opacity, {n})},
          {"colour", tensor(file.colour, {n, file.harmonics, 3})}};
}

SplatScene scene_of(const std::vector<Value>& parameters) {
  return {parameters[0], parameters[1], parameters[2], parameters[3], parameters[4]};
}

Value white(Graph& graph) { return graph.constant(Tensor::of(DType::f32, {3}, {1, 1, 1})); }

// Draws scenes that are given as inputs.
Program drawer(const TensorMap& scene, const SplatOptions& options, const Device& device) {
  Graph graph;
  std::vector<Value> parameters;
  for (const char* name : kParameters) parameters.push_back(graph.weight(name, scene.at(name)));
  const Value camera = graph.input("camera", f32({12}));
  graph.output("picture", gaussian_splat(scene_of(parameters), camera, white(graph), options));
  return compile(graph, {.device = device});
}

void draw(const std::string& file, const std::string& out, int frames) {
  const SplatFile scene = load_splats(file);
  std::array<double, 3> low{}, high{}, middle{};
  for (size_t i = 0; i < 3; ++i) {  // of most of it: a few strays would be all one sees
    std::vector<float> along;
    for (size_t n = 0; n < size_t(scene.count); ++n)
      if (const float at = scene.position[3 * n + i]; std::isfinite(at)) along.push_back(at);
    if (along.empty()) splat_files::refuse(file, "it has no Gaussian that is anywhere");
    std::sort(along.begin(), along.end());
    low[i] = along[along.size() / 50], high[i] = along[along.size() - 1 - along.size() / 50];
    middle[i] = (low[i] + high[i]) / 2;
  }
  double size = 0;
  for (size_t i = 0; i < 3; ++i) size = std::max(size, high[i] - low[i]);
  const Program program = drawer(tensors_of(scene), {.width = 400, .height = 300}, best_device());
  std::cout << scene.count << " Gaussians on " << program.device().name() << '\n';
  for (int i = 0; i < frames; ++i) {
    // Scenes from photographs have y pointing down.
    const Tensor camera = tensor_of(camera_at(2 * kPi * i / frames, middle, 1.6 * size, -1));
    const std::string name = out + "-" + std::to_string(i) + ".png";
    save_picture(name.c_str(), picture_of(program.run({{"camera", camera}})["picture"]));
    std::cout << name << std::endl;
  }
}

// ---- Fitting ----

class Noise {
 public:
  explicit Noise(unsigned seed) : random_(seed) {}
  Tensor operator()(const Shape& shape, double low, double high) {
    Tensor tensor(DType::f32, shape);
    for (float& value : tensor.mutable_data<float>())
      value =
          static_cast<float>(low + (high - low) * static_cast<double>(random_() >> 8) / 16777216);
    return tensor;
  }

 private:
  std::mt19937 random_;
};

void make_scene(const std::string& folder) {
  constexpr int64_t kCount = 40;
  constexpr int kViews = 8;
  Noise noise(1);
  const TensorMap scene = {{"position", noise({kCount, 3}, -1, 1)},
                           {"log_scale", noise({kCount, 3}, -2.2, -1)},
                           {"rotation", noise({kCount, 4}, -1, 1)},
                           {"opacity", noise({kCount}, 0.5, 3)},
                           {"colour", noise({kCount, 1, 3}, -1.7, 1.7)}};
  const Program program = drawer(scene, {.width = 96, .height = 96}, best_device());
  std::vector<View> views;
  for (int i = 0; i < kViews; ++i) {
    View view{std::to_string(i) + ".png",
              camera_at(2 * kPi * i / kViews, {0, 0, 0}, 4, i % 2 ? 1 : -1),
              {}};
    view.picture = picture_of(program.run({{"camera", tensor_of(view.camera)}})["picture"]);
    views.push_back(std::move(view));
  }
  save_views(folder, views);
}

// Faint grey balls where the cameras look, so large that they can tell where they are.
TensorMap start_of(const std::vector<View>& views, int64_t count) {
  std::array<double, 3> middle{};
  double distance = 0;
  for (const View& view : views) {
    double squares = 0;
    for (size_t i = 0; i < 3; ++i) {
      middle[i] += view.camera[3 + i] / static_cast<double>(views.size());
      squares += std::pow(view.camera[i] - view.camera[3 + i], 2);
    }
    distance += std::sqrt(squares) / static_cast<double>(views.size());
  }
  Noise noise(2);
  const double size = distance / 4, larger = std::log(size);
  Tensor position = noise({count, 3}, -size, size);
  for (int64_t i = 0; i < position.count(); ++i)
    position.set(i, position.at(i) + middle[static_cast<size_t>(i % 3)]);
  return {{"position", position},
          {"log_scale", noise({count, 3}, larger - 1.8, larger - 1.4)},
          {"rotation", noise({count, 4}, -1, 1)},
          {"opacity", noise({count}, -1, 0)},
          {"colour", noise({count, 1, 3}, -0.2, 0.2)}};
}

Tensor tensor_of(const Picture& picture) {
  Tensor tensor(DType::f32, {picture.height, picture.width, 3});
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, picture.rgb[size_t(i)] / 255.0);
  return tensor;
}

double decibels(double squares) { return -10 * std::log10(squares); }

void fit(const std::string& folder, const std::string& out, int steps, int64_t count) {
  const std::vector<View> views = load_views(folder);
  const auto view_count = static_cast<int>(views.size());
  const SplatOptions options{.width = views[0].picture.width, .height = views[0].picture.height};
  std::vector<Tensor> cameras, wanted;
  for (const View& view : views)
    cameras.push_back(tensor_of(view.camera)), wanted.push_back(tensor_of(view.picture));

  // Parameters and Adam's averages are states: a step changes them where they are.
  Graph graph;
  const TensorMap start = start_of(views, count);
  std::vector<Value> parameters;
  for (const char* name : kParameters) parameters.push_back(graph.state(name, start.at(name)));
  const Value camera = graph.input("camera", f32({12}));
  const Value picture = gaussian_splat(scene_of(parameters), camera, white(graph), options);
  const Value colours = slice(picture, {0}, {3}, {2});
  const Value target = graph.input("wanted", colours.type());
  const Value loss = mean((colours - target) * (colours - target));
  graph.output("loss", loss), graph.output("picture", picture);
  const Value rate = graph.input("rate", f32({})), step = graph.input("step", f32({}));
  const double speeds[] = {0.3, 0.5, 0.5, 2.0, 1.5};  // of each parameter
  const Values slopes = gradient(loss, parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto number = [&](double value) { return scalar(slopes[i], value); };
    const TensorType type = parameters[i].type();
    const Value first = graph.state(std::string("first of ") + kParameters[i], type),
                second = graph.state(std::string("second of ") + kParameters[i], type);
    const Value m = first * number(0.9) + slopes[i] * number(0.1),
                v = second * number(0.99) + slopes[i] * slopes[i] * number(0.01);
    const Value along = (m / (number(1) - pow(number(0.9), step))) /
                        (sqrt(v / (number(1) - pow(number(0.99), step))) + number(1e-10));
    graph.update(first, m), graph.update(second, v);
    graph.update(parameters[i], parameters[i] - along * rate * number(speeds[i]));
  }
  const Program program = compile(graph, {.device = best_device()});

  double squares = 0;
  for (int i = 0; i < steps; ++i) {
    const auto view = size_t(i % view_count);
    const double slowing = std::pow(0.05, static_cast<double>(i) / steps);
    const TensorMap results = program.run({{"camera", cameras[view]},
                                           {"wanted", wanted[view]},
                                           {"rate", Tensor::scalar(DType::f32, 0.03 * slowing)},
                                           {"step", Tensor::scalar(DType::f32, i + 1)}});
    squares += results.at("loss").at(0) / view_count;
    if (view + 1 != views.size()) continue;
    const bool is_last = i + view_count >= steps;
    if ((i / view_count) % std::max(1, steps / view_count / 10) == 0 || is_last)
      std::cout << "step " << i + 1 << ": PSNR " << decibels(squares) << " dB" << std::endl;
    squares = 0;
    if (is_last) save_picture((out + "-fitted.png").c_str(), picture_of(results.at("picture")));
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::string first = count > 1 ? arguments[1] : "";
    const bool fits = first == "--fit", makes = first == "--scene";
    if (count < (fits ? 4 : 3)) {
      std::cerr << "usage: splat SCENE OUT [FRAMES]\n"
                   "       splat --fit FOLDER OUT [STEPS [COUNT]]\n"
                   "       splat --scene FOLDER\n";
      return 2;
    }
    const auto number = [&](int i, int otherwise) {
      const int given = count > i ? std::atoi(arguments[i]) : 0;
      return given > 0 ? given : otherwise;
    };
    if (fits)
      fit(arguments[2], arguments[3], number(4, 400), number(5, 120));
    else if (makes)
      make_scene(arguments[2]);
    else
      draw(first, arguments[2], number(3, 4));
  } catch (const std::exception& error) {
    std::cerr << "splat: " << error.what() << '\n';
    return 1;
  }
}
