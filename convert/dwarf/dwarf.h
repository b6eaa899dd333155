/*
 * dwarf.h - the converter's view of .debug_*: units, abbreviations, attribute values, names, ranges, lines.
 *
 * Sources: DWARF 2 to 5 (section numbers below are those of version 5) and the GNU extensions that gcc, clang
 * and dwz write. A struct dwarf is immutable once opened and shared by all threads; everything a thread needs
 * while it reads one unit is in a struct unit, which it reuses for the next one.
 */
#ifndef CONVERT_DWARF_DWARF_H
#define CONVERT_DWARF_DWARF_H

#include "convert/object/object_file.h"
#include "convert/record/budget.h"
#include "convert/record/warning.h"
#include "gsym/base/cursor.h"
#include "gsym/base/search.h"
#include "gsym/base/text_buf.h"

enum {
	DIE_DEPTH_MAX = 2048,     /* nesting of entries: of the deepest inlined calls, each in a block */
	REFERENCE_DEPTH_MAX = 16, /* abstract_origin -> specification -> ... */
};

#define NO_LINES UINT64_MAX

/* The header of a unit (7.5.1), all that is kept for every unit of the file. */
struct unit_header {
	uint64_t off, end; /* in .debug_info, length field included */
	uint64_t abbrev_off;
	uint32_t die_off; /* first entry, counted from off */
	uint16_t version;
	uint8_t addr_size; /* 2, 4 or 8 */
	uint8_t off_size;  /* 4 or 8: the 32- and 64-bit formats */
	uint8_t type;      /* DW_UT_*; DW_UT_compile before version 5 */
	uint64_t dwo_id;   /* of skeletons and split units, version 5 */
	/* its bytes, those of its line table unless the unit before names that, too, and shares of all */
	uint64_t input;
	uint64_t line_off; /* of its line table, if that may be read, else NO_LINES */
	uint16_t language; /* DW_LANG_*; 0: not known */
};

/* The debug sections of one file, or of one unit's share of a .dwp package. */
struct dwarf {
	struct object_file *object;
	bool big_endian;
	bool split;                    /* a .dwo's sections: units are split units */
	uint64_t mode_bits;            /* that of the object file */
	const struct dwarf *alternate; /* the alternate (dwz) or supplementary file; NULL: not found */
	/* String sections end with their last NUL, so that "offset < size" proves a terminated string. */
	struct span info, abbrev, line, line_str, str, str_offsets, addr, ranges, rnglists;
	struct unit_header *units; /* ascending by offset */
	size_t n_units;
	uint64_t bytes;              /* of all sections; a compressed one counts as section_input() */
	struct dwarf_stream *stream; /* .debug_info is still being inflated: see dwarf_stream.h */
	uint64_t scanned;            /* bytes of abbreviations and line tables that units read, in all */
};

/*
 * Loads the sections and finds the units; a file without units is no error.
 *
 * @dwarf:   overwritten
 * @object:  borrowed until dwarf_close()
 * @split:   use the sections of a .dwo file
 * @threads: to decompress with
 * @warnings: damaged sections and unit headers are counted here
 *
 * 0 or -ENOMEM.
 */
int dwarf_open(struct dwarf *dwarf, struct object_file *object, bool split, unsigned threads,
	       struct warnings *warnings);
void dwarf_close(struct dwarf *dwarf);

/* Returns the pages of all sections but .debug_info to the system, see object_release(). On any thread. */
void dwarf_release_tables(const struct dwarf *dwarf);

/* The two steps of dwarf_open(), with its parameters: sections, then units. 0 or -ENOMEM. */
int dwarf_load_sections(struct dwarf *dwarf, struct object_file *object, bool split, unsigned threads,
			struct warnings *warnings);
int dwarf_find_units(struct dwarf *dwarf, struct warnings *warnings);

/* The two parts of dwarf_load_sections() for a file that is not split: all but .debug_info, then that. */
int dwarf_load_tables(struct dwarf *dwarf, struct object_file *object, unsigned threads,
		      struct warnings *warnings);
