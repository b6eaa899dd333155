#include "cli/symbolizer/symbol_answer.h"

#include <errno.h>
#include <string.h>

#include "gsym/base/address.h"
#include "gsym/read/name_index.h"

enum { SYMBOL_PLACES_MAX = 1024 };

void symbol_answer_deinit(struct symbol_answer *answer)
{
	vec_free(&answer->frames);
	run_details_cut(&answer->details, 0);
	vec_free(&answer->details);
	gsym_answer_deinit(&answer->found);
}

/* ---- Frames ---- */

static int push_frame(struct symbol_answer *answer, const struct gsym_frame *named,
		      const struct gsym_frame *at, uint64_t addr)
{
	const struct shown_frame frame = {.name = named->name,
					  .dir = at->dir,
					  .base = at->base,
					  .line = at->line,
					  .start = addr - named->offset,
					  .has_start = true};
	return vec_push(&answer->frames, frame);
}

/* The function that has code of its own, with the line of the innermost one. */
static int push_outermost(struct symbol_answer *answer, uint64_t addr)
{
	const struct gsym_answer *found = &answer->found;
	return push_frame(answer, &found->frames[found->n_frames - 1], &found->frames[0], addr);
}

/* Fills answer->found. -ENOENT also for a damaged record; -ENOMEM. */
static int look_up(struct symbol_answer *answer, uint64_t addr)
{
	unsigned flags = answer->options->skip_line_zero ? GSYM_LOOKUP_NEAR : 0;
	const struct gsym_reader *reader = answer->module->image.reader;
	int err = reader ? gsym_lookup_flags(reader, addr, 0, flags, &answer->found, NULL) : -ENOENT;
	answer->has_function = !err && answer->found.n_frames;
	return answer->has_function || err == -ENOMEM ? err : -ENOENT;
}

/* Without inlined frames LLVM's own style names the function in the symbol table, others the innermost. */
static bool wants_outermost(const struct symbolizer_options *options)
{
	return options->style >= ANSWER_LLVM && options->names == FUNCTION_NAMES_LINKAGE;
}

/* Returns whether a frame starts where its symbol does. */
static bool starts_at_symbol(const struct symbol_answer *answer, size_t index)
{
	const struct symbolizer_options *options = answer->options;
	return wants_outermost(options) && (!options->inlines || index + 1 == answer->frames.n);
}

static void ask_details(struct symbol_answer *answer, const struct detail_question *question)
{
	struct gsym_diag diag;
	if (image_details_ask(answer->module->image.details, question, &answer->details, &diag))
		answer->details_lost = diag;
}

/* Adds to the frames from @first on what GSYM does not hold of @addr, and takes their starts from there. */
static void add_details(struct symbol_answer *answer, uint64_t addr, size_t first)
{
	const struct image_details *details = answer->module->image.details;
	size_t known = answer->details.n;
	bool has_file = false;
	for (size_t i = first; i < answer->frames.n && details; i++) {
		struct shown_frame *frame = &answer->frames.v[i];
		has_file |= frame->base[0] || frame->dir[0];
		frame->has_start = starts_at_symbol(answer, i);
	}
	if (has_file)
		ask_details(answer, &(struct detail_question){
					    .addr = addr,
					    .line = answer->found.frames[0].line,
					    .n_source = answer->options->context > UINT32_MAX
								? UINT32_MAX
								: (uint32_t)answer->options->context});
	for (size_t i = first; i < answer->frames.n && i - first < answer->details.n - known; i++) {
		struct shown_frame *frame = &answer->frames.v[i];
		const struct frame_detail *detail = &answer->details.v[known + i - first].frame;
		if (detail->line != frame->line)
			continue;
		frame->detail = *detail;
		if (!starts_at_symbol(answer, i)) {
			frame->start = detail->start;
			frame->has_start = detail->has_start;
		}
	}
}

