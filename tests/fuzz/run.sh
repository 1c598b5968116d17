#!/usr/bin/env bash
# run.sh BUILD SECONDS: every fuzz target from the kept inputs for its part of the time, one after another. What it finds
# lies in BUILD/finds; the corpus of earlier runs in BUILD/corpus is used again. Exit 1 when something was found.
set -u
build=$1 seconds=$2 here=$(cd "$(dirname "$0")" && pwd) found=0
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=1024 UBSAN_OPTIONS=print_stacktrace=1
for part in text:45 compile:30 plan:15 options:5 run:5; do
  target=${part%:*} share=${part#*:}
  folder=$target; [ "$target" = compile ] && folder=text
  mkdir -p "$build/corpus/$target" "$build/finds/$target"
  "$build/tests/fuzz/fuzz_${target}_replay" --unpack "$here/corpus/$folder/$folder.seeds" "$build/corpus/$target" >/dev/null || exit 2
  "$build/tests/fuzz/fuzz_$target" "$build/corpus/$target" "$here/corpus/$folder" -max_total_time=$((seconds * share / 100 + 1)) -timeout=20 \
    -rss_limit_mb=3000 -malloc_limit_mb=1100 -max_len=8192 -artifact_prefix="$build/finds/$target/" -print_final_stats=1 >"$build/$target.log" 2>&1 || found=1
  echo "$target: $(grep -a 'number_of_executed_units' "$build/$target.log" | tr -dc 0-9) inputs, $(find "$build/finds/$target" -type f | wc -l) finds ($build/$target.log)"
done
exit $found
