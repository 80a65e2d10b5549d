// rlx conformance: ONNX's backend tests on a device.

#include "rlx/cli/commands.h"
#include "rlx/cli/tensor_print.h"
#include "rlx/conformance/onnx_suite.h"

namespace rlx::cli {
namespace {

struct ConformanceFlags {
  std::string device = "cpu", filter, folder = "/usr/share/libonnx-testdata/data";
  std::vector<std::string> disabled_passes;
  bool strict = false, json = false;
};

nlohmann::ordered_json suite_json(const SuiteResult& result) {
  using Json = nlohmann::ordered_json;
  Json json{{"device", result.device},
            {"strict", result.strict},
            {"total", result.cases.size()},
            {"passed", result.count(SuiteStatus::passed)},
            {"failed", result.count(SuiteStatus::failed)},
            {"unsupported", result.count(SuiteStatus::unsupported)},
            {"random", result.count(SuiteStatus::random)},
            {"cases", Json::array()}};
  for (const SuiteCase& test : result.cases)
    json["cases"].push_back(
        {{"name", test.name}, {"status", name(test.status)}, {"reason", test.reason}});
  return json;
}

void conformance_command(const ConformanceFlags& flags, Context& context) {
  SuiteOptions options{flags.folder, context.device(flags.device), flags.strict,
                       flags.disabled_passes, flags.filter};
  options.progress = [&](size_t done, size_t all, const std::string& name) {
    context.show_progress(text(done, " of ", all, ": ", name));
  };
  const SuiteResult result = run_suite(options);
  context.show_progress("");
  if (result.cases.empty())
    fail(ErrorKind::invalid_input, "conformance: no test in ", flags.folder,
         " has a name that matches '", flags.filter, "'");
  if (result.count(SuiteStatus::failed) > 0) context.exit_code = 1;
  if (flags.json) {
    context.out << json_text(suite_json(result));
    return;
  }
  for (const SuiteCase& test : result.cases)
    if (test.status == SuiteStatus::failed || test.status == SuiteStatus::unsupported)
      context.out << name(test.status) << ' ' << test.name << ": "
                  << test.reason.substr(0, test.reason.find('\n')) << '\n';
  context.out << result.device << (result.strict ? ", strict" : "") << ": "
              << result.count(SuiteStatus::passed) << " of " << result.cases.size() << " passed, "
              << result.count(SuiteStatus::failed) << " failed, "
              << result.count(SuiteStatus::unsupported) << " unsupported, "
              << result.count(SuiteStatus::random) << " random and right by their statistics\n";
}

}  // namespace

void add_conformance_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<ConformanceFlags>();
  CLI::App& command = *app.add_subcommand("conformance", "Run ONNX's backend tests");
  command.add_option("--device", flags->device, "cpu, gpu, or a name that rlx devices shows")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_flag("--strict", flags->strict, "Fail rather than compute on the host of a device");
  add_pass_option(command, flags->disabled_passes);
  command.add_option("--filter", flags->filter, "Only tests whose names match")->type_name("REGEX");
  command.add_option("--data", flags->folder, "Where the tests are (Debian's libonnx-testdata)")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_flag("--json", flags->json, "Print one JSON object");
  command.footer(
      "Examples:\n  rlx conformance --device gpu --strict\n  rlx conformance --filter softmax\n");
  command.callback([flags, &context] { conformance_command(*flags, context); });
}

}  // namespace rlx::cli
