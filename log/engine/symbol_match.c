#include "log/engine/symbol_match.h"

#include <errno.h>
#include <string.h>

#include "gsym/base/vec.h"
#include "gsym/read/name_index.h"
#include "gsym/read/start_index.h"
#include "gsym/base/text_buf.h"
#include "gsym/render/demangle/demangle_parts.h"
#include "gsym/render/shown_names.h"
#include "log/line/log_format.h"

enum {
	SAME_NAME_MAX = 4096, /* functions of one name examined */
	PADDING_MAX = 64,
	OVERRIDDEN_MAX = 16,  /* weak definitions in a row */
	SECTION_MAX = 16,     /* functions before the last of a module's section */
	LAYOUT_MAX = 64,      /* functions of one name whose surroundings are examined */
	NAME_SIZE_MAX = 4096, /* longer ones are no weak definition's */
};

/* A function of the name. */
struct named_function {
	uint32_t index, which; /* as of struct name_hit */
	uint64_t start;        /* from the base address */
	uint64_t size;         /* bytes of code, 0 = not known */
	uint64_t room;         /* bytes up to the next start */
};

/* The first function to start after @off; the number of functions, if none does. */
static size_t next_start(const struct gsym_reader *reader, uint64_t off)
{
	size_t next = reader_count_starts(reader, off);
	return next < reader->info.num_addresses && reader_addr_off(reader, next) > off
		       ? next
		       : reader->info.num_addresses;
}

/* The distance from @start to function @index; UINT64_MAX after the last. */
static uint64_t distance(const struct gsym_reader *reader, uint64_t start, size_t index)
{
	return index < reader->info.num_addresses ? reader_addr_off(reader, index) - start : UINT64_MAX;
}

/* Whether @logged is @size and padding, in @room. */
static bool is_padded(uint64_t logged, uint64_t size, uint64_t room)
{
	return logged >= size && logged <= room && logged - size < PADDING_MAX;
}

/* Whether another function has the name of function @index, too. 0 or -ENOMEM. */
static int is_overridden(const struct gsym_reader *reader, size_t index, bool *ret)
{
	struct function_info record;
	struct name_search search;
	struct name_hit hit;
	const char *name;
	*ret = false;
	if (reader_parse_record(reader, index, &record, NULL) ||
	    !(name = gsym_reader_string(reader, record.name)))
		return 0;
	size_t size = strnlen(name, NAME_SIZE_MAX);
	if (size == NAME_SIZE_MAX)
		return 0;
	if (name_search_begin(&search, reader, name, size))
		return -ENOMEM;
	*ret = name_search_next(&search, &hit) && name_search_next(&search, &hit);
	return 0;
}

/* Whether the size in the log ends where the weak definitions after the function do. 0 or -ENOMEM. */
static int spans_overridden(const struct gsym_reader *reader, const struct named_function *f, uint64_t logged,
			    bool *ret)
{
	size_t next = next_start(reader, f->start);
	int err = 0;
	*ret = false;
	for (unsigned n = 0; n < OVERRIDDEN_MAX && logged > distance(reader, f->start, next); n++) {
		bool overridden;
		uint64_t off = reader_addr_off(reader, next), end = off - f->start;
		err = is_overridden(reader, next, &overridden);
		if (err || !overridden)
			return err;
		end += reader_func_size(reader, next);
		next = next_start(reader, off);
		uint64_t room = distance(reader, f->start, next);
		/* Some of them may have neither symbol nor DWARF. */
		*ret = logged == room || is_padded(logged, end, room);
	}
	return err;
}

/* Whether @logged is @size and what is left of a page of @page bytes, counted from where a section begins. */
static bool fills_page(uint64_t logged, uint64_t size, uint64_t from_section, uint64_t page)
{
	return logged - size < page && (from_section + logged) % page == 0;
}

/*
 * Whether the size in the log is that of the last function of a module's section. GSYM has no sections: that
 * of the last function ends after it, any other begins with the function or with one of those before it, at
 * the beginning of a page. Code that runs once, as in .init.text, is packed without padding. Pages have any
 * of three sizes, and a log does not say which.
 */
static bool ends_page(const struct gsym_reader *reader, const struct named_function *f, uint64_t logged)
{
	static const uint64_t pages[] = {0x1000, 0x4000, 0x10000};
	if (logged < f->size || (f->room > f->size && f->room != UINT64_MAX))
		return false;
	if (f->room == UINT64_MAX && logged - f->size < pages[0])
		return true;
	for (size_t i = f->index, n = 0; n < SECTION_MAX; i--, n++) {
		uint64_t from_section = f->start - reader_addr_off(reader, i);
		for (size_t k = 0; k < ARRAY_SIZE(pages); k++)
			if (fills_page(logged, f->size, from_section, pages[k]))
				return true;
		if (!i)
			break;
	}
	return false;
}

static bool is_assembly(const struct gsym_frame *frame)
{
	static const char *const suffixes[] = {".S", ".s", ".asm"};
	size_t size = frame->base ? strlen(frame->base) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t n = strlen(suffixes[i]);
		if (size > n && memcmp(frame->base + size - n, suffixes[i], n) == 0)
			return true;
	}
	return false;
}

