/*
 * dwarf_walk.c - lists the subprograms of a unit, the calls inlined into them and their call sites.
 *
 * One pass over .debug_info without building a tree. A stack, indexed by nesting depth, holds the context of
 * the children of each open entry: the subprogram they belong to and their depth in its inlined calls.
 * Lexical blocks and scopes inherit their parent's context; subtrees that cannot contain code are skipped by
 * DW_AT_sibling.
 */
#include "convert/build/unit_builder.h"
#include "convert/object/source_format.h"
#include "gsym/base/search.h"
#include "gsym/codec/format.h"

#include <libdwarf/dwarf.h>

#define NO_SUBPROGRAM UINT32_MAX

struct die_context {
	/* enclosing subprogram, even if an inlined call between was dropped; or NO_SUBPROGRAM */
	uint32_t owner;
	uint32_t subprogram; /* the same, or NO_SUBPROGRAM if an inlined call between was dropped */
	uint32_t depth;      /* of the enclosing inlined call, 0 = the subprogram itself */
	uint32_t scope;      /* the innermost listed scope, or SCOPE_NONE */
};

struct die_walk {
	struct unit_builder *b;
	struct unit *unit;
	struct cursor c;
	struct die_context *stack; /* DIE_DEPTH_MAX of them */
	unsigned depth;
};

/*
 * The key of the entry with the name, found without following references; entries that share a name share it.
 */
static uint64_t name_key(const struct unit *unit, const struct die *die)
{
	if (die_has(die, SLOT_NAME) || die_has(die, SLOT_LINKAGE_NAME))
		return die->off;
	enum attr_slot slot = die_has(die, SLOT_SPECIFICATION) ? SLOT_SPECIFICATION : SLOT_ORIGIN;
	const struct value *v = &die->attr[slot];
	if (die_has(die, slot) && v->class == VALUE_REFERENCE)
		return v->u & ~KEY_ALTERNATE;
	if (die_has(die, slot) && v->class == VALUE_ALTERNATE && unit->dwarf->alternate)
		return v->u | KEY_ALTERNATE;
	return die->off;
}

/*
 * Linkers leave address 0 for dropped code. If the code of a file begins there, a function is at 0 only if a
 * symbol of its size is, or if there are no symbols. Mach-O files with code there are relocatable, from which
 * nothing was dropped.
 */
static bool dropped_to_zero(const struct die_walk *w, struct range r)
{
	const symbol_vec *symbols = w->b->context->symbols;
	const struct object_file *object = w->unit->main->object;
	if (r.lo || !symbols->n || symbols->v[0].addr || object->relocatable ||
	    object->format->keeps_code_at_0)
		return false;
	size_t n = symtab_lower_bound(symbols, 1); /* those at 0, ascending by end */
	size_t lo = PARTITION_POINT(0, n, mid, symbols->v[mid].end < r.hi);
	return lo == symbols->n || symbols->v[lo].addr || symbols->v[lo].end != r.hi;
}

/*
 * Removes ranges from @first on that cannot be code: empty, dropped by the linker, or outside of code
 * sections. llvm-gsymutil stops at the first bad one; here only that one is removed.
 */
static void keep_live_ranges(struct die_walk *w, uint64_t die_off, uint32_t first)
{
	range_vec *ranges = &w->b->ranges;
	const range_vec *text = w->b->context->text;
	size_t kept = first;
	for (size_t i = first; i < ranges->n; i++) {
		struct range r = ranges->v[i];
		bool dead = r.lo >= r.hi || r.lo >= tombstone(w->unit) - 1;
		if (!dead && text->n && !ranges_find(text, r.lo)) {
			if (r.lo)
				warning_count(w->unit->warnings, WARN_NOT_IN_TEXT, ".debug_info", die_off);
			dead = true;
		}
		dead |= !w->b->context->match_llvm && dropped_to_zero(w, r);
		if (!dead && r.hi - r.lo > UINT32_MAX) {
			warning_count(w->unit->warnings, WARN_FUNCTION_SIZE, ".debug_info", die_off);
			dead = true;
		}
		if (!dead)
			ranges->v[kept++] = r;
		else if (w->b->context->match_llvm)
			break;
	}
	ranges->n = kept;
}

