// rlx ops: which op works on which device for which dtypes, found by running every row now.

#include "rlx/cli/commands.h"
#include "rlx/conformance/support.h"
#include "rlx/ops/catalog.h"

namespace rlx::cli {
namespace {

struct OpsOptions {
  bool json = false;
  std::vector<std::string> devices;
};

std::vector<Device> chosen_devices(const OpsOptions& options, Context& context) {
  std::vector<Device> devices;
  for (const std::string& name : options.devices) devices.push_back(context.devices().at(name));
  if (devices.empty())
    for (const FoundDevice& found : context.devices().devices) devices.push_back(found.device);
  return devices;
}

void list_ops(const OpsOptions& options, Context& context) {
  SupportOptions support;
  support.progress = [&](size_t done, size_t all) {
    context.show_progress(text("row ", done, " of ", all));
  };
  const SupportTable table =
      support_table(op_cases(), catalog(), chosen_devices(options, context), support);
  context.show_progress("");
  if (options.json)
    context.out << to_json(table) << '\n';
  else
    context.out << table;
}

}  // namespace

void add_ops_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("ops", "Which op works on which device, by trying");
  const auto options = std::make_shared<OpsOptions>();
  command->add_flag("--json", options->json, "Print one JSON array");
  command->add_option("--device", options->devices, "Try this device; may be repeated (all)")
      ->take_all();
  command->callback([options, &context] { list_ops(*options, context); });
}

}  // namespace rlx::cli