int dwarf_load_info(struct dwarf *dwarf, struct warnings *warnings);

/*
 * Reads one header and moves the cursor, of all of .debug_info, past the unit; the cursor fails when the next
 * unit cannot be found. WARN_COUNT: no defect.
 */
enum warning unit_header_read(struct cursor *info, struct unit_header *ret);

/* Whether units of this type may have code. */
bool unit_type_has_code(uint8_t type);

/* ---- Abbreviations (7.5.3), compiled once for units that follow each other and share a table ---- */

/* Kinds of entries by their relevance. DIE_OTHER can neither be code nor contain it. */
enum die_kind {
	DIE_OTHER,
	DIE_SCOPE, /* may contain code: namespace, module, ... */
	DIE_TYPE,  /* structure, class, union: may contain code, but not in C */
	DIE_SUBPROGRAM,
	DIE_INLINED,
	DIE_BLOCK,     /* lexical block and its like */
	DIE_CALL_SITE, /* skipped like DIE_OTHER unless call sites are wanted */
	DIE_UNIT,
};

/* The attributes that are read: indexes into struct die's attr. */
enum attr_slot {
	SLOT_NONE, /* skipped */
	SLOT_SIBLING,
	SLOT_NAME,
	SLOT_LINKAGE_NAME,
	SLOT_LOW_PC,
	SLOT_HIGH_PC,
	SLOT_RANGES,
	SLOT_ORIGIN,
	SLOT_SPECIFICATION,
	SLOT_DECLARATION,
	SLOT_DECL_FILE,
	SLOT_DECL_LINE,
	SLOT_CALL_FILE,
	SLOT_CALL_LINE,
	SLOT_STMT_SEQUENCE,
	SLOT_RETURN_PC, /* of call sites */
	SLOT_CALL_ORIGIN,
	SLOT_TAIL_CALL,
	/* of inlined calls only, where a table keeps them, which share numbers with those of call sites */
	SLOT_CALL_COLUMN = SLOT_RETURN_PC,
	SLOT_DISCRIMINATOR,
	/* of unit entries only */
	SLOT_STMT_LIST = SLOT_TAIL_CALL + 1,
	SLOT_COMP_DIR,
	SLOT_LANGUAGE,
	SLOT_STR_OFFSETS_BASE,
	SLOT_ADDR_BASE,
	SLOT_RNGLISTS_BASE,
	SLOT_GNU_RANGES_BASE,
	SLOT_DWO_NAME,
	SLOT_DWO_ID,
	/* of variables and members only, where a table keeps columns */
	SLOT_LOCATION = SLOT_STMT_LIST,
	/* of types, their parts and template parameters only, which share numbers with those of units */
	SLOT_TYPE = SLOT_STMT_LIST,
	SLOT_CONST_VALUE,
	SLOT_TEMPLATE_NAME,
	SLOT_CONTAINING_TYPE,
	SLOT_COUNT_OF_ARRAY,
	SLOT_LOWER_BOUND,
	SLOT_UPPER_BOUND,
	SLOT_ARTIFICIAL,
	SLOT_CALLING_CONVENTION,
	SLOT_REFERENCE,
	SLOT_RVALUE_REFERENCE,
	/* of basic types */
	SLOT_BYTE_SIZE = SLOT_COUNT_OF_ARRAY,
	SLOT_COUNT = SLOT_RVALUE_REFERENCE + 1,
};

/* One step over an entry's attributes: a run of bytes, or one attribute. */
struct attr_op {
	uint8_t slot;  /* enum attr_slot */
	uint8_t class; /* enum value_class of a simple form, see struct abbrev; else VALUE_NONE */
	uint8_t size;  /* bytes of a simple form: 0 to 8 */
	uint16_t form; /* 0: skip @value bytes */
	uint16_t at;   /* bytes before a simple form */
	int64_t value; /* bytes to skip, or what a form without bytes stands for */
};

