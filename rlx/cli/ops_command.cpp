// rlx ops: which op works on which device for which dtypes, found by running every row now.

#include <iomanip>

#include "rlx/cli/commands.h"
#include "rlx/cli/rows_json.h"
#include "rlx/cli/tensor_print.h"
#include "rlx/conformance/case_data.h"
#include "rlx/conformance/kernels.h"
#include "rlx/conformance/model_graphs.h"
#include "rlx/conformance/op_times.h"
#include "rlx/conformance/support.h"
#include "rlx/ops/catalog.h"

namespace rlx::cli {
namespace {

struct OpsOptions {
  bool json = false, markdown = false, details = false, kernels = false, fingerprints = false,
       times = false, rows = false, models = false;
  std::vector<std::string> devices, names;
};

std::vector<OpCase> chosen_rows(const OpsOptions& options) {
  std::vector<OpCase> all = op_cases(), chosen;
  if (options.names.empty()) return all;
  for (const std::string& name : options.names) {
    const size_t before = chosen.size();
    for (const OpCase& row : all)
      if (row.op == name) chosen.push_back(row);
    if (chosen.size() == before) catalog().at(name);  // says what the nearest name is
  }
  return chosen;
}

std::vector<Device> chosen_devices(const OpsOptions& options, Context& context) {
  std::vector<Device> devices;
  for (const std::string& name : options.devices) devices.push_back(context.devices().at(name));
  if (devices.empty())
    for (const FoundDevice& found : context.devices().devices) devices.push_back(found.device);
  return devices;
}

void print_kernels(const OpsOptions& options, Context& context) {
  const std::vector<OpKernels> kernels = kernels_of(chosen_rows(options), catalog());
  if (options.fingerprints) {
    context.out << fingerprints(kernels);
    return;
  }
  for (const OpKernels& op : kernels)
    for (const std::string& module : op.modules)
      context.out << "// " << op.op << ", a device " << op.device << '\n' << module << '\n';
}

// What tools/make-oracle computes without rlx: the rows, but not those too large to store.
void print_rows(const OpsOptions& options, Context& context) {
  constexpr int64_t kMostElements = 6000;
  const OpSet ops = catalog();
  for (const CaseFamily& family : case_families())
    for (const OpCase& row : family.rows()) {
      int64_t elements = 0;
      for (const CaseInput& input : row.inputs)
        elements += count(bound(input.type.shape, row.symbols));
      const auto& names = options.names;
      const bool chosen =
          names.empty() || std::find(names.begin(), names.end(), row.op) != names.end();
      if (!chosen || elements > kMostElements) continue;
      nlohmann::ordered_json json = row_json(row, ops);
      json["family"] = family.name;
      context.out << json.dump() << '\n';
    }
}

void print_times(const OpsOptions& options, Context& context) {
  constexpr int64_t kLeastBytes = 16384;  // less says more of a dispatch than of a kernel
  for (const Device& device : chosen_devices(options, context)) {
    if (device.is_cpu()) continue;
    context.out << "times a copy of as many bytes on " << device.name()
                << ", largest row of each\n";
    for (const OpTime& time : op_times(chosen_rows(options), catalog(), device, kLeastBytes))
      context.out << text(std::fixed, std::setprecision(1), std::setw(8), time.ratio(), "  ",
                          std::setw(9), time.microseconds, " us  ", time.row, '\n');
  }
}

nlohmann::ordered_json support_json(const SupportTable& table) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const OpSupport& op : table.ops) {
    Json devices = Json::object();
    for (const std::string& device : table.devices) {
      devices[device] = Json::array();
      for (const DType dtype : op.devices.at(device)) devices[device].push_back(name(dtype));
    }
    list.push_back({{"name", op.name},
                    {"family", op.family},
                    {"rows", op.rows},
                    {"gradient", op.gradient},
                    {"devices", std::move(devices)},
                    {"note", op.note}});
  }
  return list;
}

void list_ops(const OpsOptions& options, Context& context) {
  if (options.times) return print_times(options, context);
  if (options.rows) return print_rows(options, context);
  if (options.models) {
    context.out << model_modules();
    return;
  }
  if (options.kernels || options.fingerprints) return print_kernels(options, context);
  SupportOptions support;
  support.progress = [&](size_t done, size_t all) {
    context.show_progress(text("row ", done, " of ", all));
  };
  support.gradients = options.details;
  support.details = [&](const OpCase& row, const Device& device, bool gradient,
                        const CaseResult& result) {
    if (!result.right()) context.exit_code = 1;
    if (!options.details && result.right()) return;
    context.show_progress("");
    (options.details ? context.out : context.err)
        << name(result.outcome) << (gradient ? " gradient" : "") << " on " << device.name() << ": "
        << describe(row) << (result.detail.empty() ? "" : "\n    " + result.detail) << '\n';
  };
  const SupportTable table =
      support_table(chosen_rows(options), catalog(), chosen_devices(options, context), support);
  context.show_progress("");
  if (options.details) return;
  if (options.json)
    context.out << json_text(support_json(table));
  else if (options.markdown)
    context.out << to_markdown(table);
  else
    context.out << table;
}

}  // namespace

void add_ops_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("ops", "Which op works on which device, by trying");
  const auto options = std::make_shared<OpsOptions>();
  command->add_option("op", options->names, "Only these (all)")->take_all();
  command->add_flag("--details", options->details, "Say how each row went, and its gradient");
  command->add_flag("--markdown", options->markdown, "Print a table as docs/ops.md has it");
  command->add_flag("--kernels", options->kernels, "Print the WGSL modules of the rows");
  command->add_flag("--fingerprints", options->fingerprints,
                    "Print a hash of those modules, a line for each op");
  command->add_flag("--models", options->models,
                    "Print the kernels of small models, and what is generated for their groups");
  command->add_flag("--times", options->times, "Time the kernels against a copy of as many bytes");
  command->add_flag("--rows", options->rows,
                    "Print the small rows as JSON, a line each: operands and attributes");
  command->add_flag("--json", options->json, "Print one JSON array");
  command->add_option("--device", options->devices, "Try this device; may be repeated (all)")
      ->allow_extra_args(false);
  command->callback([options, &context] { list_ops(*options, context); });
}

}  // namespace rlx::cli
