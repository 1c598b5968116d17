// The compile options of a PJRT client, a protocol buffer read by hand: bounded counts or INVALID_ARGUMENT.
#include "api/api.h"
#include "fuzz.h"

static volatile uint64_t seen;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  int64_t live = tt_alloc_stats().live_blocks;
  tt_api_options_t options;
  tt_status_t status = tt_api_options_parse((const char*)data, size, &options);
  if (tt_status_is_ok(status)) {
    int64_t devices = (int64_t)options.num_replicas * options.num_partitions;
    FUZZ_REQUIRE(options.num_replicas >= 1 && options.num_partitions >= 1 && devices <= 4096, "%d x %d",
                 options.num_replicas, options.num_partitions);
    for (int64_t i = 0; options.assignment &&
        i < devices; ++i) seen += (uint64_t)options.assignment[i];   // all are there
    tt_api_options_deinitialize(&options);
  } else {
    FUZZ_REQUIRE(tt_status_code(status) == TT_INVALID_ARGUMENT ||
        tt_status_code(status) == TT_RESOURCE_EXHAUSTED, "%s",
                 tt_status_message(status));
    tt_status_free(status);
  }
  FUZZ_REQUIRE(tt_alloc_stats().live_blocks == live, "%lld blocks leaked",
      (long long)(tt_alloc_stats().live_blocks - live));
  return 0;
}
