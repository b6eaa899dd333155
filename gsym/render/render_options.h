/*
 * render_options.h - the list of output formats, and how an answer is shown.
 */
#ifndef GSYM_RENDER_RENDER_OPTIONS_H
#define GSYM_RENDER_RENDER_OPTIONS_H

#include "gsym/base/frame_detail.h"
#include "gsym/gsym.h"
#include "gsym/render/demangle/demangle_cache.h"

/*
 * The output formats, one row each: the enumerator RENDER_<first>, and the struct output_format
 * `output_<second>` that formats/output_<second>.c defines. A new format is a row here, that file, and its
 * name in meson.build; `gsym lookup --format=` and the mount take name and suffix from its struct.
 */
#define OUTPUT_FORMATS(ROW) \
	ROW(TEXT, text)     \
	ROW(TSV, tsv)       \
	ROW(JSON, json)     \
	ROW(ATOS, atos)     \
	ROW(GSYMUTIL, gsymutil)

#define OUTPUT_FORMAT_ENUMERATOR(id, name) RENDER_##id,
enum render_format { OUTPUT_FORMATS(OUTPUT_FORMAT_ENUMERATOR) RENDER_FORMATS };
#undef OUTPUT_FORMAT_ENUMERATOR

/* "text|tsv|...", for --help and messages. */
#define OUTPUT_FORMAT_WORD(id, name) "|" #name
#define OUTPUT_FORMAT_NAMES          (&(OUTPUT_FORMATS(OUTPUT_FORMAT_WORD))[1])

struct render_options {
	enum render_format format;
	enum demangle_mode demangle;
	bool mark_merged;             /* text tells of functions that share the code */
	const char *module;           /* name of the image in formats which show it; NULL or "" = not known */
	struct demangle_cache *cache; /* of the caller, for batches; NULL = none */
	const struct frame_detail *details; /* of the frames of one answer, for text and JSON; NULL = none */
};

#endif
