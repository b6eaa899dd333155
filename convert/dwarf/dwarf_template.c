/*
 * dwarf_template.c - template arguments, rebuilt from the entries of the parameters.
 *
 * clang's -gsimple-template-names leaves the arguments out of DW_AT_name wherever consumers can write them
 * from the children of the entry. They are written as clang itself does without that option, and as LLVM's
 * DWARFTypePrinter does: a declarator has a part before and one after the place of its name, "int (*" and
 * ")(char)", so every type is visited twice. What clang would not have left out (an unnamed type, the address
 * of a variable, a vector) is not written at all: then the name stays without arguments.
 *
 * Types may refer to each other in circles, and a small type to large ones many times: depth is bounded, a
 * name ends at QUALIFIED_MAX, and each entry read and each byte written is taken from ACCOUNT_TYPES. Units
 * are loaded anew for each entry, since a reference to another one may take their slot.
 */
#include "convert/dwarf/dwarf_name.h"

#include <inttypes.h>
#include <libdwarf/dwarf.h>
#include <stdio.h>
#include <string.h>

enum {
	TYPE_DEPTH_MAX = 256, /* types within types, and scopes around them */
	FOREIGN_SHARE = 4,    /* a foreign unit costs a step for so many of its attributes... */
	SCOPES_SHARE = 64,    /* ...and its scopes one for so many of its bytes: most are loaded already */
};

struct type_printer {
	struct names *names;
	struct text_buf *out;
	const struct unit_header *last; /* the unit of the last entry */
	size_t most;                    /* out->n at which the name is too long */
	unsigned depth;
	bool word;                /* a space is needed before what follows */
	bool ended_with_template; /* a '>' was the last byte, so that another one needs a space */
	bool failed;              /* the arguments cannot be written */
	bool no_memory;
};

/* A type; tag 0 is void. */
struct type {
	struct die_ref at;
	struct die_ref inner; /* what it points to, returns or has; dwarf is NULL for void */
	const char *name;     /* or NULL */
	uint16_t tag;
};

static void append_type(struct type_printer *p, const struct type *t);
static void append_before(struct type_printer *p, const struct type *t, struct type *inner);
static void append_after(struct type_printer *p, const struct type *t, const struct type *inner, bool member);

/* ---- Output ---- */

static void fail(struct type_printer *p, int err)
{
	p->failed = true;
	p->no_memory |= err == -ENOMEM;
}

static void spend(struct type_printer *p, uint64_t steps)
{
	if (!budget_work(&p->names->home->budget, ACCOUNT_TYPES, steps))
		p->failed = true;
}

static void put(struct type_printer *p, const char *text)
{
	size_t most = p->out->n < p->most ? p->most - p->out->n : 0, n = p->failed ? 0 : strnlen(text, most);
	spend(p, n / NAME_STEP);
	if (n == most)
		p->failed = true;
	text_bytes(p->out, text, n);
}

/* A name from the file: whether it ends with arguments of its own. */
static void put_name(struct type_printer *p, const char *name)
{
	put(p, name);
	p->ended_with_template = p->out->n && p->out->v[p->out->n - 1] == '>';
	p->word = true;
}

static bool enter(struct type_printer *p, struct die_ref at)
{
	if (!p->failed && p->depth == TYPE_DEPTH_MAX) {
		warning_count(p->names->warnings, WARN_REFERENCE_DEPTH, ".debug_info", at.off);
		p->failed = true;
	}
	if (p->failed)
		return false;
	p->depth++;
	return true;
}

/* ---- Entries ---- */

/* The unit of an entry, charged. The price of a foreign one does not depend on which ones are loaded. */
static struct unit *load(struct type_printer *p, struct die_ref at)
{
	struct unit *unit;
	spend(p, 1);
	if (p->failed)
		return NULL;
	int err = names_load(p->names, at, &unit);
	if (err) {
		fail(p, err);
		return NULL;
	}
	if (unit != p->names->home && unit->header != p->last)
		spend(p, unit->abbrevs.ops.n / FOREIGN_SHARE);
	p->last = unit->header;
	return unit;
}