static int push_frames(struct symbol_answer *answer, uint64_t addr)
{
	const struct gsym_answer *found = &answer->found;
	int err = 0;
	if (!answer->options->inlines && wants_outermost(answer->options))
		return push_outermost(answer, addr);
	for (size_t i = 0; !err && i < (answer->options->inlines ? found->n_frames : 1); i++)
		err = push_frame(answer, &found->frames[i], &found->frames[i], addr);
	return err;
}

/*
 * Adds what the symbol table knows where no debug information does: the file that a local symbol is from, and
 * in LLVM's dialects, where they ask for the symbol table's names, the name of a label.
 */
static int add_from_symbols(struct symbol_answer *answer, uint64_t addr)
{
	const struct symbolizer_options *options = answer->options;
	const struct symbol_table *table;
	bool is_gnu = options->dialect == DIALECT_BINUTILS;
	size_t n = answer->frames.n;
	struct shown_frame *frame = n ? &answer->frames.v[n - 1] : NULL;
	if ((frame && (frame->dir[0] || frame->base[0])) ||
	    (is_gnu ? !n : options->names != FUNCTION_NAMES_LINKAGE))
		return 0;
	int err = module_symbols(answer->module, answer->options, &table);
	const struct object_symbol *symbol = err ? NULL : symbol_table_at(table, addr);
	if (!symbol)
		return err;
	bool has_file = symbol->file && (symbol->is_local || (is_gnu && symbol->is_alone));
	const struct shown_frame found = {.name = frame ? frame->name : symbol->name,
					  .dir = "",
					  .base = has_file ? symbol->file : "",
					  .start = frame ? frame->start : symbol->addr,
					  .has_start = true};
	answer->frames.n -= frame != NULL;
	return vec_push(&answer->frames, found);
}

static int add_code(struct symbol_answer *answer, uint64_t addr)
{
	size_t first = answer->frames.n;
	int err = look_up(answer, addr);
	if (!err)
		err = push_frames(answer, addr);
	if (!err)
		add_details(answer, addr, first);
	return err && err != -ENOENT ? err : add_from_symbols(answer, addr);
}

/* ---- Addresses ---- */

/* Adds where the section of the options begins. 0 or -ENOMEM. */
static int add_section_start(struct symbol_answer *answer, uint64_t *addr)
{
	struct object_file *object = NULL;
	const char *name = answer->options->section;
	int err = name ? module_object(answer->module, &object) : 0;
	const struct object_section *section = object ? object_section(object, name) : NULL;
	*addr += section ? section->addr : 0;
	return err;
}

/* The address in the file. 0 or -ENOMEM. */
static int link_address(struct symbol_answer *answer, uint64_t addr, uint64_t *ret)
{
	*ret = addr - answer->options->adjust_vma +
	       (answer->options->relative ? answer->module->image.base : 0);
	*ret = address_from_usual_base(*ret, answer->module->image.relative_end);
	return add_section_start(answer, ret);
}

static int answer_code(struct symbol_answer *answer)
{
	int err = link_address(answer, answer->addr, &answer->link);
	return err ? err : add_code(answer, answer->link);
}

/* ---- Symbols ---- */

typedef VEC(uint64_t) address_vec;

/* Aliases are in the symbol table only. */
static int find_alias(struct symbol_answer *answer, struct text_part name, address_vec *ret)
{
	const struct symbol_table *table;
	int err = module_symbols(answer->module, answer->options, &table);
	const struct object_symbol *symbol = err ? NULL : symbol_table_called(table, name.text, name.size);
	return symbol ? vec_push(ret, symbol->addr) : err;
}

/* The addresses of the functions that are called @name. */
static int find_named(struct symbol_answer *answer, struct text_part name, address_vec *ret)
{
	const struct gsym_reader *reader = answer->module->image.reader;
	struct name_search search;
	struct name_hit hit;
	bool has_names = reader && name.size;
	int err = has_names ? name_search_begin(&search, reader, name.text, name.size) : 0;
	while (!err && has_names && ret->n < SYMBOL_PLACES_MAX && name_search_next(&search, &hit))
		err = vec_push(ret, gsym_reader_address(reader, hit.index));
	return err || ret->n || !name.size ? err : find_alias(answer, name, ret);
}

