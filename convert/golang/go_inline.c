/*
 * go_inline.c - the inlined calls of a Go function.
 *
 * A value that depends on the program counter is the node of the function's inline tree, -1 = none. A node
 * has the name of the inlined function, and an instruction of the caller: the node there is the caller, and
 * file and line are the place of the call. (Before Go 1.20 the node has these itself.) GSYM wants the calls
 * in preorder, each with all of its code. So each stretch of code is added to its node and all callers of
 * that, and a node becomes the last child of its caller with its first stretch, so that siblings ascend.
 */
#include "convert/golang/go_reader.h"

#include "gsym/base/invariant.h"
#include "gsym/codec/format.h"

static const struct go_call no_call = {
	.parent = NO_CALL,
	.child = NO_CALL,
	.last_child = NO_CALL,
	.sibling = NO_CALL,
	.first_part = NO_CALL,
	.last_part = NO_CALL,
};

/* ---- Nodes ---- */

/* The function itself. */
static uint32_t root_of(const struct go_reader *r)
{
	return (uint32_t)r->calls.n - 1;
}

/*
 * Whether the compiler left out where the body of @node begins, as it does for calls in the initial values of
 * variables: it is 0 then, and leads to the call that the function begins with, which is not the caller.
 */
static bool has_no_caller(struct go_reader *r, const struct go_function *f, const struct go_inline_node *node,
			  int32_t parent)
{
	struct go_inline_node first;
	return !node->has_parent && !node->parent_pc && parent >= 0 &&
	       inline_node_read(&r->table, f, (uint32_t)parent, &first) && !first.parent_pc;
}

/* Sets what @node, or the instruction in its caller, tells of the call. 0, -EBADMSG, -ENOMEM. */
static int place_call(struct go_reader *r, const struct go_function *f, struct go_inline_node *node,
		      struct go_call *call)
{
	int32_t parent = node->has_parent ? node->parent : pc_value_at(&r->call_steps, node->parent_pc);
	bool alone = has_no_caller(r, f, node, parent);
	if (parent >= (int64_t)root_of(r))
		return -EBADMSG;
	call->parent = parent >= 0 && !alone ? (uint32_t)parent : NO_CALL;
	if (!node->has_place && !alone) {
		node->file = pc_value_at(&r->file_steps, node->parent_pc);
		node->line = pc_value_at(&r->line_steps, node->parent_pc);
	}
	call->line = go_line(node->line);
	return alone && !node->has_place ? 0 : go_file_number(r, f, node->file, &call->file);
}

/* Reads node @index. 0, -EBADMSG, -ENOMEM. */
static int read_call(struct go_reader *r, const struct go_function *f, uint32_t index)
{
	struct go_call *call = &r->calls.v[index];
	struct go_inline_node node;
	call->state = CALL_ON_PATH;
	if (!inline_node_read(&r->table, f, index, &node))
		return -EBADMSG;
	int err = place_call(r, f, &node, call);
	return err ? err : go_name_number(r, node.name, &call->name);
}

/* Makes node @index and all of its callers known: good, too deep or bad. 0 or -ENOMEM. */
static int know_call(struct go_reader *r, const struct go_function *f, uint32_t index)
{
	uint32_t at = index;
	int err = 0;
	r->path.n = 0;
	while (at != NO_CALL && r->calls.v[at].state == CALL_UNKNOWN && !err) {
		if (vec_push(&r->path, at))
			return -ENOMEM;
		err = read_call(r, f, at);
		at = r->calls.v[at].parent;
	}
	if (err == -ENOMEM)
		return err;
	struct go_call known = {.state = CALL_GOOD};
	if (at != NO_CALL)
		known = r->calls.v[at];
	if (err || known.state == CALL_ON_PATH)
		known.state = CALL_BAD;
	for (size_t i = r->path.n; i-- > 0;) {
		struct go_call *call = &r->calls.v[r->path.v[i]];
		if (known.state == CALL_DEEP)
			call->parent = known.parent;
		if (known.state == CALL_GOOD && known.depth == INLINE_DEPTH_MAX)
			known.state = CALL_DEEP; /* its parent is the one that is not */
		call->state = known.state;
		call->depth = known.depth + 1;
		known = *call;
	}
	if (known.state != CALL_GOOD)
		warning_count(r->warnings, known.state == CALL_DEEP ? WARN_INLINE_DEPTH : WARN_GO_CALL, NULL,
			      f->start);
	return 0;
}

/* ---- Code ---- */

/* Makes @index the last child of its caller; the root's if it has none. */
static void link_call(struct go_reader *r, uint32_t index)
{
	struct go_call *call = &r->calls.v[index];
	struct go_call *parent = &r->calls.v[call->parent == NO_CALL ? root_of(r) : call->parent];
	if (parent->child == NO_CALL)
		parent->child = index;
	else
		r->calls.v[parent->last_child].sibling = index;
	parent->last_child = index;
}