/*
 * Whether the size in the log can end at a label inside the function. Assembly has such symbols, as
 * ftrace_caller() of Linux, and GSYM leaves them out. 0 or -ENOMEM.
 */
static int ends_at_label(const struct gsym_reader *reader, const struct named_function *f, uint64_t logged,
			 bool *ret)
{
	struct gsym_answer scratch = {.n_frames = 0};
	*ret = false;
	if (!logged || logged >= f->size)
		return 0;
	int err = gsym_lookup(reader, gsym_reader_address(reader, f->index) + logged, &scratch, NULL);
	*ret = !err && is_assembly(&scratch.frames[0]);
	gsym_answer_deinit(&scratch);
	return err == -ENOMEM ? err : 0;
}

/* How well the size in the log is that of the function: 2 equal, 1 but for padding, 0 not at all. */
static unsigned rank_fit(const struct named_function *f, uint64_t logged)
{
	/* A symbol inside the function ends it, for the kernel. */
	uint64_t size = f->size < f->room ? f->size : f->room;
	if (!logged || logged == f->size || logged == f->room)
		return 2;
	return is_padded(logged, size, f->room) || (!f->size && logged < f->room);
}

/* The same for what only the kernel's symbols explain. 0 or -ENOMEM. */
static int fits_layout(const struct gsym_reader *reader, const struct named_function *f,
		       const struct kernel_symbol *symbol, unsigned *ret)
{
	bool ends = false;
	int err = symbol->size > f->room ? spans_overridden(reader, f, symbol->size, &ends)
					 : ends_at_label(reader, f, symbol->size, &ends);
	*ret = ends || (symbol->of_module && ends_page(reader, f, symbol->size));
	return err;
}

/* The function that fits best. Gives how well, and how many fit as well. */
static int find_best(const struct gsym_reader *reader, const struct kernel_symbol *symbol,
		     struct named_function *ret, unsigned *ret_fit, unsigned *ret_n)
{
	struct name_search search;
	struct name_hit hit;
	unsigned seen = 0;
	int err = name_search_begin(&search, reader, symbol->name, symbol->name_size);
	*ret_fit = *ret_n = 0;
	while (!err && seen < SAME_NAME_MAX && name_search_next(&search, &hit)) {
		uint64_t start = reader_addr_off(reader, hit.index);
		struct named_function f = {
			.index = hit.index,
			.which = hit.which,
			.start = start,
			.size = hit.size,
			.room = distance(reader, start, next_start(reader, start)),
		};
		unsigned fits = rank_fit(&f, symbol->size);
		if (!fits && seen < LAYOUT_MAX)
			err = fits_layout(reader, &f, symbol, &fits);
		if (!seen++ || fits > *ret_fit) {
			*ret = f;
			*ret_fit = fits;
			*ret_n = 0;
		}
		*ret_n += fits == *ret_fit;
	}
	return err;
}

int symbol_match(const struct gsym_reader *reader, const struct kernel_symbol *symbol,
		 struct symbol_match *ret)
{
	struct named_function f;
	unsigned fits, n;
	int err = find_best(reader, symbol, &f, &fits, &n);
	if (err || !n)
		return err ? err : -ENOENT;
	*ret = (struct symbol_match){
		.address = gsym_reader_address(reader, f.index) + symbol->off,
		.index = f.index,
		.which = f.which,
		.size = f.size,
	};
	if (!fits)
		return -ESTALE;
	if (n > 1)
		return -ENOTUNIQ;
	return symbol->off < f.room && (!f.size || symbol->off < f.size) ? 0 : -ENOENT;
}

/* ---- A function that is named besides an address ---- */

enum {
	CLAIM_SLACK = 1, /* bytes: only one of both may have been moved back into a call */
	CALL_SLACK = 8   /* the same by a whole call, where the name is known to be that of the function */
};

static bool starts_there(const struct gsym_reader *reader, uint64_t start)
{
	uint64_t base = gsym_reader_info(reader)->base_address, off = start - base;
	if (start < base || off > UINT64_MAX - CLAIM_SLACK)
		return false;
	size_t n = reader_count_starts(reader, off + CLAIM_SLACK);
	return n && reader_addr_off(reader, n - 1) + CLAIM_SLACK >= off;
}

/* Whether the function at the address has the very name, but starts elsewhere. */
static bool is_moved(const struct gsym_reader *reader, const struct log_claim *claim, uint64_t address,
		     const char *name)
{
	uint64_t off = address - gsym_reader_info(reader)->base_address;
	size_t n = reader_count_starts(reader, off);
	uint64_t in_image = n ? off - reader_addr_off(reader, n - 1) : 0;
	uint64_t distance = in_image < claim->off ? claim->off - in_image : in_image - claim->off;
	return claim->is_whole && !claim->is_function && distance > CALL_SLACK &&
	       strlen(name) == claim->name_size && memcmp(name, claim->name, claim->name_size) == 0;
}

/*
 * Whether a function at the address is called so; mangled names have the length before each component. The
 * symbol's own function would start where the log says.
 */
