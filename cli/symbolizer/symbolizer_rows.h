/* symbolizer_rows.h - the table of options of all dialects. */
#ifndef CLI_SYMBOLIZER_SYMBOLIZER_ROWS_H
#define CLI_SYMBOLIZER_SYMBOLIZER_ROWS_H

#include "cli/symbolizer/symbolizer_options.h"
#include "work/options/option.h"

/* The groups of a row are an enum symbolizer_dialect; its members, of struct symbolizer_options. */
extern const struct option_row symbolizer_rows[];
extern const struct option_synonym symbolizer_synonyms[];

#endif