struct abbrev {
	uint64_t code;
	uint32_t first_op, n_ops;
	int32_t fixed_size; /* bytes of all attributes, or -1 when that depends on the entry */
	int32_t sibling_at; /* where DW_AT_sibling is, or -1 when absent or its place varies */
	uint16_t tag;
	uint8_t sibling_size;
	uint8_t kind; /* enum die_kind */
	bool has_children;
	bool simple;   /* of fixed size, and so are all forms that are read, see form_simple_class() */
	bool bare;     /* of fixed size, and without any attribute that gives it code */
	bool declares; /* has DW_AT_declaration */
};

static_assert(sizeof(struct abbrev) == 32, "found by its number with a shift");

struct abbrev_table {
	VEC(struct abbrev) abbrevs;
	VEC(struct attr_op) ops;
	bool keeps_columns; /* set by the user: inlined calls have the column of the call */
	bool dense;         /* abbrevs.v[code - 1] is the abbreviation, which is what compilers write */
	bool has_templates; /* an entry may be a template parameter */
	bool is_cut;        /* there are further ones behind a damaged one */
	const struct dwarf *dwarf; /* the table's file, so that units that share a table read it once; NULL:
				      nothing was read */
	struct unit_header read_for;
};

/* Compiles the table of @unit, unless it is the current one. 0, -EBADMSG when it is damaged, -ENOMEM. */
int abbrev_table_read(struct abbrev_table *table, const struct dwarf *dwarf, const struct unit_header *unit);
/* Invalidates the table, because its file is about to be closed. */
void abbrev_table_forget(struct abbrev_table *table);
void abbrev_table_deinit(struct abbrev_table *table);

/* The abbreviation @code, or NULL. Code 0 has none. */
static inline const struct abbrev *abbrev_find(const struct abbrev_table *table, uint64_t code)
{
	if (table->dense)
		return code - 1 < table->abbrevs.n ? &table->abbrevs.v[code - 1] : NULL;
	size_t lo = PARTITION_POINT(0, table->abbrevs.n, mid, table->abbrevs.v[mid].code < code);
	return lo < table->abbrevs.n && table->abbrevs.v[lo].code == code ? &table->abbrevs.v[lo] : NULL;
}

/* ---- Attribute values (7.5.5) ---- */

enum value_class {
	VALUE_NONE, /* absent, or of a form that is not used */
	VALUE_UINT, /* constant, flag, section offset */
	VALUE_SINT,
	VALUE_ADDRESS,
	VALUE_ADDRESS_INDEX, /* into .debug_addr */
	VALUE_STRING,        /* in memory; NULL if it is outside of its section */
	VALUE_STRING_INDEX,  /* into .debug_str_offsets */
	VALUE_REFERENCE,     /* offset in .debug_info */
	VALUE_LIST_INDEX,    /* into the offsets of .debug_rnglists */
	/* offset in .debug_info of the alternate file, or a string of one that is not here */
	VALUE_ALTERNATE,
};

struct value {
	enum value_class class;
	uint64_t u;
	const char *str;
};

/* Bytes of a form whose size never depends on the entry, or -1. */
int form_fixed_size(uint64_t form, const struct unit_header *unit);

/*
 * The class of the values of a form that is a number of fixed size, or has no bytes; VALUE_NONE for others.
 * A string is its offset in .debug_str.
 */
enum value_class form_simple_class(uint64_t form);

/* Skips an attribute; fails the cursor on an unknown form. */
void form_skip(struct cursor *c, uint64_t form, const struct unit_header *unit);

/*
 * Reads an attribute.
 *
 * @c:        at the attribute, moves past it; fails on an unknown form
 * @form:     DW_FORM_*
 * @implicit: the value of DW_FORM_implicit_const
 * @dwarf:    the sections strings are in
 * @unit:     for the sizes of forms and the base of references
 * @ret:      VALUE_NONE for forms that are not used
 */