/*
 * The entry that an attribute refers to. False if the attribute is absent; a reference that cannot be
 * followed, as one by the signature of a type unit, fails.
 */
static bool reference(struct type_printer *p, const struct unit *unit, const struct die *die,
		      enum attr_slot slot, struct die_ref *ret)
{
	const struct value *v = &die->attr[slot];
	const struct dwarf *alternate = unit->dwarf->alternate;
	*ret = (struct die_ref){0};
	if (die_has(die, slot) && v->class == VALUE_REFERENCE)
		*ret = (struct die_ref){unit->dwarf, v->u};
	else if (die_has(die, slot) && v->class == VALUE_ALTERNATE && alternate)
		*ret = (struct die_ref){alternate, v->u};
	else
		for (uint32_t i = 0; i < die->abbrev->n_ops; i++)
			if (unit->abbrevs.ops.v[die->abbrev->first_op + i].slot == slot)
				p->failed = true;
	return ret->dwarf != NULL;
}

/* Returns how a complex number of @size bytes is written: clang names all of them "complex". */
static const char *complex_name(uint64_t size)
{
	return size == 4    ? "_Complex _Float16"
	       : size == 8  ? "_Complex float"
	       : size == 16 ? "_Complex double"
			    : "_Complex long double";
}

/* Reads the type at @at; void if that is nowhere, or cannot be read. */
static void read_type(struct type_printer *p, struct die_ref at, struct type *ret)
{
	struct die die;
	*ret = (struct type){.at = at};
	struct unit *unit = at.dwarf ? load(p, at) : NULL;
	if (!unit)
		return;
	int err = die_at(unit, at.off, &die);
	if (err) {
		fail(p, err);
		return;
	}
	ret->tag = die.abbrev->tag;
	ret->name = die_string(unit, &die, SLOT_NAME);
	if (ret->tag == DW_TAG_base_type && ret->name && strcmp(ret->name, "complex") == 0)
		ret->name = complex_name(die_uint(&die, SLOT_BYTE_SIZE, 0));
	if (die.abbrev->kind == DIE_OTHER)
		(void)reference(p, unit, &die, SLOT_TYPE, &ret->inner);
}

static struct type inner_type(struct type_printer *p, const struct type *t)
{
	struct type inner;
	read_type(p, t->inner, &inner);
	return inner;
}

/* Children of an entry, one after the other. */
struct child_walk {
	struct die_ref next; /* dwarf is NULL: there are no more */
};

/* Reads the entry at @at. */
static struct child_walk walk_children(struct type_printer *p, struct die_ref at, struct die *die)
{
	uint64_t end = 0;
	struct unit *unit = load(p, at);
	int err = unit ? die_enter(unit, at.off, die, &end) : 0;
	if (err)
		fail(p, err);
	return (struct child_walk){{unit && !err && die->abbrev->has_children ? at.dwarf : NULL, end}};
}

/* The next child, or NULL; @die is it, in the unit that is returned. */
static struct unit *next_child(struct type_printer *p, struct child_walk *w, struct die *die)
{
	struct unit *unit = w->next.dwarf ? load(p, w->next) : NULL;
	if (!unit)
		return NULL;
	struct cursor c = unit_cursor(unit, w->next.off);
	const struct abbrev *abbrev = abbrev_find(&unit->abbrevs, cursor_uleb(&c));
	if (!abbrev)
		return NULL; /* the last one, or damage, which is counted where units are read */
	die->off = w->next.off;
	struct cursor inside = c;
	die_read(&c, unit, abbrev, die);
	if (abbrev->has_children && !die_skip_tree(&inside, unit, abbrev))
		(void)die_skip_children(&c, unit);
	else if (abbrev->has_children)
		c = inside;
	spend(p, (cursor_off(&c) - w->next.off) / NAME_STEP);
	w->next.off = cursor_off(&c);
	return cursor_ok(&c) ? unit : NULL;
}

