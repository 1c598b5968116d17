// Runs a fuzz target over files, folders of files and packs: what the fuzzer found stays found.
//
//   fuzz_x_replay PATH...               run; the last path printed is the one that failed
//   fuzz_x_replay --unpack PACK FOLDER  one file an input, for libFuzzer
//   fuzz_x_replay --pack PACK FOLDER    and back
//
// A pack (*.seeds) is any number of: size in decimal, a line feed, the bytes, a line feed.
#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { PATH_BYTES = 4096 };

// The block is exact, so that sanitizers see a read behind its end.
static uint8_t* read_file(const char* path, size_t* out_size) {
  struct stat info;
  FILE* file = fopen(path, "rb");
  if (!file || fstat(fileno(file), &info) != 0) return fprintf(stderr, "cannot open %s\n", path), NULL;
  *out_size = (size_t)info.st_size;
  uint8_t* data = malloc(*out_size ? *out_size : 1);
  bool ok = data && fread(data, 1, *out_size, file) == *out_size;
  fclose(file);
  if (ok) return data;
  fprintf(stderr, "cannot read %s\n", path);
  free(data);
  return NULL;
}

static bool write_file(const char* path, const uint8_t* data, size_t size) {
  FILE* file = fopen(path, "wb");
  bool ok = file && fwrite(data, 1, size, file) == size;
  if (file && fclose(file) != 0) ok = false;
  if (!ok) fprintf(stderr, "cannot write %s\n", path);
  return ok;
}

// -1: failed, else inputs done. `folder`: inputs become files there, NULL: they are run.
static int each_of_pack(const char* path, const char* folder) {
  size_t size, at = 0;
  uint8_t* data = read_file(path, &size);
  int count = 0;
  while (data && at < size) {
    size_t bytes = 0;
    while (at < size && data[at] >= '0' && data[at] <= '9') bytes = bytes * 10 + (size_t)(data[at++] - '0');
    if (at >= size || data[at++] != '\n' || bytes > size - at) {
      fprintf(stderr, "%s is no pack from input %d on\n", path, count);
      count = -1;
      break;
    }
    if (folder) {
      char name[PATH_BYTES];
      snprintf(name, sizeof(name), "%s/seed%04d", folder, count);
      if (!write_file(name, data + at, bytes)) { count = -1; break; }
    } else {
      uint8_t* exact = malloc(bytes ? bytes : 1);
      memcpy(exact, data + at, bytes);
      fprintf(stderr, "%s %d\n", path, count);
      LLVMFuzzerTestOneInput(exact, bytes);
      free(exact);
    }
    at += bytes + 1;
    ++count;
  }
  free(data);
  return data ? count : -1;
}

static int run_file(const char* path) {
  size_t length = strlen(path), size;
  if (length > 6 && !strcmp(path + length - 6, ".seeds")) return each_of_pack(path, NULL);
  uint8_t* data = read_file(path, &size);
  if (!data) return -1;
  fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(data, size);
  free(data);
  return 1;
}

static int run_path(const char* path) {
  DIR* folder = opendir(path);
  if (!folder) return run_file(path);
  int count = 0;
  for (struct dirent* entry; count >= 0 && (entry = readdir(folder));) {
    char name[PATH_BYTES];
    if (entry->d_name[0] == '.') continue;
    snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
    int done = run_file(name);
    count = done < 0 ? -1 : count + done;
  }
  closedir(folder);
  return count;
}

static int by_name(const struct dirent** a, const struct dirent** b) { return strcmp((*a)->d_name,
    (*b)->d_name); }

static int pack(const char* path, const char* folder) {
  struct dirent** entries;
  int found = scandir(folder, &entries, NULL, by_name), count = 0;
  FILE* out = found < 0 ? NULL : fopen(path, "wb");
  for (int i = 0; i < found; ++i) {
    char name[PATH_BYTES];
    size_t size;
    snprintf(name, sizeof(name), "%s/%s", folder, entries[i]->d_name);
    bool wanted = out && entries[i]->d_name[0] != '.';
    free(entries[i]);
    uint8_t* data = wanted ? read_file(name, &size) : NULL;
    if (!data) continue;
    fprintf(out, "%zu\n", size);
    fwrite(data, 1, size, out);
    fputc('\n', out);
    free(data);
    ++count;
  }
  if (found >= 0) free(entries);
  return out && fclose(out) == 0 ? count : -1;
}

int main(int argc, char** argv) {
  int count = 0;
  if (argc == 4 && !strcmp(argv[1], "--unpack")) {
    count = each_of_pack(argv[2], argv[3]);
  } else if (argc == 4 && !strcmp(argv[1], "--pack")) {
    count = pack(argv[2], argv[3]);
  } else {
    for (int i = 1; i < argc && count >= 0; ++i) {
      int done = run_path(argv[i]);
      count = done < 0 ? -1 : count + done;
    }
  }
  if (count >= 0) printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