/* DW_AT_LLVM_stmt_sequence; all ones mean none. In a split unit it counts from the skeleton's table. */
static uint64_t line_sequence(const struct die_walk *w, const struct die *die)
{
	uint64_t none = w->unit->header->off_size == 8 ? UINT64_MAX : UINT32_MAX;
	uint64_t off = die_uint(die, SLOT_STMT_SEQUENCE, none);
	if (off == none)
		return NO_SEQUENCE;
	return w->unit->main == w->unit->dwarf ? off : off + w->unit->stmt_list;
}

/* A subprogram with size but without address: the linker dropped or folded it. */
static int note_folded(struct die_walk *w, const struct die *die, struct range r)
{
	if (!w->b->context->merged || r.hi <= r.lo || (r.lo && r.lo < tombstone(w->unit) - 1))
		return 0;
	struct folded_subprogram folded = {
		.die_off = die->off,
		.name_key = name_key(w->unit, die),
		.size = r.hi - r.lo,
		.sequence = line_sequence(w, die),
	};
	return vec_push(&w->b->folded, folded);
}

static int enter_subprogram(struct die_walk *w, const struct die *die, struct die_context *ret)
{
	*ret = (struct die_context){NO_SUBPROGRAM, NO_SUBPROGRAM, 0, SCOPE_NONE};
	struct unit_builder *b = w->b;
	uint32_t first = (uint32_t)b->ranges.n;
	int err = die_ranges(w->unit, die, ACCOUNT_RECORDS, &b->ranges);
	if (err)
		return err;
	if (b->ranges.n == first)
		return 0;
	struct range listed = b->ranges.v[first];
	keep_live_ranges(w, die->off, first);
	if (b->ranges.n == first)
		return note_folded(w, die, listed);
	struct subprogram subprogram = {
		.die_off = die->off,
		.name_key = name_key(w->unit, die),
		.sequence = line_sequence(w, die),
		.first_range = first,
		.n_ranges = (uint32_t)(b->ranges.n - first),
		.first_inlined = (uint32_t)b->inlined_calls.n,
		.end_inlined = (uint32_t)b->inlined_calls.n,
		.first_call = (uint32_t)b->calls.n,
		.end_call = (uint32_t)b->calls.n,
	};
	ret->owner = ret->subprogram = (uint32_t)b->subprograms.n;
	return vec_push(&b->subprograms, subprogram);
}

static int enter_inlined(struct die_walk *w, const struct die *die, const struct die_context *outer,
			 struct die_context *ret)
{
	struct unit_builder *b = w->b;
	*ret = (struct die_context){outer->owner, NO_SUBPROGRAM, 0, SCOPE_NONE};
	if (outer->subprogram == NO_SUBPROGRAM)
		return 0;
	if (outer->depth == INLINE_DEPTH_MAX) {
		warning_count(w->unit->warnings, WARN_INLINE_DEPTH, ".debug_info", die->off);
		return 0;
	}
	uint32_t first = (uint32_t)b->ranges.n;
	int err = die_ranges(w->unit, die, ACCOUNT_CALLS, &b->ranges);
	if (err)
		return err;
	b->ranges.n = first + ranges_join(b->ranges.v + first, b->ranges.n - first);
	if (b->ranges.n == first)
		return 0; /* optimised away, with all calls inlined into it */
	struct inlined_call call = {
		.die_off = die->off,
		.name_key = name_key(w->unit, die),
		.call_file = die_uint(die, SLOT_CALL_FILE, 0),
		.call_line = die_uint(die, SLOT_CALL_LINE, 0),
		.has_call_file = die_has(die, SLOT_CALL_FILE),
		.first_range = first,
		.n_ranges = (uint32_t)(b->ranges.n - first),
		.subprogram = outer->subprogram,
		.depth = outer->depth + 1,
	};
	*ret = (struct die_context){outer->owner, outer->subprogram, call.depth, SCOPE_NONE};
	err = vec_push(&b->inlined_calls, call);
	b->subprograms.v[outer->subprogram].end_inlined = (uint32_t)b->inlined_calls.n;
	return err;
}

