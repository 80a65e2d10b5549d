// Draws scenes of Gaussians, and fits one to pictures.
//   splat SCENE OUT [FRAMES]   draws a scene (.ply, .spz, .splat) from a circle of cameras:
//                              OUT-0.png, OUT-1.png ..
//   splat --fit OUT [STEPS]    draws a scene of its own from a few cameras, finds it from noise
//                              by gradients, and prints how near its pictures are as it goes

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

#include "devices.h"
#include "picture.h"
#include "splat_files.h"

using namespace rlx;

namespace {

constexpr double kPi = 3.14159265358979;
const char* const kParameters[] = {"position", "log_scale", "rotation", "opacity", "colour"};

Tensor camera_at(double angle, const std::array<double, 3>& target, double distance, double up) {
  return Tensor::of(DType::f32, {12},
                    {target[0] + distance * std::sin(angle), target[1] + 0.25 * distance * up,
                     target[2] + distance * std::cos(angle), target[0], target[1], target[2], 0, up,
                     0, 0.8, 0.01 * distance, 10 * distance});
}

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
    const Tensor camera = camera_at(2 * kPi * i / frames, middle, 1.6 * size, -1);
    const std::string name = out + "-" + std::to_string(i) + ".png";
    save_picture(name.c_str(), picture_of(program.run({{"camera", camera}})["picture"]));
    std::cout << name << std::endl;
  }
}

// ---- Fitting ----

TensorMap random_scene(int64_t count, unsigned seed, bool is_start) {
  std::mt19937 random(seed);
  const auto fill = [&](const Shape& shape, float low, float high) {
    Tensor tensor(DType::f32, shape);
    for (float& value : tensor.mutable_data<float>())
      value = low + (high - low) * static_cast<float>(random() >> 8) / 16777216.0f;
    return tensor;
  };
  return {
      {"position", fill({count, 3}, -1, 1)},
      {"log_scale", is_start ? fill({count, 3}, -1.8f, -1.4f) : fill({count, 3}, -2.2f, -1)},
      {"rotation", fill({count, 4}, -1, 1)},
      {"opacity", is_start ? fill({count}, -1, 0) : fill({count}, 0.5f, 3)},
      {"colour", is_start ? fill({count, 1, 3}, -0.2f, 0.2f) : fill({count, 1, 3}, -1.7f, 1.7f)}};
}

double decibels(double squares) { return -10 * std::log10(squares); }

void fit(const std::string& out, int steps) {
  const SplatOptions options{.width = 96, .height = 96};
  const Device device = best_device();
  constexpr int kViews = 8;
  std::vector<Tensor> cameras, wanted;
  const Program truth = drawer(random_scene(40, 1, false), options, device);
  for (int i = 0; i < kViews; ++i) {
    cameras.push_back(camera_at(2 * kPi * i / kViews, {0, 0, 0}, 4, i % 2 ? 1 : -1));
    wanted.push_back(truth.run({{"camera", cameras.back()}})["picture"]);
  }

  // Parameters and Adam's averages are states: a step changes them where they are.
  Graph graph;
  const TensorMap start = random_scene(120, 2, true);
  std::vector<Value> parameters;
  for (const char* name : kParameters) parameters.push_back(graph.state(name, start.at(name)));
  const Value camera = graph.input("camera", f32({12}));
  const Value picture = gaussian_splat(scene_of(parameters), camera, white(graph), options);
  const Value colours = slice(picture, {0}, {3}, {2});
  const Value target = slice(graph.input("wanted", picture.type()), {0}, {3}, {2});
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
  const Program program = compile(graph, {.device = device});

  double squares = 0;
  for (int i = 0; i < steps; ++i) {
    const auto view = size_t(i % kViews);
    const double slowing = std::pow(0.05, static_cast<double>(i) / steps);
    const TensorMap results = program.run({{"camera", cameras[view]},
                                           {"wanted", wanted[view]},
                                           {"rate", Tensor::scalar(DType::f32, 0.03 * slowing)},
                                           {"step", Tensor::scalar(DType::f32, i + 1)}});
    squares += results.at("loss").at(0) / kViews;
    if (view + 1 != kViews) continue;
    if ((i / kViews) % std::max(1, steps / kViews / 10) == 0 || i + kViews >= steps)
      std::cout << "step " << i + 1 << ": PSNR " << decibels(squares) << " dB" << std::endl;
    squares = 0;
    if (i + kViews >= steps) {
      save_picture((out + "-fitted.png").c_str(), picture_of(results.at("picture")));
      save_picture((out + "-wanted.png").c_str(), picture_of(wanted[view]));
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::string first = count > 1 ? arguments[1] : "";
    if (count < 3) {
      std::cerr << "usage: splat SCENE OUT [FRAMES]\n       splat --fit OUT [STEPS]\n";
      return 2;
    }
    const int number = count > 3 ? std::atoi(arguments[3]) : 0;
    if (first == "--fit")
      fit(arguments[2], number > 0 ? number : 400);
    else
      draw(first, arguments[2], number > 0 ? number : 4);
  } catch (const std::exception& error) {
    std::cerr << "splat: " << error.what() << '\n';
    return 1;
  }
}
