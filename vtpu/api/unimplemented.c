// The slots that vtpu does not have: each says so by name (A6).
#include "api/api.h"

#define MISSING(name, why)                                                             \
  PJRT_Error* tt_api_##name(PJRT_##name##_Args* args) {                                \
    (void)args;                                                                        \
    TT_API_RETURN_ERROR(TT_UNIMPLEMENTED, "PJRT_" #name " is not offered by vtpu: " why); \
  }

MISSING(Executable_OptimizedProgram, "plans are not HLO; the extension's plan_text lists one")
MISSING(Client_CreateViewOfDeviceBuffer,
        "its blocks come from its own allocator; copy with BufferFromHostBuffer")
MISSING(CopyToDeviceStream_Destroy, "host send/recv callbacks are missing")
MISSING(CopyToDeviceStream_AddChunk, "host send/recv callbacks are missing")
MISSING(CopyToDeviceStream_TotalBytes, "host send/recv callbacks are missing")
MISSING(CopyToDeviceStream_GranuleSize, "host send/recv callbacks are missing")
MISSING(CopyToDeviceStream_CurrentBytes, "host send/recv callbacks are missing")
MISSING(Client_CreateBuffersForAsyncHostToDevice, "transfers complete in the call; use BufferFromHostBuffer")
MISSING(AsyncHostToDeviceTransferManager_Destroy, "there are no transfer managers")
MISSING(AsyncHostToDeviceTransferManager_TransferData, "there are no transfer managers")
MISSING(AsyncHostToDeviceTransferManager_TransferLiteral, "there are no transfer managers")
MISSING(AsyncHostToDeviceTransferManager_RetrieveBuffer, "there are no transfer managers")
MISSING(AsyncHostToDeviceTransferManager_Device, "there are no transfer managers")
MISSING(AsyncHostToDeviceTransferManager_BufferCount, "there are no transfer managers")
MISSING(AsyncHostToDeviceTransferManager_BufferSize, "there are no transfer managers")
MISSING(AsyncHostToDeviceTransferManager_SetBufferError, "there are no transfer managers")
MISSING(AsyncHostToDeviceTransferManager_AddMetadata, "there are no transfer managers")
MISSING(Client_CreateAliasBuffer, "results are ready when Execute returns, so nothing waits for them")
MISSING(Client_FulfillAliasBuffer, "results are ready when Execute returns, so nothing waits for them")
MISSING(Buffer_CopyRawToHostFuture, "use CopyRawToHost")
MISSING(Buffer_DonateWithControlDependency, "donate through Execute")
MISSING(Device_PoisonExecution, "no execution is pending when a call returns")
MISSING(Device_CreateAsyncTrackingEvent, "no execution is pending when a call returns")
MISSING(AsyncTrackingEvent_Destroy, "no execution is pending when a call returns")