static int is_called(const struct gsym_reader *reader, const struct log_claim *claim, uint64_t address,
		     bool *ret)
{
	struct gsym_answer answer = {.n_frames = 0};
	int err = gsym_lookup(reader, address, &answer, NULL);
	*ret = err && err != -ENOMEM; /* in no function: that is told, too */
	for (size_t i = 0; !err && i < answer.n_frames && !*ret; i++)
		*ret = memmem(answer.frames[i].name, strlen(answer.frames[i].name), claim->name,
			      claim->name_size) != NULL;
	if (!err && answer.n_frames &&
	    is_moved(reader, claim, address, answer.frames[answer.n_frames - 1].name))
		*ret = false;
	gsym_answer_deinit(&answer);
	return err == -ENOMEM ? err : 0;
}

static int is_function_name(const struct gsym_reader *reader, const struct log_claim *claim, bool *ret)
{
	struct name_search search;
	struct name_hit hit;
	*ret = claim->is_function;
	if (*ret)
		return 0;
	int err = name_search_begin(&search, reader, claim->name, claim->name_size);
	if (!err)
		*ret = name_search_next(&search, &hit);
	return err;
}

int symbol_claim_check(const struct gsym_reader *reader, const struct log_claim *claim, uint64_t address,
		       enum claim_verdict *ret)
{
	bool called = false, known = false;
	*ret = starts_there(reader, address - claim->off) ? CLAIM_FITS : CLAIM_UNKNOWN;
	if (*ret == CLAIM_FITS)
		return 0;
	int err = is_called(reader, claim, address, &called);
	if (!err && !called)
		err = is_function_name(reader, claim, &known);
	if (known)
		*ret = CLAIM_DIFFERS;
	return err;
}

static bool has_text(struct text_scan text, struct text_scan part)
{
	return memmem(text.at, scan_left(&text), part.at, scan_left(&part));
}

int symbol_match_start(const struct gsym_reader *reader, const struct kernel_symbol *symbol, uint64_t start,
		       struct symbol_match *ret)
{
	struct gsym_answer answer = {.n_frames = 0};
	struct log_claim claim;
	if (!log_claim_name(symbol->name, symbol->name + symbol->name_size, &claim))
		return -ENOENT;
	int err = gsym_lookup(reader, start, &answer, NULL);
	if (!err && (answer.func_start != start || symbol->off >= answer.func_size))
		err = -ENOENT;
	if (!err) {
		const char *name = answer.frames[answer.n_frames - 1].name;
		struct text_scan stored = scan_from(name, name + strlen(name));
		struct text_scan logged = scan_from(claim.name, claim.name + claim.name_size);
		err = has_text(stored, logged) || has_text(logged, stored) ? 0 : -ENOENT;
		*ret = (struct symbol_match){.address = start + symbol->off};
	}
	gsym_answer_deinit(&answer);
	return err && err != -ENOMEM ? -ENOENT : err;
}

/* ---- Demangled names ---- */

enum { CANDIDATES_MAX = 64 }; /* functions of one name examined */

/* Appends the name as answers spell it: WinDbg writes no blank after commas, others one between brackets. */
static void spell_name(struct text_buf *out, const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		text_char(out, name[i]);
		if (name[i] == ',' && i + 1 < size && name[i + 1] != ' ')
			text_char(out, ' ');
	}
	if (!out->failed)
		out->n = demangle_restyle(out->v, out->n);
}

/* The only function among the hits that @off is inside. Functions that share their code are one. */
static int find_only(struct name_search *search, uint64_t off, struct symbol_match *ret)
{
	struct name_hit hit;
	int err = -ENOENT;
	for (unsigned n = 0; name_search_next(search, &hit); n++) {
		uint64_t start = gsym_reader_address(search->reader, hit.index);
		if (n == CANDIDATES_MAX)
			return -ENOTUNIQ;
		if (hit.size ? off >= hit.size : off)
			continue;
		if (!err && start != gsym_reader_address(search->reader, ret->index))
			return -ENOTUNIQ;
		if (err)
			*ret = (struct symbol_match){.index = hit.index,
						     .which = hit.which,
						     .address = start + off,
						     .size = hit.size};
		err = 0;
	}
	return err;
}

int shown_match(const struct filter_image *image, const struct kernel_symbol *symbol,
		struct symbol_match *ret)
{
	struct shown_search state = {.shown.mode = image->has_ada ? DEMANGLE_ADA : DEMANGLE_AUTO};
	struct name_search search;
	struct text_buf name = {0};
	int err = -ENOENT;
	text_reserve(&name, 2 * symbol->name_size);
	spell_name(&name, symbol->name, symbol->name_size);
	for (unsigned form = 0; err == -ENOENT && !name.failed && form < SHOWN_FORMS; form++) {
		shown_search_begin(&search, &state, image->reader, image->shown, (enum shown_form)form,
				   name.v, name.n);
		err = find_only(&search, symbol->off, ret);
	}
	err = name.failed || state.shown.failed ? -ENOMEM : err;
	shown_search_deinit(&state);
	text_deinit(&name);
	return err;
}
