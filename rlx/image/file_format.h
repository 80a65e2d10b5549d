// How an image lies in a file: the header, and the fields of every struct, listed once for what
// writes them and what reads them. An archive is called with them, in the order of the file.
#pragma once

#include <cstddef>

#include "rlx/image/image.h"

namespace rlx::image {

// As PNG has it: a transfer that changes line ends or cuts the eighth bit is seen at once.
constexpr unsigned char kMagic[8] = {0x89, 'R', 'L', 'X', 'I', '\r', '\n', 0x1a};
constexpr uint32_t kVersion = 6;
constexpr size_t kHeaderBytes = 64, kAlignment = 64;
// Of an expression over symbols; those of real models have a few dozen words.
constexpr size_t kMostWords = 512;
constexpr int kDeepest = 32;

struct Header {
  unsigned char magic[8] = {};
  uint32_t version = kVersion, zero = 0;
  uint64_t structure_bytes = 0, file_bytes = 0;
  uint64_t structure_checksum = 0;
  uint64_t zeros[2] = {};
  uint64_t checksum = 0;  // of all that is before it
};
static_assert(sizeof(Header) == kHeaderBytes);

uint64_t header_checksum(const Header& header);

inline uint64_t align(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

enum class Word : uint8_t { number, symbol, sum, product, floor_div, mod, min, max, broadcast };

template <class Archive, class T>
using Field = typename Archive::template Field<T>;

template <class A>
void fields(A& a, Field<A, CallTraits>& t) {
  a(t.op, t.reads_views, t.finishes, t.in_tiles, t.channels_last);
}
template <class A>
void fields(A& a, Field<A, DeviceTraits>& t) {
  a(t.name, t.device_class, t.f16, t.subgroups, t.timestamps, t.subgroup_min, t.subgroup_max);
  a(t.max_binding_bytes, t.max_buffer_bytes, t.max_storage_buffers, t.max_workgroup_invocations);
  a(t.max_workgroup_bytes, t.max_workgroups, t.storage_alignment, t.uniform_alignment);
  a(t.calls);
}
template <class A>
void fields(A& a, Field<A, Interval>& i) {
  a(i.low, i.high);
}
template <class A>
void fields(A& a, Field<A, Instruction>& i) {
  a(i.op, i.result, i.a, i.b);
}
template <class A>
void fields(A& a, Field<A, Check>& c) {
  a(c.relation, c.a, c.b, c.guard, c.what, c.node);
}
template <class A>
void fields(A& a, Field<A, Segment>& s) {
  a(s.code, s.checks);
}
template <class A>
void fields(A& a, Field<A, Symbol>& s) {
  a(s.name, s.number, s.bounded, s.range);
}
template <class A>
void fields(A& a, Field<A, Numbers::Known>& k) {
  a(k.number, k.value);
}
template <class A>
void fields(A& a, Field<A, Numbers>& n) {
  a(n.count, n.known, n.symbols, n.code, n.checks, n.segments);
}
template <class A>
void fields(A& a, Field<A, Value>& v) {
  a(v.kind, v.name, v.dtype, v.storage, v.shape, v.bytes, v.place, v.source, v.on_host,
    v.once_only);
}
template <class A>
void fields(A& a, Field<A, Operand>& o) {
  a(o.value, o.shape, o.strides, o.offset);
}
template <class A>
void fields(A& a, Field<A, Kernel::Section>& s) {
  a(s.first_line, s.file);
}
template <class A>
void fields(A& a, Field<A, Kernel>& k) {
  a(k.name, k.wgsl, k.bindings, k.params_bytes, k.sections);
  a(k.f16, k.subgroups, k.workgroup_invocations, k.workgroup_bytes);
}
template <class A>
void fields(A& a, Field<A, Bound>& b) {
  a(b.value, b.access, b.first, b.bytes);
}
template <class A>
void fields(A& a, Field<A, Choice::Word>& w) {
  a(w.offset, w.number);
}
template <class A>
void fields(A& a, Field<A, Choice>& c) {
  a(c.kernel, c.guard, c.workgroups, c.params, c.words);
}
template <class A>
void fields(A& a, Field<A, Dispatch>& d) {
  a(d.operands, d.choices, d.flags_errors, d.repeat, d.shard, d.segment);
}
template <class A>
void fields(A& a, Field<A, Call::Body>& b) {
  a(b.name, b.text);
}
template <class A>
void fields(A& a, Field<A, Call::Name>& n) {
  a(n.symbol, n.number);
}
template <class A>
void fields(A& a, Field<A, Call::Told>& t) {
  a(t.result, t.axis, t.number);
}
template <class A>
void fields(A& a, Field<A, Tile::Instruction>& i) {
  a(i.op, i.operands, i.params, i.dtype);
}
template <class A>
void fields(A& a, Field<A, Tile>& t) {
  a(t.code, t.stores, t.own_inputs);
}
template <class A>
void fields(A& a, Field<A, Call>& c) {
  a(c.op, c.version, c.attrs, c.bodies, c.inputs, c.results, c.stored, c.tile, c.in_place, c.names,
    c.told, c.segment, c.reason);
}
template <class A>
void fields(A& a, Field<A, Copy>& c) {
  a(c.source, c.target);
}
template <class A>
void fields(A& a, Field<A, Clear>& c) {
  a(c.target);
}
template <class A>
void fields(A& a, Field<A, Write>& w) {
  a(w.target, w.elements);
}
template <class A>
void fields(A& a, Field<A, Fetch>& f) {
  a(f.value, f.elements, f.segment, f.reason);
}
template <class A>
void fields(A& a, Field<A, Bind>& b) {
  a(b.number, b.from, b.forget, b.segment);
}
template <class A>
void fields(A& a, Field<A, Jump>& j) {
  a(j.target, j.unless);
}
template <class A>
void fields(A& a, Field<A, Step>& s) {
  a(s.what, s.node);
}
template <class A>
void fields(A& a, Field<A, Node>& n) {
  a(n.op, n.name);
}
template <class A>
void fields(A& a, Field<A, TensorType>& t) {
  a(t.dtype, t.shape);
}
template <class A>
void fields(A& a, Field<A, Input>& i) {
  a(i.name, i.type, i.value, i.shape, i.elements);
}
template <class A>
void fields(A& a, Field<A, Output>& o) {
  a(o.name, o.type, o.value, o.shape);
}
template <class A>
void fields(A& a, Field<A, Weight>& w) {
  a(w.name, w.type, w.value);
}
template <class A>
void fields(A& a, Field<A, State>& s) {
  a(s.name, s.type, s.value, s.next);
}
template <class A>
void fields(A& a, Field<A, Image>& i) {
  a(i.traits, i.numbers, i.planned_by, i.values, i.kernels, i.sources, i.nodes);
  a(i.bind, i.once, i.run, i.inputs, i.outputs, i.weights, i.states, i.flag);
}

// The last enumerator: what is read lies between 0 and it.
constexpr DeviceClass last(DeviceClass) { return DeviceClass::discrete; }
constexpr CallTraits::ChannelsLast last(CallTraits::ChannelsLast) {
  return CallTraits::ChannelsLast::always;
}
constexpr DType last(DType) { return DType::boolean; }
constexpr Kind last(Kind) { return Kind::flag; }
constexpr Storage last(Storage) { return Storage::boolean_word; }
constexpr Access last(Access) { return Access::read_write; }
constexpr Instruction::Op last(Instruction::Op) { return Instruction::Op::broadcast; }
constexpr Relation last(Relation) { return Relation::broadcasts_to; }
constexpr Word last(Word) { return Word::broadcast; }

}  // namespace rlx::image