void form_read(struct cursor *c, uint64_t form, int64_t implicit, const struct dwarf *dwarf,
	       const struct unit_header *unit, struct value *ret);

/* ---- A unit while it is read ---- */

struct die {
	uint64_t off; /* in .debug_info */
	const struct abbrev *abbrev;
	struct value attr[SLOT_COUNT];
	uint32_t present; /* bit per slot */
};

struct scope {
	uint64_t off, end; /* entries in [off, end) of .debug_info are inside; off is the scope's own */
	uint32_t parent;   /* index, or SCOPE_NONE */
	uint16_t tag;
	bool skipped; /* scopes inside it are not listed */
};

#define SCOPE_NONE UINT32_MAX

struct unit {
	const struct dwarf *dwarf; /* where its entries are */
	const struct dwarf *main;  /* where its addresses and lines are: another file when it is split */
	const struct unit_header *header;
	struct warnings *warnings;
	struct abbrev_table abbrevs;
	uint64_t low_pc; /* base of range lists */
	uint64_t str_offsets_base;
	uint64_t addr_base;
	uint64_t rnglists_base;
	uint64_t ranges_base; /* DW_AT_GNU_ranges_base */
	uint64_t stmt_list;
	const char *comp_dir; /* "" when absent */
	uint16_t language;
	bool plain_types; /* its language is C: no type contains code */
	bool has_stmt_list;
	const char *dwo_name; /* file of the split unit; NULL: this is not a skeleton */
	uint64_t dwo_id;
	bool is_partial;          /* DW_TAG_partial_unit: imported by others, never code */
	uint64_t first_child;     /* offset of the entry after the unit's own; 0 when it has no children */
	VEC(struct scope) scopes; /* for qualified names: listed by builder_walk(), else on demand */
	bool has_scopes;
	struct budget budget; /* of what is made from this unit */
};

/* Reads the abbreviations and the unit entry. 0, -EBADMSG (counted in @warnings) or -ENOMEM. */
int unit_load(struct unit *unit, const struct dwarf *dwarf, const struct unit_header *header,
	      struct warnings *warnings);

/*
 * The same for a split unit.
 *
 * @unit:     overwritten
 * @skeleton: another unit, which has the addresses, lines and directories
 * @dwarf:    of the split file
 * @header:   of the unit in @dwarf
 * @warnings: damage is counted here
 */
int unit_load_split(struct unit *unit, const struct unit *skeleton, const struct dwarf *dwarf,
		    const struct unit_header *header, struct warnings *warnings);
void unit_deinit(struct unit *unit);

/* Whether DW_LANG_* @language is a version of Ada. */
bool language_is_ada(uint16_t language);

/* The unit that contains @off of .debug_info, or NULL. */
const struct unit_header *dwarf_find_unit(const struct dwarf *dwarf, uint64_t off);

/* A cursor over the unit whose offsets are those of .debug_info, placed at @off. */
struct cursor unit_cursor(const struct unit *unit, uint64_t off);

/*
 * Reads the attributes of an entry whose code was already read. The cursor fails when they exceed the unit.
 */
void die_read(struct cursor *c, const struct unit *unit, const struct abbrev *abbrev, struct die *ret);

/* Reads the entry at @off. Warnings are counted: -EBADMSG. */
int die_at(const struct unit *unit, uint64_t off, struct die *ret);

/* The same; *ret_end is the offset after its attributes, where its first child is if it has any. */
int die_enter(const struct unit *unit, uint64_t off, struct die *ret, uint64_t *ret_end);

/*
 * Skips an entry whose code was already read. True when the cursor is now at its first child, false when it
 * is past the entry and its children, or failed.
 */
bool die_skip(struct cursor *c, const struct unit *unit, const struct abbrev *abbrev);

/*
 * Skips an entry whose code was already read, and its children, by DW_AT_sibling. False, and nothing is
 * skipped, if it has no children, or its sibling is not known.
 */
bool die_skip_tree(struct cursor *c, const struct unit *unit, const struct abbrev *abbrev);

