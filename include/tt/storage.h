// Storages: what a PyTorch StorageImpl of the device points to (design D2).
//
// A storage is a reference-counted value cell: unbound until its first write, then it holds a device buffer.
// Its address lies in a reserved, inaccessible range: unique and ordered, never to be dereferenced.
#ifndef TT_STORAGE_H_
#define TT_STORAGE_H_

#include "tt/dtype.h"
#include "tt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TT_TENSOR_MAX_RANK 16

typedef struct tt_storage_s tt_storage_t;

// Unbound; no plugin call; bytes count against the budget (RESOURCE_EXHAUSTED lists the largest live storages).
TT_API_MUST_USE tt_status_t tt_storage_allocate(int device, size_t bytes, tt_storage_t** out_storage);
// Keeps the first bytes; the address may become another one. Calls beside it see the storage before or after.
TT_API_MUST_USE tt_status_t tt_storage_resize(tt_storage_t* storage, size_t bytes);
TT_API void tt_storage_retain(tt_storage_t* storage);
TT_API void tt_storage_release(tt_storage_t* storage);
TT_API void* tt_storage_address(const tt_storage_t* storage);        // never NULL, also for 0 bytes
TT_API size_t tt_storage_bytes(const tt_storage_t* storage);
TT_API int tt_storage_device(const tt_storage_t* storage);
// The storage whose range holds `address`, borrowed; NULL if none. *out_offset: bytes from its start (may be NULL).
TT_API tt_storage_t* tt_storage_from_address(const void* address, size_t* out_offset);
// Raw bytes. Reading an unbound storage gives zeros. OUT_OF_RANGE names offset, size and the storage's bytes.
TT_API_MUST_USE tt_status_t tt_storage_read(tt_storage_t* storage, size_t offset, size_t bytes, void* out_data);
TT_API_MUST_USE tt_status_t tt_storage_write(tt_storage_t* storage, size_t offset, size_t bytes, const void* data);
// A whole storage over a whole storage of the same device copies no bytes before one of the two is written.
TT_API_MUST_USE tt_status_t tt_storage_copy(tt_storage_t* to, size_t to_offset, tt_storage_t* from, size_t from_offset, size_t bytes);

// A view: what a TensorImpl of the device is.
typedef struct tt_tensor_s {
  tt_storage_t* storage;           // borrowed; NULL: undefined, a host scalar, or a graph value
  const void* host_scalar;         // 0-d CPU tensor: its element (of `dtype`); else NULL
  int32_t graph_value;             // tt/graph.h: value id, -1 otherwise
  uint8_t dtype;                   // tt_dtype_t
  uint8_t rank;
  bool is_wrapped_number;          // from a Python scalar: weak in type promotion
  bool is_defined;                 // false: None / undefined tensor
  const int64_t* sizes;            // [rank]
  const int64_t* strides;          // [rank], elements
  int64_t offset;                  // elements of dtype
} tt_tensor_t;

// Host memory is dense row-major with src/dst's sizes; `host_dtype` may differ from the tensor's (converted on
// the device for to_device, must be equal for to_host). Complete on return.
TT_API_MUST_USE tt_status_t tt_tensor_from_host(const tt_tensor_t* to, const void* host, tt_dtype_t host_dtype);
TT_API_MUST_USE tt_status_t tt_tensor_to_host(const tt_tensor_t* from, void* host);
// The same, but the transfer may go on after the return (*out_pending): the host memory stays as it is until the
// current stream of the tensor's device has come so far (tt_event_record, tt_stream_synchronize).
TT_API_MUST_USE tt_status_t tt_tensor_from_host_async(const tt_tensor_t* to, const void* host, tt_dtype_t host_dtype,
                                                      bool* out_pending);
TT_API_MUST_USE tt_status_t tt_tensor_to_host_async(const tt_tensor_t* from, void* host, bool* out_pending);
// Any dtypes, any devices, any (non-overlapping destination) strides; sizes must be equal.
TT_API_MUST_USE tt_status_t tt_tensor_copy(const tt_tensor_t* to, const tt_tensor_t* from);

#ifdef __cplusplus
}
#endif
#endif  // TT_STORAGE_H_
