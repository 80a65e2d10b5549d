// Pictures of a scene and the cameras that took them. A folder has the pictures and cameras.txt, a
// line for each: the name of the file, where the camera is, what it looks at, which way is up
// (three numbers each), the angle it sees from top to bottom in radians, and the nearest and the
// farthest that it sees.
#pragma once

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "picture.h"

struct View {
  std::string name;
  std::array<double, 12> camera{};
  Picture picture;
};

inline std::vector<View> load_views(const std::string& folder) {
  const std::string file = folder + "/cameras.txt";
  std::ifstream in(file);
  if (!in) throw rlx::Error(rlx::ErrorKind::io, "cannot read '" + file + "'");
  const auto refuse = [&](const std::string& why) {
    throw rlx::Error(rlx::ErrorKind::invalid_model, "'" + file + "': " + why);
  };
  std::vector<View> views;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    View view;
    if (!(words >> view.name) || view.name[0] == '#') continue;
    for (double& number : view.camera)
      if (!(words >> number)) refuse(view.name + " has no 12 numbers of a camera");
    if (view.name.find('/') != std::string::npos) refuse(view.name + " is in another folder");
    view.picture = load_picture((folder + "/" + view.name).c_str());
    if (!views.empty() && (view.picture.width != views.front().picture.width ||
                           view.picture.height != views.front().picture.height))
      refuse(view.name + " has another size than " + views.front().name);
    views.push_back(std::move(view));
  }
  if (views.empty()) refuse("it names no picture");
  return views;
}

inline void save_views(const std::string& folder, const std::vector<View>& views) {
  std::filesystem::create_directories(folder);
  std::ofstream out(folder + "/cameras.txt");
  out << "# picture, eye, target, up, angle, near, far\n";
  for (const View& view : views) {
    out << view.name;
    for (const double number : view.camera) out << ' ' << std::round(number * 1e6) / 1e6 + 0.0;
    out << '\n';
    save_picture((folder + "/" + view.name).c_str(), view.picture);
  }
  if (!out.flush())
    throw rlx::Error(rlx::ErrorKind::io, "cannot write '" + folder + "/cameras.txt'");
}
