// rlx bench: measures models, each in processes of its own, and compares with other programs.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "rlx/base/file.h"
#include "rlx/cli/bench_results.h"
#include "rlx/cli/bench_set.h"
#include "rlx/cli/bench_worker.h"
#include "rlx/cli/compare_tensors.h"
#include "rlx/cli/devices_option.h"
#include "rlx/cli/load_graph.h"
#include "rlx/cli/subprocess.h"
#include "rlx/cli/tensor_print.h"
#include "rlx/import/npy.h"
#include "rlx/vector/cores.h"

namespace rlx::cli {
namespace {

namespace fs = std::filesystem;

struct BenchFlags {
  std::vector<std::string> models;
  std::string device = "cpu", json_file, html_file, record_folder, worker_job, note;
  std::string peer, peer_library;  // the program that runs another library, and that library
  BenchFolders folders;
  InputOptions inputs;
  std::vector<int> threads;
  std::vector<int64_t> batches;
  std::vector<std::string> only, disabled_passes;
  bool peers = false, no_limits = false;
  double seconds = 2;
  int rounds = 0;
};

std::string environment_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

// A model of the user's: its batch is the first extent of its first input, where that is free.
BenchModel model_of(const std::string& file, const BenchFlags& flags) {
  BenchModel model{fs::path(file).filename().string(), file, flags.inputs};
  model.tolerance = default_tolerance(DType::f32);
  const Signature signature =
      is_image_file(file) ? signature_of(read_image(file)) : signature_of(load_graph(file));
  if (!signature.inputs.empty() && !signature.inputs[0].type.shape.empty()) {
    const Dim& first = signature.inputs[0].type.shape[0];
    const std::vector<std::string> symbols = first.symbols();
    if (symbols.size() == 1 && text(first) == symbols[0]) model.batch_symbol = symbols[0];
  }
  for (const std::string& bind : flags.inputs.binds)  // which then is no longer free
    if (bind.rfind(model.batch_symbol + "=", 0) == 0) model.batch_symbol.clear();
  return model;
}

bool is_wanted(const std::string& name, const BenchFlags& flags) {
  const auto lower = [](std::string word) {
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return word;
  };
  return flags.only.empty() ||
         std::any_of(flags.only.begin(), flags.only.end(), [&](const std::string& word) {
           return lower(name).find(lower(word)) != std::string::npos;
         });
}

std::vector<BenchModel> models_of(const BenchFlags& flags, BenchResults& results) {
  std::vector<BenchModel> models;
  for (const std::string& file : flags.models) models.push_back(model_of(file, flags));
  if (!flags.models.empty()) return models;
  for (BenchModel& model : built_in_models(flags.folders)) {
    if (!is_wanted(model.name, flags)) continue;
    if (fs::exists(model.file))
      models.push_back(std::move(model));
    else
      results.skipped.push_back(text(model.name, ", since ", model.file, " is not there"));
  }
  if (models.empty())
    fail(ErrorKind::io,
         "there is no model to measure: ./run bench makes and fetches the built-in "
         "ones, or name a file");
  return models;
}

// One model at one batch, with its inputs written for all who run it.
struct Prepared {
  BenchJob job;
  Work work;
};
Prepared prepared(const BenchModel& model, int64_t batch, const std::string& folder) {
  InputOptions options = model.inputs;
  if (!model.batch_symbol.empty()) options.binds.push_back(text(model.batch_symbol, '=', batch));
  Prepared made;
  made.job.model = model.file;
  TensorMap inputs;
  if (is_image_file(model.file)) {
    inputs = make_inputs(signature_of(read_image(model.file)), options);
  } else {
    const Graph graph = load_graph(model.file);
    inputs = make_inputs(signature_of(graph), options);
    SymbolValues symbols;
    for (const Node& node : graph.nodes())
      if (is_input(node))
        bind_input(node.name, node.types[0], inputs.at(node.name).type(), symbols);
    made.work = work_of(graph, all_symbols(graph, symbols));
  }
  std::set<std::string> taken;
  for (const auto& [name, tensor] : inputs)
    made.job.inputs.push_back({name, folder + "/" + save_tensor(folder, name, tensor, taken)});
  return made;
}

// By the largest difference, or by the root of the mean square where a model quantises.
Agreement compare_outputs(const BenchAnswer& ours, const BenchAnswer& theirs,
                          const BenchModel& model) {
  Agreement worst{0, model.tolerance};
  for (const NamedFile& output : ours.outputs) {
    const auto same = std::find_if(theirs.outputs.begin(), theirs.outputs.end(),
                                   [&](const NamedFile& each) { return each.name == output.name; });
    const Tensor a = load_npy(output.file);
    double apart = INFINITY;
    if (same != theirs.outputs.end()) {
      const Tensor b = load_npy(same->file);
      if (a.type() == b.type() && !model.quantises) {
        apart = compare_tensors(a, b).relative;
      } else if (a.type() == b.type()) {
        double sum = 0, size = 0;
        for (int64_t i = 0; i < a.count(); ++i) {
          sum += (a.at(i) - b.at(i)) * (a.at(i) - b.at(i));
          size += b.at(i) * b.at(i);
        }
        apart = sum == 0 ? 0 : std::sqrt(sum / size);
      }
    }
    if (worst.output.empty() || !(apart <= worst.difference))
      worst.difference = apart, worst.output = output.name;
  }
  return worst;
}

class Bench {
 public:
  Bench(const BenchFlags& flags, Context& context) : flags_(flags), context_(context) {
    results_.date = now_text();
    results_.machine = this_machine();
    results_.revision = environment_or("RLX_REVISION", "");
    results_.note = flags.note;
  }

