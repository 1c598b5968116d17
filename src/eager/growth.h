// Which dimensions grow: found by watching the programs that were built, never guessed from one call.
//
// Programs with equal skeletons (ir/pad.h: all but sizes and constants) are compared. Two that differ in some sizes
// make a family when, for the second time (a network's layers may differ as little),
//   - a size moved by less than GROWTH_STEP, the others too or in proportion (decoding adds a few tokens), or
//   - all differing sizes moved by one amount or in proportion (batches of any length).
// From then on the sizes that differed are rounded up in programs that agree with the family in all others, and
// constants that differed become run-time numbers; so do constants of programs of equal sizes, at the third value.
//
// Uploads have no program; only their sizes are compared. Weights are uploads too, so a float tensor's must move by
// small steps twice, one way, and go on in small steps (`steps`).
//
// Invariants:
//  R1 the table is bounded: SETS sets of WAYS records, the least recently used record of a set goes;
//  R2 a record's flags are only ever added to;
//  R3 everything is under one lock, rank LEAF; nothing is called with it held;
//  R4 what the table says changes speed and compiles, never results.
#ifndef TT_EAGER_GROWTH_H_
#define TT_EAGER_GROWTH_H_

#include "base/base.h"

enum { GROWTH_STEP = 8 };

// Notes one program and tells what grows in it: out_sizes [size_count], out_constants [constant_count], 1: grows.
// Programs with more numbers than a record holds are not watched: all 0.
void tt_growth_note(uint64_t skeleton, bool steps, uint32_t size_count, const int64_t* sizes,
                    uint32_t constant_count, const uint64_t* constants, uint8_t* out_sizes,
                    uint8_t* out_constants);
void tt_growth_clear(void);

#endif  // TT_EAGER_GROWTH_H_
