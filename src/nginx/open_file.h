// An open descriptor, closed at the end of its scope.
#pragma once

#include <unistd.h>

namespace fairway::ngx {

class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

}  // namespace fairway::ngx
