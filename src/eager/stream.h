// What is under way on the streams of a device whose plugin works behind our back (see stream.c).
#ifndef TT_EAGER_STREAM_H_
#define TT_EAGER_STREAM_H_

#include "eager/device.h"

void tt_streams_initialize(tt_engine_device_t* device);
void tt_streams_drop(tt_engine_device_t* device);   // nobody else uses the device any more
// Takes over the reference; NULL: nothing to wait for.
void tt_stream_add(tt_engine_device_t* device, int64_t stream, tt_rt_event_t* event);
// The stream is busy until the buffer is ready.
void tt_stream_add_buffer(tt_engine_device_t* device, int64_t stream, tt_rt_buffer_t* buffer);

#endif  // TT_EAGER_STREAM_H_