/* Skips the children of an entry that was just read, however deep they are nested. False for damaged ones. */
bool die_skip_children(struct cursor *c, const struct unit *unit);

static inline bool die_has(const struct die *die, enum attr_slot slot)
{
	return die->present >> slot & 1;
}

/* .debug_str_offsets (7.26) and .debug_addr (7.27). NULL or false when the index is out of range. */
const char *unit_indexed_string(const struct unit *unit, uint64_t index);
bool unit_indexed_address(const struct unit *unit, uint64_t index, uint64_t *ret);

/* Values that depend on the unit's bases. NULL, false or @absent when the attribute is absent or of another
 * class. */
const char *die_string(const struct unit *unit, const struct die *die, enum attr_slot slot); /* or NULL */
bool die_address(const struct unit *unit, const struct die *die, enum attr_slot slot, uint64_t *ret);
uint64_t die_uint(const struct die *die, enum attr_slot slot, uint64_t absent);

/* ---- Ranges ---- */

/*
 * Appends the code ranges of an entry (2.17) in the order of the list, including empty and dead ones. Those
 * of a list are charged to @account. 0 or -ENOMEM.
 */
int die_ranges(struct unit *unit, const struct die *die, enum account account, range_vec *ret);

/* The tombstone address of dropped code, all ones: DWARF 6 issue 200609.1. */
static inline uint64_t tombstone(const struct unit *unit)
{
	return unit->header->addr_size == 8 ? UINT64_MAX : ((uint64_t)1 << (unit->header->addr_size * 8)) - 1;
}

/* ---- Which unit has the code at an address, without reading entries (dwarf_code.c) ---- */

/* Code of a unit, as .debug_aranges or the unit's own entry tells. */
struct unit_code {
	uint64_t lo, hi; /* [lo, hi) */
	uint64_t unit;   /* offset of the unit in .debug_info */
};

typedef VEC(struct unit_code) unit_code_vec;

/*
 * Lists the code of all units, in no particular order: from .debug_aranges (6.1.2), and of units without a
 * set there from the ranges of their entry. If no units were found yet, only .debug_aranges is read. Damage
 * is passed over: a unit of which nothing is found out has no code here. Loads .debug_aranges, so not to be
 * called by two threads at once. 0 or -ENOMEM.
 */
int dwarf_list_code(const struct dwarf *dwarf, unit_code_vec *ret);

/*
 * Finds only the units at @n ascending offsets, of @dwarf whose sections are loaded: dwarf->units becomes an
 * array of these alone. What units share is then not known, so their budgets are smaller, and references to
 * other units lead nowhere. 0; -EBADMSG if one is damaged, or may not be read; -ENOMEM.
 */
int dwarf_take_units(struct dwarf *dwarf, const uint64_t *offsets, size_t n);

/* ---- Names ---- */

struct die_name {
	const char *text; /* terminated; NULL: no name at all. Borrowed from a section, or made */
	bool linkage;     /* it is a linkage name */
	const char *bare; /* the unqualified name where text was qualified, else NULL */
};

/*
 * Whether names of functions are qualified by the scopes around them in a unit of this DW_LANG_*. A new code
 * is added here, in is_plain_c() or in language_is_ada() (dwarf_unit.c); codes that <libdwarf/dwarf.h> lacks
 * are literals, from the list of dwarfstd.org.
 */
bool language_qualifies(uint16_t language);

/* Whether an entry is listed in unit->scopes. */
static inline bool is_scope(const struct abbrev *abbrev)
{
	return abbrev->has_children && (abbrev->kind == DIE_SCOPE || abbrev->kind == DIE_TYPE ||
					abbrev->kind == DIE_SUBPROGRAM || abbrev->kind == DIE_INLINED);
}

struct names;

/*
 * Resolves names, for one thread. Units that references lead to are loaded and cached. NULL without memory.
 */
struct names *names_new(struct warnings *warnings);
/* Drops the cached units of @dwarf, which is about to be closed. */
void names_forget(struct names *names, const struct dwarf *dwarf);
void names_free(struct names *names);