static int push_symbol(struct symbol_answer *answer, uint64_t addr)
{
	int err = look_up(answer, addr);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (answer->options->names == FUNCTION_NAMES_LINKAGE || answer->options->names == FUNCTION_NAMES_NONE)
		return push_outermost(answer, addr);
	return push_frame(answer, &answer->found.frames[0], &answer->found.frames[0], addr);
}

static int add_symbol(struct symbol_answer *answer, uint64_t addr)
{
	size_t first = answer->frames.n;
	int err = push_symbol(answer, addr);
	if (!err)
		add_details(answer, addr, first);
	return err;
}

/* addr2line takes the first function of that name, LLVM all. */
static int answer_symbol(struct symbol_answer *answer)
{
	const struct symbol_query *query = answer->query;
	bool as_address = query->may_be_address;
	address_vec found = {0};
	int err = find_named(answer, query->symbol, &found);
	if (as_address && !err) {
		if (found.n)
			answer->addr = found.v[0] + query->offset;
		err = found.n ? add_code(answer, answer->addr) : answer_code(answer);
	}
	for (size_t i = 0; !err && !as_address && i < found.n; i++)
		err = add_symbol(answer, found.v[i] + query->offset);
	vec_free(&found);
	return err;
}

/* ---- Data ---- */

static int answer_data(struct symbol_answer *answer)
{
	uint64_t addr;
	const struct symbol_table *table;
	int err = link_address(answer, answer->addr, &addr);
	if (!err)
		err = module_symbols(answer->module, answer->options, &table);
	if (!err)
		answer->data = symbol_table_at(
			table, answer->options->tagged ? addr : symbol_address_untagged(addr));
	if (answer->data)
		ask_details(answer, &(struct detail_question){.addr = answer->data->addr, .is_data = true});
	return err;
}

/* ---- All ---- */

/* The messages of LLVM where there is one for it. */
static const char *message_of(const struct symbol_module *module, int err)
{
	if (err == -ENOENT && !module->by_id)
		return "No such file or directory";
	if (err == -EISDIR)
		return "Is a directory";
	if (err == -ENOEXEC || err == -EMEDIUMTYPE)
		return "The file was not recognized as a valid object file";
	return module->diag.text;
}

static void answer_begin(struct symbol_answer *answer, const struct symbolizer_options *options,
			 const struct symbol_query *query, struct symbol_module *module)
{
	answer->options = options;
	answer->query = query;
	answer->module = module;
	answer->addr = query->addr;
	if (options->dialect == DIALECT_BINUTILS && module && module->is_32_bit)
		answer->addr = (uint32_t)answer->addr; /* they may be given with their sign */
	answer->error = query->why;
	answer->frames.n = 0;
	answer->data = NULL;
	run_details_cut(&answer->details, 0);
}

int symbol_answer_from(struct symbol_module *module, const struct symbolizer_options *options,
		       const struct symbol_query *query, struct symbol_answer *answer)
{
	answer_begin(answer, options, query, module);
	switch (query->kind) {
	case QUERY_CODE: return answer_code(answer);
	case QUERY_SYMBOL: return answer_symbol(answer);
	case QUERY_DATA: return answer_data(answer);
	default: return 0;
	}
}

int symbol_answer_make(struct module_table *table, const struct symbol_query *query,
		       struct symbol_answer *answer)
{
	struct symbol_module *module = NULL;
	int err = query->kind == QUERY_INVALID ? 0 : module_find(table, query, &module);
	if (!err && module)
		return symbol_answer_from(module, table->options, query, answer);
	answer_begin(answer, table->options, query, module);
	if (module && !module->has_told_err)
		answer->error = message_of(module, err);
	return err == -ENOMEM ? err : 0;
}
