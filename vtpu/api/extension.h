#ifndef TT_VTPU_API_EXTENSION_H_
#define TT_VTPU_API_EXTENSION_H_

#include "pjrt/pjrt_tt_extension.h"

tt_pjrt_extension_t* tt_api_extension(void);

#endif  // TT_VTPU_API_EXTENSION_H_
