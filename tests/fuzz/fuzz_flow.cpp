// Any addresses, prefixes and fields: networks print within bounds and are prefixes, keys of equal fields are equal, and fields that
// differ in their cut differ in their key.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/flow.h"

namespace {

using namespace fairway;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Input {
  const std::uint8_t* data;
  std::size_t size;

  std::uint8_t byte() {
    if (size == 0) return 0;
    --size;
    return *data++;
  }
  std::string_view text(std::size_t wanted) {
    const std::size_t taken = wanted < size ? wanted : size;
    const std::string_view view(reinterpret_cast<const char*>(data), taken);
    data += taken;
    size -= taken;
    return view;
  }
};

void check_network(Input& in) {
  std::array<std::uint8_t, 16> bytes{};
  const std::string_view raw = in.text(bytes.size());
  std::memcpy(bytes.data(), raw.data(), raw.size());
  const ClientAddress address = in.byte() % 2 == 0 ? ClientAddress::v6(bytes) : ClientAddress::v4(std::span(bytes).first<4>());
  const OuterKey key = outer_key(address, in.byte(), in.byte());
  ClientAddress first{key.family, key.bytes};
  require(outer_key(first, key.bits, key.bits) == key);  // the network's own address lies in it
  std::array<char, kMaxOuterKeyText> out;
  const std::size_t length = print(key, out);
  require(length >= 4 && length <= out.size());
}

void check_fields(Input& in) {
  InnerKey a(OuterKey{});
  InnerKey b(OuterKey{});
  InnerKey shifted(OuterKey{});
  while (in.size != 0) {
    const std::string_view field = in.text(in.byte() * std::size_t{5});
    a.add(field);
    b.add(field);
    const std::size_t cut = field.size() / 2;
    shifted.add(field.substr(0, cut));
    shifted.add(field.substr(cut));
  }
  require(a.size() <= kMaxHashedBytes && a.size() == b.size());
  const SipKey key{3, 5};
  require(a.digest(key) == b.digest(key));
  const bool cut_off = shifted.size() + 9 > kMaxHashedBytes;  // beyond the limit there may be no difference left
  if (a.size() != InnerKey(OuterKey{}).size() && !cut_off) require(a.digest(key) != shifted.digest(key));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in{data, size};
  check_network(in);
  check_fields(in);
  return 0;
}
