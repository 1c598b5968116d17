#include "eager/padded.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "eager/growth.h"

enum { ROUNDING_OFF = 0, ROUNDING_POISON = 2 };

// ---- programs ----------------------------------------------------------------------------------
// Composites that have rules of their own (ir/padding.def).
static const char* const kept[] = {"tt.cumulative", "tt.rng", NULL};

static bool has_padding(const tt_build_t* build) {
  for (size_t i = 0; i < build->frame->storage_count; ++i)
    if (build->storages[i].param >= 0 && build->storages[i].cell->padded) return true;
  return false;
}

static uint32_t* masks(tt_build_t* build, size_t count) {
  uint32_t* block = tt_arena_alloc_array(build->scratch, count + 1, sizeof(*block));
  if (block) memset(block, 0, (count + 1) * sizeof(*block));
  return block;
}

// Fills the request from the cells and from what is known to grow; false: nothing to round.
static tt_status_t make_request(tt_build_t* build, const tt_module_t* module, tt_pad_request_t* out,
                                bool* out_any) {
  const tt_block_t* block = &tt_module_main(module)->body.block;
  uint32_t *params = masks(build, block->arg_count), *results = masks(build, block->last->operand_count);
  tt_shape_key_t key;
  TT_RETURN_IF_ERROR(tt_module_shape_key(module, build->scratch, &key));
  const tt_frame_t* frame = build->frame;
  uint32_t size_count = key.size_count;
  for (size_t i = 0; i < frame->view_count; ++i) size_count += frame->views[i]->rank;
  uint8_t* grows = tt_arena_alloc(build->scratch, size_count + key.constant_count + 1u);
  int64_t* sizes = tt_arena_alloc_array(build->scratch, 2u * size_count + 1u, sizeof(*sizes));
  if (!params || !results || !grows || !sizes)
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "no memory for rounding sizes");
  // the views' sizes too: a storage may hold [2 n] of what is [2, n]
  if (key.size_count) memcpy(sizes, key.sizes, key.size_count * sizeof(*sizes));
  uint32_t count = key.size_count;
  for (size_t i = 0; i < frame->view_count; ++i)
    for (size_t d = 0; d < frame->views[i]->rank; ++d) sizes[count++] = frame->views[i]->sizes[d];
  uint8_t* hoisted = grows + size_count;
  const tt_call_t* call = frame->call;
  uint64_t skeleton = tt_hash_mix(key.skeleton, call->op | (uint64_t)call->variant << 32);
  int64_t mode = tt_setting_get(TT_SETTING_ROUNDING);
  memset(grows, 0, size_count + key.constant_count);  // off: only what is padded already
  if (mode != ROUNDING_OFF)
    tt_growth_note(skeleton, false, size_count, sizes, key.constant_count, key.constants, grows, hoisted);
  int64_t* growing = sizes + size_count;
  uint32_t growing_count = 0;
  for (uint32_t i = 0; i < size_count; ++i)
    if (grows[i]) growing[growing_count++] = sizes[i];
  bool any = false;
  uint32_t at = 0;
  for (uint32_t i = 0; i < block->arg_count; ++i) at += block->args[i].type->rank;
  for (uint32_t i = 0; i < block->last->operand_count; ++i) {
    for (uint32_t d = 0; d < block->last->operands[i]->type->rank; ++d)
      results[i] |= (uint32_t)(grows[at++] & 1) << d;
    any |= results[i] != 0;
  }
  for (size_t i = 0; i < build->frame->storage_count; ++i) {
    const tt_build_storage_t* s = &build->storages[i];
    if (s->param >= 0) params[s->param] = s->cell->padded;
    any |= s->param >= 0 && s->cell->padded;
  }
  for (uint32_t i = 0; i < key.constant_count; ++i) any |= hoisted[i] != 0;
  *out = (tt_pad_request_t){.params = params,
                            .results = results,
                            .hoisted = hoisted,
                            .growing = growing,
                            .growing_count = growing_count,
                            .poison = mode == ROUNDING_POISON};
  *out_any = any;
  return TT_OK_STATUS;
}