/* ---- Scopes ---- */

static bool ends_scopes(uint16_t tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Writes the scopes around the entry at @at, each followed by "::". */
static void append_scopes(struct type_printer *p, struct die_ref at)
{
	uint32_t i = SCOPE_NONE;
	const struct unit_header *before = p->last;
	struct unit *unit = load(p, at);
	if (unit && unit != p->names->home && unit->header != before)
		spend(p, (unit->header->end - unit->header->off) / SCOPES_SHARE);
	int err = unit && !p->failed ? names_find_scope(unit, at.off, &i) : 0;
	if (err)
		fail(p, err);
	if (p->failed || i == SCOPE_NONE || ends_scopes(unit->scopes.v[i].tag))
		return;
	struct type scope, inner;
	read_type(p, (struct die_ref){at.dwarf, unit->scopes.v[i].off}, &scope);
	if (!enter(p, scope.at))
		return;
	append_scopes(p, scope.at);
	append_before(p, &scope, &inner);
	put(p, "::");
	p->depth--;
}

static bool has_scopes(uint16_t tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type || tag == DW_TAG_typedef;
}

static void append_qualified_before(struct type_printer *p, const struct type *t, struct type *inner)
{
	if (has_scopes(t->tag))
		append_scopes(p, t->at);
	append_before(p, t, inner);
}

/* ---- Values of parameters ---- */

static void put_number(struct type_printer *p, int64_t value, bool is_signed)
{
	char digits[24];
	snprintf(digits, sizeof(digits), is_signed ? "%" PRId64 : "%" PRIu64, value);
	put(p, digits);
}

/* A character as clang writes it. @narrow: of one byte, which may have a sign. */
static void put_character(struct type_printer *p, int64_t value, bool narrow)
{
	static const char escaped[] = "\\'\a\b\f\n\r\t\v", letters[] = "\\'abfnrtv";
	char text[16];
	uint32_t code = narrow && value < 0 && value >= -256 ? (uint32_t)value & 0xff : (uint32_t)value;
	const char *at = code > 0 && code < 127 ? strchr(escaped, (int)code) : NULL;
	if (at)
		snprintf(text, sizeof(text), "'\\%c'", letters[at - escaped]);
	else if (code >= 32 && code < 127)
		snprintf(text, sizeof(text), "'%c'", (char)code);
	else
		snprintf(text, sizeof(text),
			 code <= 0xff     ? "'\\x%02" PRIx32 "'"
			 : code <= 0xffff ? "'\\u%04" PRIx32 "'"
					  : "'\\U%08" PRIx32 "'",
			 code);
	put(p, text);
}

/* Types of values, and what clang writes before and after a value to tell which of them it has. */
static const struct {
	const char *type, *before, *after;
	enum { SIGNED, UNSIGNED, NARROW, WIDE } kind;
} value_types[] = {
	{"int", "", "", SIGNED},
	{"short", "(short)", "", SIGNED},
	{"unsigned short", "(unsigned short)", "", UNSIGNED},
	{"long", "", "L", SIGNED},
	{"long long", "", "LL", SIGNED},
	{"unsigned int", "", "U", UNSIGNED},
	{"unsigned long", "", "UL", UNSIGNED},
	{"unsigned long long", "", "ULL", UNSIGNED},
	{"char", "", "", NARROW},
	{"signed char", "(signed char)", "", NARROW},
	{"unsigned char", "(unsigned char)", "", NARROW},
	{"wchar_t", "L", "", WIDE},
	{"char8_t", "u8", "", WIDE},
	{"char16_t", "u", "", WIDE},
	{"char32_t", "U", "", WIDE},
};

/* The value of a parameter whose type has that name; fails for one that is not known. */
static void put_value(struct type_printer *p, const char *type, int64_t value)
{
	const bool is_unsigned = !strncmp(type, "unsigned _BitInt(", 17);
	size_t i = 0;
	while (i < sizeof(value_types) / sizeof(*value_types) && strcmp(type, value_types[i].type) != 0)
		i++;
	if (!strcmp(type, "bool")) {
		put(p, value ? "true" : "false");
	} else if (is_unsigned || !strncmp(type, "_BitInt(", 8)) {
		put(p, "(");
		put(p, type);
		put(p, ")");
		put_number(p, value, !is_unsigned);
	} else if (i == sizeof(value_types) / sizeof(*value_types)) {
		p->failed = true;
	} else {
		put(p, value_types[i].before);
		if (value_types[i].kind == NARROW || value_types[i].kind == WIDE)
			put_character(p, value, value_types[i].kind == NARROW);
		else
			put_number(p, value, value_types[i].kind == SIGNED);
		put(p, value_types[i].after);
	}
}

static void append_value(struct type_printer *p, const struct type *type, const struct value *value)
{
	bool number = value->class == VALUE_UINT || value->class == VALUE_SINT;
	if (number && type->tag == DW_TAG_enumeration_type) {
		put(p, "(");
		append_type(p, type);
		put(p, ")");
		put_number(p, (int64_t)value->u, true);
	} else if (number && type->tag == DW_TAG_base_type && type->name) {
		put_value(p, type->name, (int64_t)value->u);
	} else {
		p->failed = true;
	}
}

/* ---- Arguments ---- */

static void separate(struct type_printer *p, bool *first)
{
	put(p, *first ? "<" : ", ");
	p->ended_with_template = false;
	*first = false;
}

static void append_argument(struct type_printer *p, const struct unit *unit, const struct die *die,
			    bool *first)
{
	struct type type;
	struct die_ref at;
	struct value value = {.class = VALUE_NONE};
	const char *template = NULL;
	const uint16_t tag = die->abbrev->tag;
	(void)reference(p, unit, die, SLOT_TYPE, &at);
	if (die_has(die, SLOT_CONST_VALUE))
		value = die->attr[SLOT_CONST_VALUE];
	if (tag == DW_TAG_GNU_template_template_param)
		template = die_string(unit, die, SLOT_TEMPLATE_NAME);
	separate(p, first);
	if (template) {
		put(p, template);
		return;
	}
	read_type(p, at, &type);
	if (tag == DW_TAG_template_type_parameter)
		append_type(p, &type);
	else if (tag == DW_TAG_template_value_parameter)
		append_value(p, &type, &value);
	else
		p->failed = true;
}

static bool is_argument(uint16_t tag)
{
	return tag == DW_TAG_template_type_parameter || tag == DW_TAG_template_value_parameter ||
	       tag == DW_TAG_GNU_template_template_param;
}

/* Writes the arguments among the children of an entry without the last '>'. Whether it is of a template. */
static bool append_arguments(struct type_printer *p, struct die_ref at, bool *first)
{
	struct die die;
	struct unit *unit;
	bool is_template = false;
	struct child_walk w = walk_children(p, at, &die);
	/* clang writes those of types before all others, those of functions with code after parameters. */
	bool among_others = !p->failed && die.abbrev->kind == DIE_SUBPROGRAM;
	while (!p->failed && (unit = next_child(p, &w, &die))) {
		uint16_t tag = die.abbrev->tag;
		if (tag == DW_TAG_GNU_template_parameter_pack) {
			is_template = true;
			if (enter(p, at)) {
				append_arguments(p, (struct die_ref){at.dwarf, die.off}, first);
				p->depth--;
			}
		} else if (is_argument(tag)) {
			is_template = true;
			append_argument(p, unit, &die, first);
		} else if (!among_others)
			break;
	}
	return is_template;
}

/* All arguments of an entry, if it is of a template, in "<" and ">". */
static void append_argument_list(struct type_printer *p, struct die_ref at)
{
	bool first = true;
	if (!append_arguments(p, at, &first))
		return;
	if (first) {
		put(p, "<");
		p->ended_with_template = false;
	}
	put(p, p->ended_with_template ? " >" : ">");
	p->ended_with_template = true;
	p->word = true;
}

/* ---- Declarators ---- */

static bool is_qualifier(uint16_t tag)
{
	return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type;
}

static bool needs_parens(struct type_printer *p, const struct type *t)
{
	struct type at = *t;
	while (!p->failed && is_qualifier(at.tag))
		at = inner_type(p, &at);
	return at.tag == DW_TAG_subroutine_type || at.tag == DW_TAG_array_type;
}

static void append_pointer(struct type_printer *p, const struct type *inner, const char *sign)
{
	struct type next;
	append_qualified_before(p, inner, &next);
	if (p->word)
		put(p, " ");
	if (needs_parens(p, inner))
		put(p, "(");
	put(p, sign);
	p->word = false;
	p->ended_with_template = false;
}

static void append_member_pointer(struct type_printer *p, const struct type *t, const struct type *inner)
{
	struct type next, class;
	struct die die;
	struct die_ref at = {0};
	append_qualified_before(p, inner, &next);
	if (needs_parens(p, inner))
		put(p, "(");
	else if (p->word)
		put(p, " ");
	struct unit *unit = load(p, t->at);
	if (unit && !die_at(unit, t->at.off, &die) && reference(p, unit, &die, SLOT_CONTAINING_TYPE, &at)) {
		read_type(p, at, &class);
		append_type(p, &class);
		p->ended_with_template = false;
		put(p, "::");
	}
	put(p, "*");
	p->word = false;
}

enum { QUALIFIERS = 3 };

/* A type without its qualifiers. */
struct unqualified {
	struct type type;
	bool is_const, is_volatile, is_restrict;
};

static struct unqualified strip_qualifiers(struct type_printer *p, const struct type *t)
{
	struct unqualified u = {.type = *t};
	for (unsigned i = 0; i < QUALIFIERS && !p->failed && is_qualifier(u.type.tag); i++) {
		u.is_const |= u.type.tag == DW_TAG_const_type;
		u.is_volatile |= u.type.tag == DW_TAG_volatile_type;
		u.is_restrict |= u.type.tag == DW_TAG_restrict_type;
		u.type = inner_type(p, &u.type);
	}
	return u;
}

static void put_qualifiers(struct type_printer *p, const struct unqualified *u)
{
	put(p, u->is_const ? "const" : "");
	put(p, u->is_const && u->is_volatile ? " " : "");
	put(p, u->is_volatile ? "volatile" : "");
	put(p, (u->is_const || u->is_volatile) && u->is_restrict ? " " : "");
	put(p, u->is_restrict ? "__restrict" : "");
}

/* Qualifiers stand before a type, but after a pointer, and after the parameters of a function. */
static void append_qualified_type(struct type_printer *p, const struct type *t)
{
	struct type next;
	struct unqualified u = strip_qualifiers(p, t);
	struct type element = u.type;
	while (!p->failed && element.tag == DW_TAG_array_type)
		element = inner_type(p, &element);
	bool subroutine = u.type.tag == DW_TAG_subroutine_type;
	bool pointer = element.tag == DW_TAG_pointer_type || element.tag == DW_TAG_ptr_to_member_type;
	if (!pointer && !subroutine) {
		put_qualifiers(p, &u);
		put(p, " ");
	}
	append_qualified_before(p, &u.type, &next);
	if (pointer && !subroutine) {
		p->word = true;
		put_qualifiers(p, &u);
	}
}

static void append_named(struct type_printer *p, const struct type *t)
{
	if (!t->name) {
		p->failed = true;
		return;
	}
	put_name(p, t->name);
	if (!p->ended_with_template)
		append_argument_list(p, t->at);
}

static void append_before_inner(struct type_printer *p, const struct type *t, const struct type *inner)
{
	struct type next;
	switch (t->tag) {
	case 0: put(p, "void"); break;
	case DW_TAG_pointer_type: append_pointer(p, inner, "*"); break;
	case DW_TAG_reference_type: append_pointer(p, inner, "&"); break;
	case DW_TAG_rvalue_reference_type: append_pointer(p, inner, "&&"); break;
	case DW_TAG_ptr_to_member_type: append_member_pointer(p, t, inner); break;
	case DW_TAG_array_type: append_qualified_before(p, inner, &next); break;
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type: append_qualified_type(p, t); break;
	case DW_TAG_subroutine_type:
		append_qualified_before(p, inner, &next);
		if (p->word)
			put(p, " ");
		p->word = false;
		break;
	case DW_TAG_namespace: put_name(p, t->name ? t->name : "(anonymous namespace)"); break;
	case DW_TAG_unspecified_type:
		put_name(p, !t->name || !strcmp(t->name, "decltype(nullptr)") ? "std::nullptr_t" : t->name);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_base_type:
	case DW_TAG_typedef: append_named(p, t); break;
	default: p->failed = true;
	}
}

/* Writes what stands before the place of a name; @inner becomes the type that @t is made of. */
static void append_before(struct type_printer *p, const struct type *t, struct type *inner)
{
	p->word = true;
	*inner = (struct type){.tag = 0};
	if (!enter(p, t->at))
		return;
	*inner = inner_type(p, t);
	append_before_inner(p, t, inner);
	p->depth--;
}

static void append_bounds(struct type_printer *p, const struct type *t)
{
	struct die die;
	struct child_walk w = walk_children(p, t->at, &die);
	while (!p->failed && next_child(p, &w, &die)) {
		if (die.abbrev->tag != DW_TAG_subrange_type)
			continue;
		uint64_t above = die_uint(&die, SLOT_UPPER_BOUND, UINT64_MAX) + 1;
		if (die_uint(&die, SLOT_LOWER_BOUND, 0)) {
			p->failed = true; /* not in C++ */
			return;
		}
		put(p, "[");
		if (die_has(&die, SLOT_COUNT_OF_ARRAY) || die_has(&die, SLOT_UPPER_BOUND))
			put_number(p, (int64_t)die_uint(&die, SLOT_COUNT_OF_ARRAY, above), false);
		put(p, "]");
	}
	p->ended_with_template = false;
}

/* The qualifiers of a member function are those of what its artificial first parameter points to. */
static void add_this_qualifiers(struct type_printer *p, struct die_ref at, struct unqualified *u)
{
	struct type this;
	read_type(p, at, &this);
	if (this.tag != DW_TAG_pointer_type)
		return;
	struct type class = inner_type(p, &this);
	struct unqualified pointed = strip_qualifiers(p, &class);
	u->is_const |= pointed.is_const;
	u->is_volatile |= pointed.is_volatile;
}

static const char *calling_convention(uint64_t convention)
{
	static const struct {
		uint16_t convention; /* DW_CC_*, of which <libdwarf/dwarf.h> lacks those of LLVM */
		const char *text;
	} known[] = {
		{0xb1, " __attribute__((stdcall))"},
		{0xb3, " __attribute__((fastcall))"},
		{0xb5, " __attribute__((thiscall))"},
		{0xb2, " __attribute__((pascal))"},
		{0xc0, " __attribute__((vectorcall))"},
		{0xc1, " __attribute__((ms_abi))"},
		{0xc2, " __attribute__((sysv_abi))"},
		{0xc3, " __attribute__((pcs(\"aapcs\")))"},
		{0xc4, " __attribute__((pcs(\"aapcs-vfp\")))"},
		{0xc5, " __attribute__((intel_ocl_bicc))"},
		{0xc8, " __attribute__((swiftcall))"},
		{0xc9, " __attribute__((preserve_most))"},
		{0xca, " __attribute__((preserve_all))"},
		{0xcb, " __attribute__((regcall))"},
		{0xcc, " __attribute__((m68k_rtd))"},
		{0xcd, " __attribute__((preserve_none))"},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].convention == convention)
			return known[i].text;
	return "";
}

