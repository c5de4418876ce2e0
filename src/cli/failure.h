// The ways in which the command fails. All carry one line for people, without the name of the program in front.
#pragma once

#include <stdexcept>

namespace fairway::cli {

// The command line or the environment asks for something that cannot be meant: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What was asked for is clear but did not work out: exit code 1.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The gateway has no room or queue of that name.
struct NotFoundError : RunError {
  using RunError::RunError;
};

// The gateway does not answer: exit code 3.
struct UnreachableError : RunError {
  using RunError::RunError;
};

}  // namespace fairway::cli
