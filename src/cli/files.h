// Small files that nobody else may read, replaced as a whole. Every function throws RunError with the path and the reason.
#pragma once

#include <string>
#include <string_view>

namespace fairway::cli {

// At most `most` bytes; a larger file is an error.
std::string read_file(const std::string& path, std::size_t most = 1 << 20);

// Makes a file with mode 0600 that did not exist before, and throws when it did.
void create_private_file(const std::string& path, std::string_view content);

// Writes a temporary file of mode 0600 beside `path` and renames it: readers see the old or the new content, never a part. An existing
// file keeps its owner, and a symbolic link keeps pointing where it did.
void replace_private_file(const std::string& path, std::string_view content);

// Makes `path` with `mode`, and the folders above it with 0700, where they are missing.
void make_folders(const std::string& path, unsigned mode);

}  // namespace fairway::cli