  const BenchResults& run() {
    const std::vector<BenchModel> models = models_of(flags_, results_);
    std::vector<int> threads = flags_.threads;
    if (threads.empty()) threads = {context_.threads};
    for (int& count : threads)
      if (count == 0) count = vector::core_count();
    if (flags_.device != "cpu") threads.resize(1);
    for (const BenchModel& model : models) steps_ += batches_of(model).size() * threads.size();
    steps_ *= size_t(rounds()) * (flags_.peers ? 2 : 1);
    for (const BenchModel& model : models)
      for (const int64_t batch : batches_of(model)) measure_model(model, batch, threads);
    context_.show_progress("");
    return results_;
  }

 private:
  int rounds() const { return flags_.rounds > 0 ? flags_.rounds : flags_.peers ? 4 : 1; }
  std::vector<int64_t> batches_of(const BenchModel& model) const {
    if (model.batch_symbol.empty()) return {1};
    return flags_.batches.empty() ? model.batches : flags_.batches;
  }

  void measure_model(const BenchModel& model, int64_t batch, const std::vector<int>& threads) {
    const TemporaryFolder folder;
    try {
      Prepared made = prepared(model, batch, folder.path() + "/in");
      made.job.device = flags_.device;
      made.job.disabled_passes = flags_.disabled_passes;
      for (const int count : threads) {
        measure_limits(count);
        made.job.threads = count;
        BenchLine line{model.name, flags_.device, count, batch, made.work, {}};
        measure_line(model, made.job, folder.path(), line);
        results_.lines.push_back(std::move(line));
      }
    } catch (const Error& error) {
      // One model that fails leaves the others their figures.
      if (flags_.models.size() == 1) throw;
      results_.skipped.push_back(text(model.name, ", since ", error.what()));
      context_.exit_code = 1;
    }
  }

