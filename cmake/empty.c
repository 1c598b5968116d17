// A layer with no sources yet, and the anchor of shared libraries.
typedef int tt_empty_t;
