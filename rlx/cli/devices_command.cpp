// rlx devices: what there is to run on, what is missing and why, and what `auto` takes.

#include "rlx/cli/commands.h"
#include "rlx/cli/table.h"
#include "rlx/cli/tensor_print.h"

namespace rlx::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* class_name(DeviceClass device_class) {
  switch (device_class) {
    case DeviceClass::host:
      return "host";
    case DeviceClass::software:
      return "software";
    case DeviceClass::integrated:
      return "integrated";
    case DeviceClass::discrete:
      return "discrete";
  }
  return "";
}

std::string features_text(const DeviceTraits& traits) {
  std::vector<std::string> features;
  if (traits.f16) features.emplace_back("f16");
  if (traits.subgroups)
    features.push_back(text("subgroups of ", traits.subgroup_min, "..", traits.subgroup_max));
  if (traits.timestamps) features.emplace_back("timestamps");
  return features.empty() ? "none" : joined(features);
}

void print_device(const FoundDevice& found, Context& context) {
  const DeviceTraits& traits = found.device.traits();
  context.out << context.bold(traits.name) << '\n';
  Table table{
      {}, "", {{"description", found.description}, {"class", class_name(traits.device_class)}}};
  if (!traits.on_host()) {
    table.rows.push_back({"driver", found.driver});
    table.rows.push_back({"api", found.api});
    table.rows.push_back({"library", found.library});
    table.rows.push_back({"features", features_text(traits)});
    table.rows.push_back({"limits", text("binding ", bytes_text(traits.max_binding_bytes),
                                         ", buffer ", bytes_text(traits.max_buffer_bytes), ", ",
                                         traits.max_storage_buffers, " storage buffers")});
    table.rows.push_back({"workgroup", text(traits.max_workgroup_invocations, " invocations, ",
                                            bytes_text(traits.max_workgroup_bytes), ", ",
                                            traits.max_workgroups, " workgroups per dimension")});
  }
  table.print(context.out);
}

Json device_json(const FoundDevice& found) {
  const DeviceTraits& traits = found.device.traits();
  Json json = {{"name", traits.name},
               {"description", found.description},
               {"class", class_name(traits.device_class)},
               {"driver", found.driver},
               {"api", found.api},
               {"library", found.library},
               {"features",
                {{"f16", traits.f16},
                 {"subgroups", traits.subgroups},
                 {"subgroup_min", traits.subgroup_min},
                 {"subgroup_max", traits.subgroup_max},
                 {"timestamps", traits.timestamps}}}};
  if (traits.on_host()) return json;  // it has no limits of its own
  json["limits"] = {{"max_binding_bytes", traits.max_binding_bytes},
                    {"max_buffer_bytes", traits.max_buffer_bytes},
                    {"max_storage_buffers", traits.max_storage_buffers},
                    {"max_workgroup_invocations", traits.max_workgroup_invocations},
                    {"max_workgroup_bytes", traits.max_workgroup_bytes},
                    {"max_workgroups", traits.max_workgroups},
                    {"storage_alignment", traits.storage_alignment},
                    {"uniform_alignment", traits.uniform_alignment}};
  return json;
}

void print_json(const FoundDevices& found, Context& context) {
  Json devices = Json::array(), missing = Json::array();
  for (const FoundDevice& device : found.devices) devices.push_back(device_json(device));
  for (const MissingDevice& other : found.missing)
    missing.push_back({{"what", other.what}, {"why", other.why}});
  context.out << json_text({{"devices", std::move(devices)},
                            {"missing", std::move(missing)},
                            {"auto", found.devices[found.automatic].device.name()},
                            {"auto_why", found.automatic_why}});
}

void devices_command(bool json, Context& context) {
  context.show_progress("looking for devices");
  const FoundDevices& found = context.devices();
  context.show_progress("");
  if (json) return print_json(found, context);
  for (const FoundDevice& device : found.devices) print_device(device, context);
  for (const MissingDevice& other : found.missing)
    context.out << context.bold("missing: ") << other.what << "\n  " << other.why << '\n';
  context.out << "auto takes " << context.bold(found.devices[found.automatic].device.name()) << ": "
              << found.automatic_why << '\n';
}

}  // namespace

void add_devices_command(CLI::App& app, Context& context) {
  const auto json = std::make_shared<bool>(false);
  CLI::App& command =
      *app.add_subcommand("devices", "Show the devices, and why others are missing");
  command.add_flag("--json", *json, "As JSON");
  command.footer(
      "Examples:\n"
      "  rlx devices\n"
      "  rlx devices --json\n"
      "  rlx devices --webgpu-library ./libwebgpu_dawn.so --vulkan-driver ./driver.json\n");
  command.callback([json, &context] { devices_command(*json, context); });
}

}  // namespace rlx::cli
