/*
 * pdb_omap.c - where code is after a tool rearranged a linked image.
 *
 * Such a tool leaves two tables in the PDB file: "from source" leads from addresses in the image that was
 * linked, which symbols count in, to those where the tool put them, and "to source" leads back. An entry
 * holds for all addresses up to that of the next.
 *
 * Only the table to the source has what the tool added, such as jumps between parts that it took apart, and
 * what it copied: this code belongs to the original address that its entry names, as for DIA and dbghelp. So
 * the pieces of a function are those entries whose code is in it. For that the entries are sorted by their
 * original address, and searched as a binary tree; since they may overlap there, each knows how far those in
 * its part of the tree reach.
 */
#include "convert/object/pdb/pdb.h"

#include "gsym/base/sort.h"
#include "gsym/base/cursor.h"
#include "gsym/base/search.h"

#include <errno.h>

#define RVA_END 0x80000000U

enum { OMAP_SIZE = 8 };

/* Tools mark what they removed or added by 0, or by an address that no image has: images are smaller than 2
 * GiB. */
static bool has_other_side(const struct pdb_omap *entry)
{
	return entry->to && entry->to < RVA_END;
}

/* ---- Loading ---- */

/* -EBADMSG also when entries are not in order: their code could be anywhere. */
static int read_table(struct span bytes, pdb_omaps *ret)
{
	struct cursor c = cursor_new(bytes.data, bytes.size, false);
	int err = 0;
	for (uint32_t last = 0; !err && cursor_can_hold(&c, 1, OMAP_SIZE);) {
		struct pdb_omap entry = {.from = cursor_u32(&c)};
		entry.to = cursor_u32(&c);
		err = entry.from < last ? -EBADMSG : vec_push(ret, entry);
		last = entry.from;
	}
	return err;
}

/* Code at @rva that is that of @source; it extends the last block if that leads there. 0 or -ENOMEM. */
static int add_block(pdb_blocks *blocks, uint32_t rva, uint32_t size, uint32_t source)
{
	struct pdb_block *last = blocks->n ? &blocks->v[blocks->n - 1] : NULL;
	size = size < UINT32_MAX - source ? size : UINT32_MAX - source;
	if (!size)
		return 0;
	if (last && last->end == source && last->rva + (last->end - last->source) == rva) {
		last->end = source + size;
		return 0;
	}
	return vec_push(blocks, (struct pdb_block){.source = source, .end = source + size, .rva = rva});
}

static int make_blocks(const pdb_omaps *to_source, pdb_blocks *ret)
{
	int err = 0;
	for (size_t i = 0; i < to_source->n && !err; i++) {
		const struct pdb_omap *e = &to_source->v[i];
		uint32_t end = i + 1 < to_source->n ? e[1].from : UINT32_MAX;
		if (has_other_side(e))
			err = add_block(ret, e->from, end - e->from, e->to);
	}
	return err;
}

static int sort_blocks(pdb_blocks *blocks)
{
	CLEANUP(freep) struct keyed *order = malloc((blocks->n + 1) * sizeof(*order));
	CLEANUP(freep) struct pdb_block *sorted = malloc((blocks->n + 1) * sizeof(*sorted));
	if (!order || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < blocks->n; i++)
		order[i] = (struct keyed){blocks->v[i].source, (uint32_t)i};
	if (radix_sort(order, blocks->n))
		return -ENOMEM;
	for (size_t i = 0; i < blocks->n; i++)
		sorted[i] = blocks->v[order[i].index];
	if (blocks->n)
		memcpy(blocks->v, sorted, blocks->n * sizeof(*sorted));
	return 0;
}

/* The tree of v[lo, hi) has its root in the middle. Returns how far it reaches. */
static uint32_t set_reach(struct pdb_block *v, size_t lo, size_t hi)
{
	if (lo == hi)
		return 0;
	size_t root = lo + (hi - lo) / 2;
	uint32_t before = set_reach(v, lo, root), after = set_reach(v, root + 1, hi), reach = v[root].end;
	reach = before > reach ? before : reach;
	v[root].reach = after > reach ? after : reach;
	return v[root].reach;
}

int pdb_load_omap(struct pdb *pdb, struct span from_source, struct span to_source)
{
	pdb_omaps table = {0};
	int err = read_table(from_source, &pdb->omap);
	if (!err)
		err = read_table(to_source, &table);
	if (!err)
		err = make_blocks(&table, &pdb->blocks);
	if (!err)
		err = sort_blocks(&pdb->blocks);
	if (!err)
		set_reach(pdb->blocks.v, 0, pdb->blocks.n);
	vec_free(&table);
	return err;
}

/* ---- Code ranges ---- */

/* A block is code if it begins as code of the original sections, @text. */
static int move_blocks(const pdb_blocks *blocks, const range_vec *text, range_vec *ret)
{
	int err = 0;
	for (size_t i = 0; i < blocks->n && !err; i++) {
		const struct pdb_block *b = &blocks->v[i];
		const struct range *in = ranges_find(text, b->source);
		uint64_t size = b->end - b->source;
		if (in && size > in->hi - b->source)
			size = in->hi - b->source;
		if (in)
			err = vec_push(ret, (struct range){b->rva, b->rva + size});
	}
	return err;
}