/* Calls are collected at any depth: gcc puts them into lexical blocks and inlined subroutines. */
static int visit_call(struct die_walk *w, const struct abbrev *abbrev, uint64_t off)
{
	struct unit_builder *b = w->b;
	uint32_t subprogram = w->stack[w->depth].owner;
	struct die die;
	die.off = off;
	die_read(&w->c, w->unit, abbrev, &die);
	if (!cursor_ok(&w->c) || subprogram == NO_SUBPROGRAM || die_uint(&die, SLOT_TAIL_CALL, 0))
		return 0; /* a tail call returns to the caller of this function */
	struct call_entry call = {.subprogram = subprogram};
	if (!die_address(w->unit, &die, SLOT_RETURN_PC, &call.return_pc))
		return 0;
	const struct value *callee = &die.attr[SLOT_CALL_ORIGIN];
	call.has_callee = die_has(&die, SLOT_CALL_ORIGIN) && callee->class == VALUE_REFERENCE;
	call.name_key = call.has_callee ? callee->u & ~KEY_ALTERNATE : 0;
	int err = vec_push(&b->calls, call);
	b->subprograms.v[subprogram].end_call = (uint32_t)b->calls.n;
	return err;
}

/* Skips the subtree of a declaration, which has no code, if its sibling is known. */
static bool jump_to_sibling(struct die_walk *w, const struct die *die)
{
	if (!die_has(die, SLOT_DECLARATION) || !die_has(die, SLOT_SIBLING))
		return false;
	uint64_t to = die->attr[SLOT_SIBLING].u;
	if (die->attr[SLOT_SIBLING].class != VALUE_REFERENCE || to <= die->off || to > w->unit->header->end ||
	    to < cursor_off(&w->c))
		return false;
	cursor_seek(&w->c, to);
	return true;
}

/*
 * Lists a scope of a unit whose names are qualified, so that this needs no other pass over its entries.
 *
 * @end:     where it ends, if it was @skipped: then nothing inside it is listed
 * @ret:     the scope that entries inside are in
 */
static int add_scope(struct die_walk *w, const struct abbrev *abbrev, uint64_t off, uint64_t end,
		     bool skipped, uint32_t *ret)
{
	struct unit *unit = w->unit;
	const uint32_t parent = w->stack[w->depth].scope;
	*ret = parent;
	if (!unit->has_scopes || !is_scope(abbrev))
		return 0;
	*ret = (uint32_t)unit->scopes.n;
	return vec_push(&unit->scopes, (struct scope){off, end, parent, abbrev->tag, skipped});
}

/* Visits a subprogram or an inlined subroutine. *ret: the context of its children; *descend: visit them. */
static int visit_code(struct die_walk *w, const struct abbrev *abbrev, uint64_t off, struct die_context *ret,
		      bool *descend)
{
	struct die die; /* absent attributes stay uninitialised: there are too many to clear each time */
	die.off = off;
	die_read(&w->c, w->unit, abbrev, &die);
	if (!cursor_ok(&w->c))
		return 0;
	*descend = abbrev->has_children && !jump_to_sibling(w, &die);
	uint32_t inside;
	if (abbrev->has_children && !*descend && add_scope(w, abbrev, off, cursor_off(&w->c), true, &inside))
		return -ENOMEM;
	if (abbrev->kind == DIE_SUBPROGRAM)
		return enter_subprogram(w, &die, ret);
	return enter_inlined(w, &die, &w->stack[w->depth], ret);
}

