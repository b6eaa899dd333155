/* Writing inline info: the tree in preorder, each list of siblings closed by a zero. */
#include "gsym/codec/inline.h"

#include "gsym/base/diag.h"

static void put_ranges(struct buf *out, const struct gsym_range *r, size_t n, uint32_t base)
{
	buf_uleb(out, n);
	for (size_t i = 0; i < n; i++) {
		buf_uleb(out, r[i].off - base);
		buf_uleb(out, r[i].size);
	}
}

/* The root stands for the function itself: its range and name, without a call site. */
static void put_root(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables)
{
	struct gsym_range whole = {0, func->size};
	put_ranges(out, &whole, 1, 0);
	buf_u8(out, 1);
	buf_uint(out, func->name, tables->strp_size);
	buf_uleb(out, 0);
	buf_uleb(out, 0);
}

int inline_encode(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
		  struct gsym_diag *diag)
{
	uint32_t bases[INLINE_DEPTH_MAX + 2]; /* by depth; larger ones are set by the nodes above */
	bases[1] = 0;
	int err = inline_check(func, tables, -EINVAL, diag);
	if (err)
		return err;
	put_root(out, func, tables);
	for (size_t i = 0; i < func->n_inlines; i++) {
		const struct gsym_inline *node = &func->inlines[i];
		const struct gsym_range *ranges = &func->ranges[node->first_range];
		uint32_t next = i + 1 < func->n_inlines ? node[1].depth : 0;
		put_ranges(out, ranges, node->n_ranges, bases[node->depth]);
		bases[node->depth + 1] = ranges[0].off;
		buf_u8(out, next > node->depth);
		buf_uint(out, node->name, tables->strp_size);
		buf_uleb(out, node->call_file);
		buf_uleb(out, node->call_line);
		/* one zero for each list that ends here, the node's own included */
		if (next <= node->depth)
			buf_zeros(out, node->depth - next);
	}
	return buf_ok(out) ? 0 : diag_set(diag, -ENOMEM, "inline info: no memory");
}