  // Alternately, each in a process of its own: threads of one that spin would slow the other down.
  void measure_line(const BenchModel& model, BenchJob job, const std::string& folder,
                    BenchLine& line) {
    job.seconds = flags_.seconds / rounds();
    const bool with_peer =
        flags_.peers && has_ending(model.file, ".onnx") && flags_.device == "cpu";
    if (with_peer) line.peers.resize(1);
    for (int round = 0; round < rounds(); ++round) {
      const auto measure_with = [&](const std::vector<std::string>& program, const char* who,
                                    BenchFigures& figures) {
        show(text(model.name, ", batch ", line.batch, ", ", line.threads, " threads: ", who));
        job.outputs = round == 0 ? folder + "/" + who : "";
        const std::string file = folder + "/job.json";
        write_file(file, nlohmann::json(job).dump());
        std::vector<std::string> arguments = program;
        arguments.push_back(file);
        BenchAnswer answer = nlohmann::json::parse(output_of(arguments)).get<BenchAnswer>();
        figures.add(answer);
        return answer;
      };
      const BenchAnswer ours = measure_with(worker(), "rlx", line.ours);
      if (!with_peer) continue;
      const BenchAnswer theirs =
          measure_with({flags_.peer, flags_.peer_library}, "peer", line.peers[0]);
      if (round == 0) line.agreements.push_back(compare_outputs(ours, theirs, model));
    }
    for (const Agreement& agreement : line.agreements)
      if (!agreement.within()) context_.exit_code = 1;
  }

  // This program, with the same devices.
  std::vector<std::string> worker() const {
    std::vector<std::string> words{fs::read_symlink("/proc/self/exe").string()};
    const auto add = [&](const char* flag, const std::vector<std::string>& values) {
      for (const std::string& value : values) words.insert(words.end(), {flag, value});
    };
    add("--webgpu-library", context_.webgpu_libraries);
    add("--vulkan-driver", context_.vulkan_drivers);
    words.insert(words.end(), {"bench", "--worker"});
    return words;
  }

  // The best of all the times that this run measures it.
  void measure_limits(int threads) {
    if (flags_.no_limits || flags_.device != "cpu") return;
    vector::Team team(threads);
    const vector::Limits found = vector::measure_limits(team, 0.2);
    vector::Limits& best = results_.limits[threads];
    best = {std::max(best.flops, found.flops), std::max(best.bytes, found.bytes)};
  }

  void show(const std::string& what) {
    constexpr size_t kWidth = 24;
    const size_t filled = kWidth * done_ / std::max<size_t>(steps_, 1);
    std::string bar(std::min(filled, kWidth), '#');
    bar.resize(kWidth, '.');
    context_.show_progress(text('[', bar, "] ", done_ + 1, '/', steps_, "  ", what));
    ++done_;
  }