/*
 * Skips a subprogram or an inlined subroutine without code of its own, most of which are the declarations of
 * member functions. Its children may still be needed: a function may declare a class. As visit_code().
 */
static int skip_bare(struct die_walk *w, const struct abbrev *abbrev, uint64_t off, struct die_context *ret,
		     bool *descend)
{
	uint32_t inside;
	ret->owner = abbrev->kind == DIE_SUBPROGRAM ? NO_SUBPROGRAM : ret->owner;
	ret->subprogram = NO_SUBPROGRAM;
	ret->depth = 0;
	*descend = false;
	if (abbrev->declares && die_skip_tree(&w->c, w->unit, abbrev))
		return add_scope(w, abbrev, off, cursor_off(&w->c), true, &inside);
	*descend = die_skip(&w->c, w->unit, abbrev);
	return 0;
}

static int visit(struct die_walk *w, const struct abbrev *abbrev, uint64_t off)
{
	struct die_context inner = w->stack[w->depth];
	bool descend = false;
	if (abbrev->bare) {
		int err = skip_bare(w, abbrev, off, &inner, &descend);
		if (err)
			return err;
	} else if (abbrev->kind == DIE_SUBPROGRAM || abbrev->kind == DIE_INLINED) {
		int err = visit_code(w, abbrev, off, &inner, &descend);
		if (err)
			return err;
	} else if (abbrev->kind == DIE_CALL_SITE && w->b->context->callsites) {
		int err = visit_call(w, abbrev, off);
		if (err)
			return err;
		descend = abbrev->has_children && cursor_ok(&w->c);
	} else {
		descend = die_skip(&w->c, w->unit, abbrev);
	}
	if (!descend)
		return 0;
	if (w->depth + 1 == DIE_DEPTH_MAX) {
		warning_count(w->unit->warnings, WARN_UNIT_DEPTH, ".debug_info", off);
		(void)die_skip_children(&w->c, w->unit); /* what is damaged ends the walk */
		return 0;
	}
	int err = add_scope(w, abbrev, off, w->unit->header->end, false, &inner.scope);
	w->stack[++w->depth] = inner;
	return err;
}

int builder_walk(struct unit_builder *b)
{
	struct die_context stack[DIE_DEPTH_MAX];
	struct die_walk w = {.b = b, .unit = &b->unit, .stack = stack};
	if (!b->unit.first_child)
		return 0;
	w.c = unit_cursor(&b->unit, b->unit.first_child);
	b->unit.has_scopes = language_qualifies(b->unit.language);
	stack[0] = (struct die_context){NO_SUBPROGRAM, NO_SUBPROGRAM, 0, SCOPE_NONE};
	while (cursor_left(&w.c)) {
		uint64_t off = cursor_off(&w.c), code = cursor_uleb(&w.c);
		if (!code) {
			if (!w.depth)
				break;
			uint32_t scope = w.stack[w.depth].scope;
			if (scope != SCOPE_NONE && scope != w.stack[w.depth - 1].scope)
				w.unit->scopes.v[scope].end = off;
			w.depth--;
			continue;
		}
		const struct abbrev *abbrev = abbrev_find(&b->unit.abbrevs, code);
		if (!abbrev) {
			cursor_fail(&w.c);
			break;
		}
		if (abbrev->kind == DIE_OTHER && !abbrev->has_children && abbrev->fixed_size >= 0) {
			cursor_skip(&w.c, (uint64_t)abbrev->fixed_size); /* most entries end here */
			continue;
		}
		int err = visit(&w, abbrev, off);
		if (err)
			return err;
	}
	if (!cursor_ok(&w.c))
		warning_count(b->unit.warnings, WARN_UNIT_DIE, ".debug_info", cursor_off(&w.c));
	return 0;
}
