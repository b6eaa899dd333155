/* symbol_answer.h - what a query has for an answer, before it is written in one of the styles. */
#ifndef CLI_SYMBOLIZER_SYMBOL_ANSWER_H
#define CLI_SYMBOLIZER_SYMBOL_ANSWER_H

#include "cli/lookup/image_details.h"
#include "cli/symbolizer/module_table.h"
#include "gsym/base/escape.h"

/* A function, and a place in it. Strings are borrowed from the module. */
struct shown_frame {
	const char *name; /* as stored */
	const char *dir, *base;
	uint32_t line;
	uint64_t start; /* of the function, or of the inlined code, if */
	bool has_start;
	struct frame_detail detail; /* all 0: not known, or not shown by the dialect */
};

/* Zero-initialise, reuse, then deinit. */
struct symbol_answer {
	const struct symbolizer_options *options;
	const struct symbol_query *query;
	struct symbol_module *module; /* NULL: none */
	const char *error; /* why there is no answer; NULL: there is one, nothing is known, or it was told */
	uint64_t addr;     /* as it was given; of a symbol where that is looked up, too */
	uint64_t link;     /* of QUERY_CODE: the address in the file */
	VEC(struct shown_frame) frames;   /* the innermost first; of a symbol each place that has it */
	const struct object_symbol *data; /* of QUERY_DATA, borrowed from the module; NULL: none */
	bool has_function;                /* the module has one at the address: not its symbols alone */
	struct gsym_answer found;         /* memory */
	run_detail_vec details;           /* likewise; of QUERY_DATA the declaration, or none */
	struct gsym_diag details_lost;    /* why an answer had none, the last one; empty: each had */
};

/* Answers @query; the errors of one answer are part of it. 0 or -ENOMEM. */
int symbol_answer_make(struct module_table *table, const struct symbol_query *query,
		       struct symbol_answer *answer);

/* Answers @query from @module, which is open. 0 or -ENOMEM. */
int symbol_answer_from(struct symbol_module *module, const struct symbolizer_options *options,
		       const struct symbol_query *query, struct symbol_answer *answer);

void symbol_answer_deinit(struct symbol_answer *answer);

/* Appends the name of a function of the module as the options want it, escaped. */
void symbol_name_append(struct text_buf *out, const struct symbol_answer *answer, const char *stored,
			enum escape_style style);

/* Likewise that of answer->data, which there must be. */
void symbol_data_append(struct text_buf *out, const struct symbol_answer *answer, enum escape_style style);

/* The last part of a name that is not mangled: "f" of "ns::f". */
const char *symbol_name_last(const char *name);

#endif
