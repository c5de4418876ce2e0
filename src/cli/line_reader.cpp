#include "cli/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/failure.h"
#include "cli/table.h"

namespace fairway::cli {
namespace {

constexpr std::size_t kBlock = 1'048'576;

RunError cannot_read(const std::string& path) {
  return RunError("cannot read " + printable(path) + ": " + std::strerror(errno));
}

}  // namespace

LineReader::LineReader(const std::string& path)
    : path_(path == "-" ? "standard input" : path),
      file_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      block_(kBlock) {
  struct stat told {};
  if (file_ < 0 || fstat(file_, &told) != 0) throw cannot_read(path_);
  if (S_ISREG(told.st_mode)) size_ = static_cast<std::uint64_t>(told.st_size);
}

LineReader::~LineReader() {
  if (file_ != STDIN_FILENO) close(file_);
}

bool LineReader::fill() {
  ssize_t count = 0;
  do {
    count = read(file_, block_.data(), block_.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) throw cannot_read(path_);
  begin_ = 0;
  end_ = static_cast<std::size_t>(count);
  read_ += end_;
  return count > 0;
}

std::optional<std::string_view> LineReader::next() {
  line_.clear();
  cut_ = false;
  bool any = false;
  while (begin_ != end_ || fill()) {
    any = true;
    const std::string_view rest(block_.data() + begin_, end_ - begin_);
    const std::size_t line = std::min(rest.find('\n'), rest.size());
    begin_ += std::min(line + 1, rest.size());
    if (line != rest.size() && line_.empty()) return rest.substr(0, line);
    cut_ = cut_ || line_.size() + line > kLongest;
    line_ += rest.substr(0, std::min(line, kLongest - line_.size()));
    if (line != rest.size()) return line_;
  }
  return any ? std::optional<std::string_view>(line_) : std::nullopt;
}

std::optional<double> LineReader::share() const noexcept {
  if (size_ == 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(read_ - (end_ - begin_)) / static_cast<double>(size_));
}

}  // namespace fairway::cli
