#define TT_ISA avx512
#define TT_STREAM_LINE(to, from) _mm512_stream_si512((void*)(to), _mm512_loadu_si512(from))
#include "kernels/stream_impl.h"
