// The lines of a file of any size, one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairway::cli {

class LineReader {
 public:
  static constexpr std::size_t kLongest = 65'536;  // bytes of a line; of a longer one the rest is left out

  // A path, or `-` for standard input. Throws RunError.
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line without its end, valid until the next call; none: the file is over. Throws RunError when it cannot be read.
  std::optional<std::string_view> next();
  bool cut() const noexcept { return cut_; }  // the last line was longer
  // How much of the file has been read; none when its size is not known.
  std::optional<double> share() const noexcept;

 private:
  bool fill();

  std::string path_;
  int file_;
  std::vector<char> block_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string line_;
  bool cut_ = false;
  std::uint64_t read_ = 0;
  std::uint64_t size_ = 0;  // 0: not known
};

}  // namespace fairway::cli
