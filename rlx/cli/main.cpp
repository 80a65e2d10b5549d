// The program rlx: reads the command line and runs one command. Exits with 0 when it is done, 1
// when the work failed, 2 when it was used wrongly.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "rlx/base/error.h"
#include "rlx/cli/devices_option.h"

#ifndef RLX_VERSION
#define RLX_VERSION "0.1.0"
#endif

namespace rlx::cli {
namespace {

constexpr int kWorkFailed = 1, kWrongUsage = 2;

bool is_terminal(int file) {
  const char* terminal = std::getenv("TERM");
  return isatty(file) != 0 && terminal && std::string(terminal) != "dumb";
}

void add_commands(CLI::App& app, Context& context) {
  app.require_subcommand(0, 1);
  app.fallthrough();  // --webgpu-library may follow the command
  app.set_version_flag("--version", version_text(), "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  add_device_options(app, context);
  add_run_command(app, context);
  add_inspect_command(app, context);
  add_explain_command(app, context);
  add_bench_command(app, context);
  add_compile_command(app, context);
  add_convert_command(app, context);
  add_quantise_command(app, context);
  add_compare_command(app, context);
  add_devices_command(app, context);
  add_ops_command(app, context);
  add_conformance_command(app, context);
  add_demo_command(app, context);
  app.footer(
      "Examples:\n"
      "  rlx demo\n"
      "  rlx run model.rlx --input x=x.npy --device gpu\n"
      "  rlx COMMAND --help\n"
      "\n"
      "Exits with 0 when it is done, 1 when the work failed, 2 when it was used wrongly.");
}

// A program may be started without standard streams. Their numbers then go to the next files that
// are opened, memory of a driver among them, and what is printed would be written into those.
void hold_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    // To read: so that writing fails, and is told.
    if (::fcntl(number, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDONLY) != number)
      std::exit(kWorkFailed);
}

// Of a message whose text a file gave in part: a name or a list in it may be as long as that. The
// last lines say where.
std::string shortened(const std::string& message) {
  constexpr size_t kMost = 4096, kLast = 1024;
  if (message.size() <= kMost) return message;
  return text(message.substr(0, kMost - kLast), " ... ", message.size() - kMost, " characters ... ",
              message.substr(message.size() - kLast));
}

int run(int argc, char** argv) {
  PrintableBuffer out_buffer(*std::cout.rdbuf()), err_buffer(*std::cerr.rdbuf());
  std::ostream out(&out_buffer), err(&err_buffer);
  Context context{out, err, is_terminal(STDOUT_FILENO), is_terminal(STDERR_FILENO)};
  CLI::App app("rlx compiles and runs graphs of tensor operations, on the CPU and on GPUs.", "rlx");
  add_commands(app, context);
  try {
    app.parse(argc, argv);
    // Asked here, so that a word that is no command is told as that.
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A command");
  } catch (const CLI::Success& wanted) {  // help or the version
    app.exit(wanted, context.out, context.err);
  } catch (const CLI::ParseError& error) {
    context.show_progress("");
    context.err << "rlx: " << error.what() << "\nrlx: see rlx --help\n";
    return kWrongUsage;
  } catch (const std::exception&) {
    context.show_progress("");
    context.err << "rlx: " << shortened(current_error().what()) << '\n';
    return kWorkFailed;
  }
  context.out.flush();
  if (context.out) return context.exit_code;
  context.err << "rlx: the output could not be written\n";
  return kWorkFailed;
}

}  // namespace

std::string version_text() { return "rlx " RLX_VERSION; }

std::string refuse_empty(const std::string& given) {
  return given.empty() ? "needs a name, this one is empty" : "";
}

}  // namespace rlx::cli

int main(int argc, char** argv) try {
  rlx::cli::hold_standard_descriptors();
  return rlx::cli::run(argc, argv);
} catch (const std::exception&) {  // out of memory, say
  std::fprintf(stderr, "rlx: %s\n", rlx::current_error().what());
  return 1;
}