/* Both are sorted, and walked once. */
static int move_ranges(const pdb_omaps *omap, const range_vec *text, range_vec *ret)
{
	int err = 0;
	for (size_t i = 0, t = 0; i < omap->n && t < text->n && !err;) {
		const struct pdb_omap *e = &omap->v[i];
		const struct range *from = &text->v[t];
		uint64_t end = i + 1 < omap->n ? e[1].from : UINT32_MAX;
		uint64_t lo = e->from > from->lo ? e->from : from->lo, hi = end < from->hi ? end : from->hi;
		if (lo < hi && has_other_side(e))
			err = vec_push(ret, (struct range){e->to + (lo - e->from), e->to + (hi - e->from)});
		if (end < from->hi)
			i++;
		else
			t++;
	}
	return err;
}

int pdb_move_code(const struct pdb *pdb, range_vec *text)
{
	range_vec moved = {0};
	int err = pdb->blocks.n ? move_blocks(&pdb->blocks, text, &moved)
				: move_ranges(&pdb->omap, text, &moved);
	ranges_normalize(&moved);
	vec_free(text);
	*text = moved;
	return err;
}

/* ---- Places ---- */

/* The code of [rva, end) in the original image, and where its pieces go. */
struct block_search {
	const struct pdb *pdb;
	uint32_t rva, end;
	size_t most; /* pieces */
	pdb_pieces *ret;
};

/* Adds what is between @lo and @hi of the code, and moved to @at from @source. */
static int add_piece(const struct block_search *s, uint32_t lo, uint32_t hi, uint32_t source, uint32_t at)
{
	uint64_t rva = (uint64_t)at + (lo - source);
	if (lo == hi || rva + (hi - lo) > UINT32_MAX)
		return 0;
	return vec_push(s->ret, (struct pdb_piece){lo - s->rva, (uint32_t)rva, hi - lo});
}

static int add_block_piece(const struct block_search *s, const struct pdb_block *b)
{
	uint32_t lo = b->source > s->rva ? b->source : s->rva, hi = b->end < s->end ? b->end : s->end;
	return add_piece(s, lo, hi, b->source, b->rva);
}

/* Adds those of blocks [lo, hi) that have some of the code, in their order. The depth is that of the tree. */
static int search_blocks(const struct block_search *s, size_t lo, size_t hi)
{
	const struct pdb_block *v = s->pdb->blocks.v;
	size_t root = lo + (hi - lo) / 2;
	if (lo == hi || v[root].reach <= s->rva || s->ret->n >= s->most)
		return 0;
	int err = search_blocks(s, lo, root);
	if (err || v[root].source >= s->end)
		return err;
	if (v[root].end > s->rva && s->ret->n < s->most)
		err = add_block_piece(s, &v[root]);
	return err ? err : search_blocks(s, root + 1, hi);
}

static int search_ranges(const struct block_search *s)
{
	const pdb_omaps *omap = &s->pdb->omap;
	size_t after = PARTITION_POINT(0, omap->n, mid, omap->v[mid].from <= s->rva);
	uint32_t at = s->rva;
	int err = 0;
	for (size_t i = after; i <= omap->n && !err && i - after < s->most; i++) {
		bool last = i == omap->n || omap->v[i].from >= s->end;
		uint32_t until = last ? s->end : omap->v[i].from;
		if (i && has_other_side(&omap->v[i - 1]))
			err = add_piece(s, at, until, omap->v[i - 1].from, omap->v[i - 1].to);
		if (last)
			break;
		at = until;
	}
	return err;
}

static int compare_rva(const void *a, const void *b)
{
	const struct pdb_piece *x = a, *y = b;
	return COMPARE(x->rva, y->rva) ?: COMPARE(x->off, y->off);
}

int pdb_omap_place(const struct pdb *pdb, uint32_t rva, uint32_t size, pdb_pieces *ret)
{
	const struct block_search s = {
		.pdb = pdb, .rva = rva, .end = rva + size, .most = PDB_PIECES_MAX, .ret = ret};
	int err = pdb->blocks.n ? search_blocks(&s, 0, pdb->blocks.n) : search_ranges(&s);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_rva);
	return err;
}

/* Rather a block that begins there than the end of another one, which was stretched. */
static int search_label(const struct block_search *s)
{
	const pdb_blocks *blocks = &s->pdb->blocks;
	size_t i = PARTITION_POINT(0, blocks->n, mid, blocks->v[mid].source < s->rva);
	if (i < blocks->n && blocks->v[i].source == s->rva)
		return add_block_piece(s, &blocks->v[i]);
	return search_blocks(s, 0, blocks->n);
}

int pdb_omap_address(const struct pdb *pdb, uint32_t rva, pdb_pieces *ret)
{
	const struct block_search s = {.pdb = pdb, .rva = rva, .end = rva + 1, .most = 1, .ret = ret};
	int err = pdb->omap.n ? search_ranges(&s) : search_label(&s);
	if (ret->n)
		ret->v[0].size = 0;
	return err;
}
