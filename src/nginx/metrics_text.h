// Prometheus text exposition format 0.0.4, as it is written.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace fairway::ngx {

// Label values here are names from the configuration and words of this code: nothing to escape. May throw std::bad_alloc.
class MetricsText {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    family_ = name;
    for (const std::string_view part : {std::string_view("# HELP "), name, std::string_view(" "), help, std::string_view("\n# TYPE "), name,
                                        std::string_view(" "), type, std::string_view("\n")}) {
      text_ += part;
    }
  }

  struct Label {
    std::string_view name;
    std::string_view value;
  };

  // `suffix`: _bucket, _sum or _count of a histogram.
  void sample(std::initializer_list<Label> labels, std::uint64_t value, std::string_view suffix = "") {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
    write(labels, {digits, static_cast<std::size_t>(end - digits)}, suffix);
  }
  void seconds(std::initializer_list<Label> labels, double value, std::string_view suffix) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
    write(labels, {digits, static_cast<std::size_t>(end - digits)}, suffix);
  }

  std::string_view view() const noexcept { return text_; }

 private:
  void write(std::initializer_list<Label> labels, std::string_view value, std::string_view suffix) {
    (text_ += family_) += suffix;
    char before = '{';
    for (const Label& label : labels) {
      ((((text_ += before) += label.name) += "=\"") += label.value) += '"';
      before = ',';
    }
    ((text_ += labels.size() == 0 ? " " : "} ") += value) += '\n';
  }

  std::string_view family_;
  std::string text_;
};

}  // namespace fairway::ngx
