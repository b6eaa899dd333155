/*
 * render.h - answers as text.
 *
 * Pure: frames in, bytes out. The formats are those of gsymfs(1), and every record ends with a newline. Names
 * and paths come from hostile files; each format escapes what could forge a line or reach a terminal.
 */
#ifndef GSYM_RENDER_RENDER_H
#define GSYM_RENDER_RENDER_H

#include "gsym/gsym.h"
#include "gsym/render/demangle/demangle_cache.h"
#include "gsym/base/text_buf.h"

enum render_format {
	RENDER_TEXT,     /* the lines of llvm-addr2line -pfiC */
	RENDER_TSV,      /* address depth function offset file line flags module linkage_name */
	RENDER_JSON,     /* one object a line, as llvm-symbolizer --output-style=JSON */
	RENDER_ATOS,     /* "function (in module) (file:line)", as Apple's atos */
	RENDER_GSYMUTIL, /* the lines of llvm-gsymutil's lookup; names are never demangled in it */
};

struct render_options {
	enum render_format format;
	enum demangle_mode demangle;
	const char *module;           /* what the tsv and json formats call the image; NULL = nothing */
	struct demangle_cache *cache; /* of the caller, for batches; NULL = none */
};

/*
 * The format called @name ("text", "tsv", "json", "atos", "gsymutil"; the same words are file name suffixes):
 * 0, or -EINVAL when there is none.
 */
int render_format_parse(const char *name, enum render_format *ret);

/* What answers of @format are looked up with: enum gsym_lookup_flags. */
unsigned render_lookup_flags(enum render_format format);

/* Appends the answer for @addr, the address as the user wrote it. 0 or -ENOMEM. */
int render_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		  const struct render_options *options);

/* Appends the record of an address that no function covers. 0 or -ENOMEM. */
int render_unknown(struct text_buf *out, uint64_t addr, const struct render_options *options);

/* The same for a line of input that is no address: the @size bytes of @input stand in its place. 0 or
 * -ENOMEM. */
int render_malformed(struct text_buf *out, const char *input, size_t size,
		     const struct render_options *options);

#endif