/* Writes the parameters of the function type @t and what stands after them. */
static void append_parameters(struct type_printer *p, const struct type *t, const struct type *result,
			      bool member, struct unqualified *u)
{
	struct die die;
	struct unit *unit;
	bool first = true, hidden = false;
	struct child_walk w = walk_children(p, t->at, &die);
	bool lvalue = false, rvalue = false;
	uint64_t convention = 0;
	if (!p->failed) {
		lvalue = die_uint(&die, SLOT_REFERENCE, 0) != 0;
		rvalue = die_uint(&die, SLOT_RVALUE_REFERENCE, 0) != 0;
		convention = die_uint(&die, SLOT_CALLING_CONVENTION, 0);
	}
	put(p, "(");
	p->ended_with_template = false;
	while (!p->failed && (unit = next_child(p, &w, &die))) {
		struct type type;
		struct die_ref at;
		(void)reference(p, unit, &die, SLOT_TYPE, &at);
		if (member && first && !hidden && die_uint(&die, SLOT_ARTIFICIAL, 0)) {
			hidden = true;
			add_this_qualifiers(p, at, u);
			continue;
		}
		if (!first)
			put(p, ", ");
		first = false;
		if (die.abbrev->tag == DW_TAG_unspecified_parameters) {
			put(p, "...");
			continue;
		}
		read_type(p, at, &type);
		append_type(p, &type);
	}
	p->ended_with_template = false;
	put(p, ")");
	put(p, calling_convention(convention));
	put(p, u->is_const ? " const" : "");
	put(p, u->is_volatile ? " volatile" : "");
	put(p, lvalue ? " &" : "");
	put(p, rvalue ? " &&" : "");
	struct type next = inner_type(p, result);
	append_after(p, result, &next, false);
}

