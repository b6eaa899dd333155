/*
 * listing.h - whole tables of a GSYM file as text, a piece at a time.
 *
 *	functions.tsv   address, size, function, file, line, linkage name: of each function, its first row
 *	lines.tsv       address, size, file, line: of each row of each function
 *	files.tsv       index, file
 *
 * Separated by tabs, escaped as answers in this format are; what is not known is "??" or 0. Pure. A piece is
 * made of consecutive entries, which are functions, or files, and is always the same.
 */
#ifndef GSYM_RENDER_LISTING_H
#define GSYM_RENDER_LISTING_H

#include "gsym/base/text_buf.h"
#include "gsym/render/render_options.h"

enum listing_kind {
	LISTING_FUNCTIONS,
	LISTING_LINES,
	LISTING_FILES,
	LISTINGS,
};

enum {
	/* Text of one entry; what is more, in damaged files only, is left out. */
	LISTING_ENTRY_MAX = 16 << 20,
};

/* How many entries a table is made of. */
uint32_t listing_entries(const struct gsym_reader *reader, enum listing_kind kind);

/*
 * Appends the lines of entries until @out has enough bytes. A function whose record is damaged has the
 * columns that can be read.
 *
 * @reader:    the GSYM file
 * @kind:      which table
 * @from, @to: range of entries, below listing_entries()
 * @enough:    bytes of @out at which to return
 * @options:   how names are rendered
 * @decoder:   memory, reused between calls
 * @out:       appended to
 * @ret:       the next entry, or @to
 *
 * 0 or -ENOMEM.
 */
int listing_append(const struct gsym_reader *reader, enum listing_kind kind, uint32_t from, uint32_t to,
		   size_t enough, const struct render_options *options, struct gsym_decoder *decoder,
		   struct text_buf *out, uint32_t *ret);

#endif
