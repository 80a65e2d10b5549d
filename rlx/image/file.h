// An image as bytes and as a file: what is read back is equal to what was written.
//
// A header of 64 bytes, the image's structure, then its tensors, each at a multiple of 64 bytes, so
// that a mapped file is used where it lies. Numbers are little-endian. Reading trusts nothing: it
// gives an image that verify() accepts or an Error of kind invalid_model, and takes memory in
// proportion to the file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rlx/image/file_options.h"
#include "rlx/image/image.h"

namespace rlx::image {

std::vector<std::byte> to_bytes(const Image& image, const WriteOptions& options = {});
// Tensors are views of the bytes, which `keep_alive` owns; `source` is their name in messages.
Image from_bytes(std::span<const std::byte> bytes, Keep keep_alive, const std::string& source,
                 const ReadOptions& options = {});

void write_image(const std::string& path, const Image& image, const WriteOptions& options = {});
Image read_image(const std::string& path, const ReadOptions& options = {});  // mapped

// All of an image but its tensors, of which it has the checksums. Not verified.
std::string structure_of(const Image& image);
// Equal images have equal hashes, on every machine.
uint64_t hash_of(const Image& image);

// A hash of bytes, XXH64: the same everywhere.
uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace rlx::image