static void append_after_inner(struct type_printer *p, const struct type *t, const struct type *inner,
			       bool member)
{
	struct unqualified u = {.is_const = false};
	struct type next;
	switch (t->tag) {
	case DW_TAG_subroutine_type: append_parameters(p, t, inner, member, &u); break;
	case DW_TAG_array_type:
		append_bounds(p, t);
		next = inner_type(p, inner);
		append_after(p, inner, &next, false);
		break;
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
		u = strip_qualifiers(p, t);
		next = inner_type(p, &u.type);
		if (u.type.tag == DW_TAG_subroutine_type)
			append_parameters(p, &u.type, &next, false, &u);
		else
			append_after(p, &u.type, &next, false);
		break;
	case DW_TAG_ptr_to_member_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_pointer_type:
		if (needs_parens(p, inner))
			put(p, ")");
		next = inner_type(p, inner);
		append_after(p, inner, &next, t->tag == DW_TAG_ptr_to_member_type);
		break;
	default: break;
	}
}

/* Writes what stands after the place of a name. @member: @t is what a pointer to a member points to. */
static void append_after(struct type_printer *p, const struct type *t, const struct type *inner, bool member)
{
	if (!enter(p, t->at))
		return;
	append_after_inner(p, t, inner, member);
	p->depth--;
}

static void append_type(struct type_printer *p, const struct type *t)
{
	struct type inner;
	append_qualified_before(p, t, &inner);
	append_after(p, t, &inner, false);
}

int names_append_arguments(struct names *names, struct die_ref at, const char *name, struct text_buf *made)
{
	struct unit *unit;
	size_t n = strlen(name), before = made->n;
	if (!n || name[n - 1] == '>')
		return 0;
	int err = names_load(names, at, &unit);
	if (err || !unit->abbrevs.has_templates)
		return err == -ENOMEM ? err : 0;
	struct type_printer p = {.names = names, .out = made, .most = QUALIFIED_MAX};
	append_argument_list(&p, at);
	if (p.failed)
		made->n = before;
	return p.no_memory || made->failed ? -ENOMEM : 0;
}