/* A name key is the offset of an entry in .debug_info; this bit is set for the alternate file. */
#define KEY_ALTERNATE ((uint64_t)1 << 63)

/*
 * Resolves the name of an entry.
 *
 * @names: the thread's
 * @unit:  the unit being converted
 * @key:   of the entry, in any unit
 * @made:  gets a qualified name, which is borrowed from it
 * @ret:   without text when @key is no entry or the entry has no name
 *
 * 0 or -ENOMEM.
 */
int names_resolve(struct names *names, struct unit *unit, uint64_t key, struct text_buf *made,
		  struct die_name *ret);

/*
 * The declaration of the function at @off (DW_AT_decl_file, DW_AT_decl_line): its own, or that of the entry
 * it refers to in the same unit. False when there is none.
 *
 * @names:    the thread's
 * @unit:     the unit being converted
 * @off:      of the entry in .debug_info
 * @ret_file: index in the unit's line table
 * @ret_line: line number
 */
bool names_declaration(struct names *names, struct unit *unit, uint64_t off, uint64_t *ret_file,
		       uint64_t *ret_line);

/* ---- Lines ---- */

struct line_row {
	uint64_t addr;
	uint32_t file; /* index into the line header's files */
	uint32_t line;
};

/* Only answers with columns have these, see struct frame_detail. */
struct line_column {
	uint32_t column, discriminator;
};

struct line_seq {
	uint64_t lo, hi;
	uint32_t first, end; /* rows */
	uint64_t reach;      /* the highest hi of this and all sequences before it */
	uint64_t off; /* of its first opcode, in .debug_line: what DW_AT_LLVM_stmt_sequence refers to */
	uint32_t end_file, end_line; /* registers at DW_LNE_end_sequence */
};

struct line_file {
	const char *name;
	uint64_t dir;
	const char *source; /* its text, if the table has it and keeps columns; or NULL */
};

/* The line table of one unit (6.2). Reused from unit to unit. */
struct line_table {
	uint16_t version;
	VEC(const char *) dirs;
	VEC(struct line_file) files;
	VEC(struct line_row) rows;       /* within a sequence addresses ascend */
	VEC(struct line_column) columns; /* of each row, if @keeps_columns */
	bool keeps_columns;              /* set by the user */
	bool keeps_all;        /* set by the user: else of several rows at an address, only the last, and
				      the first of the sequence, are there */
	const range_vec *code; /* set by the user: sequences that begin elsewhere are dropped; NULL: none */
	VEC(struct line_seq) seqs; /* ascending by lo; equal ones in table order */
	const struct dwarf *dwarf; /* file of the current table, or NULL */
	uint64_t off;
	uint8_t addr_size;
};

/* Runs the unit's line program. Rows before the damage of a damaged table are kept. 0 or -ENOMEM. */
int line_table_read(struct line_table *table, const struct unit *unit);
void line_table_deinit(struct line_table *table);

/* Whether @index names a file. Index 0 exists from version 5 on. */
bool line_table_has_file(const struct line_table *table, uint64_t index);

/*
 * The path of a file, absolute if comp_dir is.
 *
 * @table, @unit: of the file
 * @index:        in the line header's files
 * @made:         gets the path
 * @ret_dir, @ret_base: directory and base name in @made; empty when line_table_has_file() is false
 *
 * 0 or -ENOMEM.
 */
int line_table_path(const struct line_table *table, struct unit *unit, uint64_t index, struct text_buf *made,
		    struct span *ret_dir, struct span *ret_base);

/* How much of the path of the file @index is the directory of the compilation, with the separator. */
size_t line_table_comp_size(const struct line_table *table, const struct unit *unit, uint64_t index);

/*
 * Splits the path [path, end) into directory and base name, without the separator between them; the root
 * directory stays "/".
 */
void path_split(const char *path, const char *end, struct span *ret_dir, struct span *ret_base);

#endif