// The padded program's outputs, parameters and donations.
static tt_status_t take_over(tt_build_t* build, uint32_t output_count, tt_output_t* outputs,
                             const tt_padded_t* padded) {
  const tt_func_t* main = tt_module_main(padded->module);
  for (uint32_t i = 0; i < output_count; ++i) outputs[i].padded = (uint16_t)padded->results[i];
  for (uint32_t i = 0; i < build->param_count; ++i) {
    build->params[i].may_donate =
        build->params[i].may_donate && main->arg_attrs &&
        tt_attr_find(main->arg_attrs[i].data, main->arg_attrs[i].size, TT_ATTR_ALIASING_OUTPUT) != NULL;
  }
  for (uint32_t i = 0; i < padded->number_count; ++i)
    if (!tt_build_add_param(build, TT_PARAM_NUMBER, i, padded->numbers[i].dtype)) break;
  return tt_builder_ok(&build->b) ? TT_OK_STATUS : tt_builder_take_status(&build->b);
}

tt_status_t tt_padded_program(tt_build_t* build, uint32_t output_count, tt_output_t* outputs,
                              tt_padded_t* out) {
  *out = (tt_padded_t){0};
  if (TT_LIKELY(!build->target.slow_compiles) || !build->frame->call || !output_count) return TT_OK_STATUS;
  bool rounds = tt_setting_get(TT_SETTING_ROUNDING) != ROUNDING_OFF, any = false;
  if (!rounds && !has_padding(build)) return TT_OK_STATUS;
  tt_module_t* plain = NULL;
  TT_RETURN_IF_ERROR(tt_lower_expand(build->module, kept, &plain));
  tt_pad_request_t request;
  tt_status_t status = make_request(build, plain, &request, &any);
  if (tt_status_is_ok(status) && any) status = tt_module_pad(plain, &request, build->scratch, out);
  if (tt_status_is_ok(status) && any) status = take_over(build, output_count, outputs, out);
  tt_module_release(plain);
  if (!tt_status_is_ok(status)) {
    tt_module_release(out->module);
    out->module = NULL;
  }
  return status;
}

// ---- memory ------------------------------------------------------------------------------------
void tt_padded_dims(size_t rank, const int64_t* dims, uint16_t padded, int64_t* out_dims) {
  for (size_t d = 0; d < rank; ++d) out_dims[d] = padded >> d & 1 ? tt_pad_size(dims[d]) : dims[d];
}

bool tt_padded_bytes(size_t rank, const int64_t* dims, uint16_t padded, size_t size, size_t* out_bytes) {
  int64_t full[TT_MAX_RANK];
  tt_padded_dims(rank, dims, padded, full);
  size_t bytes = size;
  for (size_t d = 0; d < rank; ++d)
    if (!tt_checked_mul(bytes, (size_t)full[d], &bytes)) return false;
  *out_bytes = bytes;
  return true;
}