static int add_part(struct go_reader *r, uint32_t index, uint32_t lo, uint32_t hi)
{
	struct go_call *call = &r->calls.v[index];
	if (call->last_part != NO_CALL && r->parts.v[call->last_part].hi == lo) {
		r->parts.v[call->last_part].hi = hi;
		return 0;
	}
	uint32_t part = (uint32_t)r->parts.n;
	if (vec_push(&r->parts, (struct go_part){lo, hi, NO_CALL}))
		return -ENOMEM;
	if (call->last_part == NO_CALL) {
		call->first_part = part;
		link_call(r, index);
	} else {
		r->parts.v[call->last_part].next = part;
	}
	call->last_part = part;
	call->n_parts++;
	return 0;
}

/* Whether the result can still be kept with @more parts, which fill_record() decides. */
static bool fits(struct go_reader *r, uint32_t more)
{
	bool fit = (r->parts.n + more) * sizeof(struct gsym_range) <= r->budget.left[ACCOUNT_CALLS].memory;
	r->budget.exceeded |= !fit;
	return fit;
}

/* Adds [lo, hi) to node @index and all of its callers. 0 or -ENOMEM. */
static int add_code(struct go_reader *r, const struct go_function *f, uint32_t index, uint32_t lo,
		    uint32_t hi)
{
	int err = r->calls.v[index].state == CALL_UNKNOWN ? know_call(r, f, index) : 0;
	if (r->calls.v[index].state == CALL_DEEP)
		index = r->calls.v[index].parent;
	uint32_t depth = r->calls.v[index].depth;
	if (err || r->calls.v[index].state != CALL_GOOD || !fits(r, depth) ||
	    !budget_work(&r->budget, ACCOUNT_CALLS, depth))
		return err;
	for (; index != NO_CALL && !err; index = r->calls.v[index].parent)
		err = add_part(r, index, lo, hi);
	return err;
}

/* ---- The result ---- */

static int emit_call(struct go_reader *r, const struct go_call *call)
{
	struct gsym_inline out = {
		.name = call->name,
		.call_file = call->file,
		.call_line = call->line,
		.depth = call->depth,
		.first_range = (uint32_t)r->ranges.n,
		.n_ranges = call->n_parts,
	};
	for (uint32_t i = call->first_part; i != NO_CALL; i = r->parts.v[i].next) {
		const struct go_part *part = &r->parts.v[i];
		if (vec_push(&r->ranges, (struct gsym_range){part->lo, part->hi - part->lo}))
			return -ENOMEM;
	}
	invariant(r->ranges.n - out.first_range == call->n_parts);
	return vec_push(&r->inlines, out);
}

/* In preorder, without recursion: nodes know their callers. */
static int emit_calls(struct go_reader *r)
{
	uint32_t at = r->calls.v[root_of(r)].child;
	while (at != NO_CALL) {
		const struct go_call *call = &r->calls.v[at];
		if (emit_call(r, call))
			return -ENOMEM;
		at = call->child;
		while (at == NO_CALL && call->sibling == NO_CALL && call->parent != NO_CALL)
			call = &r->calls.v[call->parent];
		at = at == NO_CALL ? call->sibling : at;
	}
	return 0;
}

/* Whether @step is in a node, all of which are known to r->calls. */
static bool in_node(struct go_reader *r, const struct go_function *f, const struct pc_step *step)
{
	if (step->value >= (int64_t)root_of(r))
		warning_count(r->warnings, WARN_GO_CALL, NULL, f->start);
	return step->value >= 0 && step->value < (int64_t)root_of(r);
}

int go_inlines_make(struct go_reader *r, const struct go_function *f, uint64_t end)
{
	/* One more than the greatest node that the function uses, of those that can be. */
	uint64_t possible = inline_node_count(&r->table, f);
	int32_t most = -1;
	for (size_t i = 0; i < r->call_steps.n; i++)
		if (r->call_steps.v[i].value > most && (uint32_t)r->call_steps.v[i].value < possible)
			most = r->call_steps.v[i].value;
	uint32_t nodes = (uint32_t)most + 1, from = 0, size = (uint32_t)(end - f->start);
	r->calls.n = r->parts.n = r->inlines.n = r->ranges.n = 0;
	if (!nodes || !budget_work(&r->budget, ACCOUNT_CALLS, nodes))
		return 0;
	if (vec_reserve(&r->calls, (size_t)nodes + 1))
		return -ENOMEM;
	while (r->calls.n <= nodes)
		r->calls.v[r->calls.n++] = no_call;
	int err = 0;
	for (size_t i = 0; i < r->call_steps.n && !err; i++) {
		struct pc_step step = r->call_steps.v[i];
		uint32_t to = step.end < size ? step.end : size;
		if (step.end > from && step.end > size && step.value >= 0)
			warning_count(r->warnings, WARN_GO_OUTSIDE, NULL, f->start);
		if (to > from && in_node(r, f, &step))
			err = add_code(r, f, (uint32_t)step.value, from, to);
		from = to;
	}
	return err ? err : emit_calls(r);
}
