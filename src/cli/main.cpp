#include <exception>
#include <iostream>

#include "cli/failure.h"
#include "cli/keys.h"
#include "cli/operator_command.h"
#include "cli/options.h"
#include "cli/run.h"

namespace {

int run(int argc, const char* const* argv) {
  using namespace fairway::cli;
  const Command command = parse_command_line(argc, argv);
  if (command.run) return run_command(*command.run);
  if (command.operate) return run_operator_command(*command.operate);
  if (command.simulate) return run_simulate_command(*command.simulate);
  if (command.keys_new) {
    std::cout << keys_new_command(command.keys_new->output) << std::flush;
  } else if (command.keys_rotate) {
    std::cout << keys_rotate_command(command.keys_rotate->file, command.keys_rotate->place) << std::flush;
  } else {
    std::cout << command.text << std::flush;
  }
  return std::cout ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const fairway::cli::UsageError& error) {
    std::cerr << "fairway: " << error.what() << std::endl;
    return 2;
  } catch (const fairway::cli::UnreachableError& error) {
    std::cerr << "fairway: " << error.what() << std::endl;
    return 3;
  } catch (const std::exception& error) {
    std::cerr << "fairway: " << error.what() << std::endl;
    return 1;
  }
}