// Copies the logical rows between memory with padding and memory without.
static void copy_rows(size_t rank, const int64_t* dims, const int64_t* full, size_t size, bool crops,
                      const char* from, char* to) {
  size_t step = size, row = size, inner = rank;
  while (inner > 0 && dims[inner - 1] == full[inner - 1]) row *= (size_t)dims[--inner];
  if (inner > 0) {  // the innermost padded dimension's elements lie together
    --inner;
    step = row * (size_t)full[inner];
    row *= (size_t)dims[inner];
  } else {
    memcpy(to, from, row);
    return;
  }
  int64_t index[TT_MAX_RANK] = {0};
  size_t plain = 0;
  for (;;) {
    size_t place = 0;
    for (size_t d = 0; d < inner; ++d) place = place * (size_t)full[d] + (size_t)index[d];
    if (crops) memcpy(to + plain, from + place * step, row);
    else memcpy(to + place * step, from + plain, row);
    plain += row;
    size_t d = inner;
    for (;;) {
      if (d == 0) return;
      --d;
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

void tt_padded_crop(size_t rank, const int64_t* dims, uint16_t padded, size_t size, const void* from,
                    void* to) {
  int64_t full[TT_MAX_RANK];
  tt_padded_dims(rank, dims, padded, full);
  copy_rows(rank, dims, full, size, true, from, to);
}

void tt_padded_spread(size_t rank, const int64_t* dims, uint16_t padded, tt_dtype_t dtype, const void* from,
                      void* to) {
  int64_t full[TT_MAX_RANK];
  size_t bytes = 0, size = tt_dtype_bytes(dtype);
  tt_padded_dims(rank, dims, padded, full);
  if (!tt_padded_bytes(rank, dims, padded, size, &bytes)) return;
  bool poison = tt_setting_get(TT_SETTING_ROUNDING) == ROUNDING_POISON;
  memset(to,
         !poison                  ? 0
         : dtype == TT_DTYPE_PRED ? 1
                                  : 0xff,
         bytes);  // NaN of every float, -1 of every integer
  copy_rows(rank, dims, full, size, false, from, to);
}

// ---- cells -------------------------------------------------------------------------------------
tt_status_t tt_padded_read(const tt_storage_t* cell, void* out_data) {
  if (!cell->padded) return tt_rt_buffer_to_host(cell->buffer, out_data, cell->bytes);
  size_t size = tt_dtype_bytes(cell->dtype), bytes = 0;
  if (!tt_padded_bytes(cell->rank, cell->dims, cell->padded, size, &bytes))
    return tt_status_create(TT_INTERNAL, "a padded buffer's size overflows");
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(bytes, &block));
  tt_status_t status = tt_rt_buffer_to_host(cell->buffer, block, bytes);
  if (tt_status_is_ok(status)) tt_padded_crop(cell->rank, cell->dims, cell->padded, size, block, out_data);
  tt_free(block);
  return status;
}

tt_status_t tt_padded_make_exact(tt_engine_t* engine, tt_storage_t* cell) {
  if (TT_LIKELY(!cell->padded) || !cell->buffer) return TT_OK_STATUS;
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(cell->bytes, &block));
  tt_rt_buffer_t* exact = NULL;
  tt_status_t status = tt_padded_read(cell, block);
  if (tt_status_is_ok(status)) {
    status = tt_rt_buffer_from_host(engine->client, (size_t)cell->device, cell->dtype, cell->rank, cell->dims,
                                    block, &exact);
  }
  tt_free(block);
  TT_RETURN_IF_ERROR(status);
  tt_rt_buffer_release(tt_cell_bind(cell, exact, cell->dtype, cell->rank, cell->dims, cell->origin));
  return TT_OK_STATUS;
}

uint16_t tt_padded_upload(const tt_engine_t* engine, tt_dtype_t dtype, size_t rank, const int64_t* dims) {
  if (TT_LIKELY(!engine->target.slow_compiles) || rank == 0) return 0;
  if (tt_setting_get(TT_SETTING_ROUNDING) == ROUNDING_OFF) return 0;
  uint8_t grows[TT_MAX_RANK];
  uint64_t skeleton = tt_hash_mix(0x75706c6f6164, (uint64_t)dtype << 8 | rank);
  bool steps = tt_dtype_is_float(dtype) || tt_dtype_is_complex(dtype);
  tt_growth_note(skeleton, steps, (uint32_t)rank, dims, 0, NULL, grows, NULL);
  uint16_t padded = 0;
  for (size_t d = 0; d < rank; ++d) padded |= (uint16_t)(grows[d] << d);
  size_t bytes = 0;
  return tt_padded_bytes(rank, dims, padded, tt_dtype_bytes(dtype), &bytes) ? padded : 0;
}
