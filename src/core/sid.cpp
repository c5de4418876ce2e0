#include "core/sid.h"

#include "core/hex.h"

namespace fairway {

void Sid::to_hex(char* out) const noexcept {
  hex_encode(bytes, out);
}

bool Sid::from_hex(std::string_view text, Sid& sid) noexcept {
  Sid read;
  if (!hex_decode(text, read.bytes)) return false;
  sid = read;
  return true;
}

}  // namespace fairway
