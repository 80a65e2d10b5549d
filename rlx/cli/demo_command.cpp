// rlx demo: a small transformer encoder on every device there is, side by side.

#include "rlx/base/clock.h"
#include "rlx/cli/compare_tensors.h"
#include "rlx/cli/devices_option.h"
#include "rlx/cli/report_print.h"
#include "rlx/cli/table.h"
#include "rlx/cli/tensor_print.h"
#include "rlx/import/rlx_file.h"
#include "rlx/ops/catalog.h"
#include "rlx/runtime/program.h"

namespace rlx::cli {
namespace {

constexpr const char* kFile = "examples/encoder.rlx";
constexpr int64_t kBatch = 2, kLength = 12, kVocabulary = 100;
constexpr int kRuns = 5;

// Where `cmake --install` puts it, seen from the program; the build has it at the same place.
Graph load_example() {
  const auto file = find_beside(text("../share/rlx/", kFile));
  if (!file) fail(ErrorKind::io, "demo: there is no ../share/rlx/", kFile, " beside the program");
  return load_rlx(*file, catalog());
}

// Two sentences of twelve tokens, the same every time.
Tensor example_tokens() {
  Tensor ids(DType::i64, {kBatch, kLength});
  for (int64_t i = 0; i < ids.count(); ++i) ids.set_integer(i, (7 + 31 * i + i * i) % kVocabulary);
  return ids;
}

std::string first_row(const Tensor& tensor) {
  std::vector<std::string> shown;
  for (int64_t i = 0; i < tensor.shape().back(); ++i) shown.push_back(short_number(tensor.at(i)));
  return joined(shown, " ");
}

struct Measurement {
  std::vector<std::string> row;
  Tensor probabilities;
};

Measurement measure(const Graph& graph, const Device& device, const Tensor& ids,
                    const Tensor* expected) {
  const auto start = Clock::now();
  const Program program = compile(graph, {.device = device});
  const double compiled = microseconds_since(start);
  Measurement measured;
  std::vector<double> times;
  for (int i = 0; i <= kRuns; ++i) {
    const auto begin = Clock::now();
    measured.probabilities = program.run({{"ids", ids}}).at("probabilities");
    times.push_back(microseconds_since(begin));
  }
  const double first = times.front();
  times.erase(times.begin());
  const std::string apart =
      expected ? short_number(compare_tensors(*expected, measured.probabilities).absolute) : "-";
  measured.row = {device.name(),
                  time_text(compiled),
                  time_text(first),
                  time_text(median(times)),
                  apart,
                  first_row(measured.probabilities)};
  return measured;
}

void demo_command(Context& context) {
  const Graph graph = load_example();
  const Tensor ids = example_tokens();
  context.out << context.bold("A transformer encoder")
              << " (2 layers, 4 heads, random weights) sorts " << kBatch << " sentences of "
              << kLength << " tokens into classes.\n\n";
  Table table{{"device", "compile", "first run", text("median of ", kRuns), "off the CPU by",
               "probabilities of the first sentence"},
              "lrrrr"};
  std::optional<Tensor> expected;  // what the CPU, which comes first, computes
  std::vector<std::string> failures;
  for (const FoundDevice& found : context.devices().devices) {
    const std::string& name = found.device.name();
    context.show_progress(text("running on ", name));
    try {
      Measurement measured = measure(graph, found.device, ids, expected ? &*expected : nullptr);
      if (!expected) expected = measured.probabilities;
      if (!compare_tensors(*expected, measured.probabilities).within())
        failures.push_back(text(name, " differs from the CPU: see rlx compare"));
      table.rows.push_back(std::move(measured.row));
    } catch (const Error& error) {
      failures.push_back(text(name, ": ", error.what()));
    }
  }
  context.show_progress("");
  table.print(context.out);
  if (context.devices().devices.size() == 1)
    context.out << "\nOnly the CPU was found; rlx devices says why.\n";
  for (const std::string& failure : failures) context.err << "rlx: " << failure << '\n';
  if (!failures.empty()) context.exit_code = 1;
}

}  // namespace

void add_demo_command(CLI::App& app, Context& context) {
  CLI::App& command =
      *app.add_subcommand("demo", "Run a small model on every device, side by side");
  command.footer("Example:\n  rlx demo\n");
  command.callback([&context] { demo_command(context); });
}

}  // namespace rlx::cli