  const BenchFlags& flags_;
  Context& context_;
  BenchResults results_;
  size_t steps_ = 0, done_ = 0;
};

// DATE-PROCESSOR'S SET.txt to read and .json to compute with, without what single runs took.
void write_record(const BenchResults& results, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(ErrorKind::io, "cannot make the folder ", folder, ": ", error.message());
  const std::string name =
      (fs::path(folder) / (results.date.substr(0, 10) + "-" + results.machine.isa)).string();
  std::ostringstream table;
  if (!results.note.empty()) table << results.note << '\n';
  table << "revision " << (results.revision.empty() ? "unknown" : results.revision) << '\n';
  print_results(results, table);
  write_file(name + ".txt", table.str());
  nlohmann::ordered_json json = results_json(results);
  for (auto& line : json["lines"])
    for (auto& program : line["programs"]) program.erase("some_runs_us");
  write_file(name + ".json", json_text(json));
}

void bench_command(BenchFlags flags, Context& context) {
  if (!flags.worker_job.empty()) {
    context.out << nlohmann::json(measure(read_job(flags.worker_job), context)).dump() << '\n';
    return;
  }
  if (flags.folders.made.empty())
    flags.folders.made = environment_or("RLX_BENCH_MODELS", ".deps/models");
  if (flags.folders.packages.empty())
    flags.folders.packages = environment_or("RLX_MODEL_PACKAGES", ".deps/packages");
  if (flags.peer.empty()) flags.peer = environment_or("RLX_BENCH_PEER", "");
  if (flags.peer_library.empty()) flags.peer_library = environment_or("RLX_ONNXRUNTIME", "");
  if (flags.peers && (flags.peer.empty() || flags.peer_library.empty()))
    throw CLI::ValidationError("--peers",
                               "needs onnxruntime, which ./run bench --peers installs, or "
                               "--peer PROGRAM and --peer-library FILE");
  if (flags.device != "cpu") flags.device = context.device(flags.device).name();
  Bench bench(flags, context);
  const BenchResults& results = bench.run();
  print_results(results, context.out);
  if (!flags.json_file.empty()) write_file(flags.json_file, json_text(results_json(results)));
  if (!flags.record_folder.empty()) write_record(results, flags.record_folder);
  if (!flags.html_file.empty()) write_file(flags.html_file, results_page(results));
}

void add_where(CLI::App& command, BenchFlags& flags) {
  const auto add = [&](const char* name, std::string& target, const char* what, const char* type) {
    command.add_option(name, target, what)->check(refuse_empty, "")->type_name(type);
  };
  add("--json", flags.json_file, "Write the figures as JSON", "FILE");
  add("--html", flags.html_file, "Write a page with charts, which needs nothing but itself",
      "FILE");
  add("--record", flags.record_folder, "Write a dated table, and its JSON, as bench/records keeps",
      "DIR");
  add("--note", flags.note, "A sentence to keep with the figures", "TEXT");
  add("--models", flags.folders.made, "Where tools/make-models has written", "DIR");
  add("--packages", flags.folders.packages, "Where the models from npm are", "DIR");
  add("--peer", flags.peer, "The program that runs onnxruntime: bench/ort_peer.cpp", "FILE");
  add("--peer-library", flags.peer_library, "The library it loads", "FILE");
  command.add_option("--worker", flags.worker_job)->group("");  // measures here; see bench_job.h
}

}  // namespace

void add_bench_command(CLI::App& app, Context& context) {
  const auto flags = std::make_shared<BenchFlags>();
  CLI::App& command = *app.add_subcommand("bench", "Measure models, and compare with onnxruntime");
  command.add_option("MODEL", flags->models, "Graphs or images; without one, the built-in set")
      ->type_name("");
  command.add_option("--device", flags->device, "cpu, gpu, or a name that rlx devices shows")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--threads", flags->threads, "Threads of the CPU, one count after the other")
      ->check(CLI::Range(0, kMostThreads).description(""))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N,N");
  command.add_option("--batch", flags->batches, "Batches, one after the other")
      ->check(CLI::PositiveNumber.description(""))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N,N");
  command
      .add_option("--only", flags->only, "Of the built-in set, those with the word in their name")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("WORD,WORD");
  add_input_options(command, flags->inputs);
  add_pass_option(command, flags->disabled_passes);
  command.add_flag("--peers", flags->peers, "Measure onnxruntime alternately, and compare outputs");
  command.add_option("--seconds", flags->seconds, "How long each model and program runs")
      ->check(CLI::NonNegativeNumber.description(""))
      ->type_name("S")
      ->capture_default_str();
  command.add_option("--rounds", flags->rounds, "In how many processes; 1, and 4 with --peers")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("N");
  command.add_flag("--no-limits", flags->no_limits, "Do not measure what the machine can do");
  add_where(command, *flags);
  command.footer(
      "Examples:\n"
      "  rlx bench model.onnx --bind seq=128 --batch 1,8 --html bench.html\n"
      "  rlx bench --peers --threads 1,2 --json bench.json\n"
      "\n"
      "Exits with 1 when a model fails or its outputs are not those of the peer.");
  command.callback([flags, &context] { bench_command(*flags, context); });
}

}  // namespace rlx::cli
