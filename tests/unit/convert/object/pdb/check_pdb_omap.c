/* Code that a tool moved, as two tables say, against a model that looks at each entry for each byte. */
#include "convert/object/pdb/pdb.h"

#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum { ENTRIES_MOST = 24, CODE = 1000, IMAGE = 4000, PAIRS_MOST = 1 << 16 };

struct omap_table {
	struct pdb_omap v[PDB_PIECES_MAX + 2];
	size_t n;
};

static uint32_t seed;

static uint32_t chance(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

static int load(struct pdb *pdb, const struct omap_table *from, const struct omap_table *to, size_t cut)
{
	static uint8_t bytes[2][sizeof(from->v)];
	const struct omap_table *tables[] = {from, to};
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < tables[t]->n; i++) {
			store32(bytes[t] + 8 * i, tables[t]->v[i].from, false);
			store32(bytes[t] + 8 * i + 4, tables[t]->v[i].to, false);
		}
	*pdb = (struct pdb){.age = 0};
	return pdb_load_omap(pdb, (struct span){bytes[0], 8 * from->n - (from->n ? cut : 0)},
			     (struct span){bytes[1], 8 * to->n - (to->n ? cut : 0)});
}

static void unload(struct pdb *pdb)
{
	vec_free(&pdb->omap);
	vec_free(&pdb->blocks);
}

static uint32_t end_of(const struct omap_table *t, size_t i)
{
	return i + 1 < t->n ? t->v[i + 1].from : UINT32_MAX;
}

static bool leads(const struct pdb_omap *e)
{
	return e->to != 0 && e->to <= 0x7fffffff;
}

/* A byte of the code, counted from the first that was asked for, and where it is in the image. */
struct byte_pair {
	uint32_t off, rva;
};

struct byte_pairs {
	struct byte_pair v[PAIRS_MOST];
	size_t n;
};

static int compare_pairs(const void *a, const void *b)
{
	const struct byte_pair *x = a, *y = b;
	if (x->rva != y->rva)
		return x->rva < y->rva ? -1 : 1;
	return (x->off > y->off) - (x->off < y->off);
}

/* By the table from the source: each byte has at most one place. */
static void pairs_from(const struct omap_table *t, uint32_t rva, uint32_t size, struct byte_pairs *ret)
{
	ret->n = 0;
	for (uint32_t off = 0; off < size; off++)
		for (size_t i = 0; i < t->n; i++)
			if (leads(&t->v[i]) && rva + off >= t->v[i].from && rva + off < end_of(t, i))
				ret->v[ret->n++] =
					(struct byte_pair){off, t->v[i].to + (rva + off - t->v[i].from)};
	qsort(ret->v, ret->n, sizeof(*ret->v), compare_pairs);
}

/* By that back to the source. */
static void pairs_to(const struct omap_table *t, uint32_t rva, uint32_t size, struct byte_pairs *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < t->n; i++)
		for (uint32_t off = 0; off < size && leads(&t->v[i]); off++)
			if (rva + off >= t->v[i].to && rva + off - t->v[i].to < end_of(t, i) - t->v[i].from)
				ret->v[ret->n++] =
					(struct byte_pair){off, t->v[i].from + (rva + off - t->v[i].to)};
	qsort(ret->v, ret->n, sizeof(*ret->v), compare_pairs);
}

static void assert_pieces(const pdb_pieces *pieces, const struct byte_pairs *want, bool joined)
{
	static struct byte_pairs got;
	got.n = 0;
	for (size_t i = 0; i < pieces->n; i++) {
		const struct pdb_piece *p = &pieces->v[i], *last = i ? p - 1 : NULL;
		assert_true(p->size > 0);
		if (last)
			assert_true(last->rva < p->rva || (last->rva == p->rva && last->off <= p->off));
		if (last && joined) /* code that the tool left in one piece is one */
			assert_false(last->rva + last->size == p->rva && last->off + last->size == p->off);
		for (uint32_t k = 0; k < p->size; k++)
			got.v[got.n++] = (struct byte_pair){p->off + k, p->rva + k};
	}
	qsort(got.v, got.n, sizeof(*got.v), compare_pairs);
	assert_int_equal(got.n, want->n);
	assert_memory_equal(got.v, want->v, want->n * sizeof(*want->v));
}

/* A block as pdb_omap_address() prefers it. */
static void assert_label(const struct pdb *pdb, const struct omap_table *to, uint32_t rva)
{
	struct pdb_omap merged[ENTRIES_MOST] = {{0}}; /* where in the image, and the source */
	uint32_t sizes[ENTRIES_MOST] = {0};
	size_t n = 0, best = SIZE_MAX;
	pdb_pieces got = {0};
	for (size_t i = 0; i < to->n; i++) {
		const struct pdb_omap *e = &to->v[i];
		uint32_t size = end_of(to, i) - e->from;
		if (!leads(e) || !size)
			continue;
		if (n && merged[n - 1].from + sizes[n - 1] == e->from &&
		    merged[n - 1].to + sizes[n - 1] == e->to) {
			sizes[n - 1] += size;
			continue;
		}
		merged[n] = *e;
		sizes[n++] = size;
	}
	for (size_t i = 0; i < n; i++) {
		bool has = rva >= merged[i].to && rva - merged[i].to < sizes[i];
		if (!has)
			continue;
		bool begins = merged[i].to == rva, begun = best < n && merged[best].to == rva;
		if (best >= n || (begins && !begun) || (!begins && !begun && merged[i].to < merged[best].to))
			best = i;
	}
	assert_int_equal(pdb_omap_address(pdb, rva, &got), 0);
	assert_int_equal(got.n, best < n);
	if (got.n) {
		assert_int_equal(got.v[0].off, 0);
		assert_int_equal(got.v[0].size, 0);
		assert_int_equal(got.v[0].rva, merged[best].from + (rva - merged[best].to));
	}
	vec_free(&got);
}

static void random_table(struct omap_table *t, uint32_t from_most, uint32_t to_most)
{
	t->n = 1 + chance(ENTRIES_MOST - 1);
	for (size_t i = 0, from = chance(20); i < t->n; i++) {
		uint32_t to = chance(8) ? 1 + chance(to_most) : chance(2) ? 0 : 0x80000000U + chance(9);
		if (i && chance(3) == 0 && leads(&t->v[i - 1]))
			to = t->v[i - 1].to + (uint32_t)(from - t->v[i - 1].from); /* goes on */
		if (chance(4) == 0 && to < 0x80000000U)
			to = to / 100 * 100 + (to > 0);
		t->v[i] = (struct pdb_omap){(uint32_t)from, to};
		from += chance(5) ? chance(2 * from_most / ENTRIES_MOST) : 0;
	}
}

TEST(any_tables)
{
	static struct omap_table from, to;
	static struct byte_pairs want;
	for (seed = 1; seed < 4000000000U; seed += 50000017) {
		uint32_t kept = seed;
		bool back = seed & 1;
		struct pdb pdb;
		long before = live;
		from.n = to.n = 0;
		random_table(back ? &to : &from, back ? IMAGE : CODE, back ? CODE : IMAGE);
		assert_int_equal(load(&pdb, &from, &to, 0), 0);
		assert_int_equal(pdb.omap.n, from.n);
		if (!back)
			assert_int_equal(pdb.blocks.n, 0);
		for (int k = 0; k < 40; k++) {
			pdb_pieces got = {0};
			uint32_t rva = chance(CODE), size = 1 + chance(CODE / 4);
			(back ? pairs_to : pairs_from)(back ? &to : &from, rva, size, &want);
			assert_int_equal(pdb_omap_place(&pdb, rva, size, &got), 0);
			assert_pieces(&got, &want, back);
			got.n = 0;
			if (back) {
				assert_label(&pdb, &to, rva);
			} else {
				pairs_from(&from, rva, 1, &want);
				assert_int_equal(pdb_omap_address(&pdb, rva, &got), 0);
				assert_int_equal(got.n, want.n);
				for (size_t i = 0; i < got.n; i++) {
					assert_int_equal(got.v[i].rva, want.v[i].rva);
					assert_int_equal(got.v[i].size, 0);
				}
			}
			vec_free(&got);
		}
		for (size_t i = 0; back && i < to.n; i++) /* where blocks begin, too */
			if (leads(&to.v[i]))
				assert_label(&pdb, &to, to.v[i].to);
		unload(&pdb);
		assert_int_equal(live, before);
		seed = kept;
	}
}

/* The code that the image has is that of the ranges of the original, as far as blocks lead there. */
TEST(moved_code)
{
	static struct omap_table from, to;
	static uint8_t want[1 << 16], got[1 << 16];
	for (seed = 1; seed < 4000000000U; seed += 40000019) {
		uint32_t kept = seed;
		bool back = seed & 1;
		struct pdb pdb;
		range_vec text = {0}, original = {0};
		from.n = to.n = 0;
		random_table(back ? &to : &from, back ? IMAGE : CODE, back ? CODE : IMAGE);
		assert_int_equal(load(&pdb, &from, &to, 0), 0);
		for (uint64_t at = chance(100); at < CODE; at += 1 + chance(200)) {
			struct range r = {at, at + 1 + chance(150)};
			assert_int_equal(vec_push(&text, r), 0);
			assert_int_equal(vec_push(&original, r), 0);
			at = r.hi;
		}
		memset(want, 0, sizeof(want));
		memset(got, 0, sizeof(got));
		for (size_t t = 0; t < original.n; t++)
			for (uint64_t o = original.v[t].lo; o < original.v[t].hi; o++)
				for (size_t i = 0; i < from.n; i++)
					if (leads(&from.v[i]) && o >= from.v[i].from && o < end_of(&from, i))
						want[from.v[i].to + (o - from.v[i].from)] = 1;
		for (size_t i = 0; i < pdb.blocks.n; i++) {
			const struct pdb_block *b = &pdb.blocks.v[i];
			const struct range *in = NULL;
			for (size_t t = 0; t < original.n; t++)
				if (b->source >= original.v[t].lo && b->source < original.v[t].hi)
					in = &original.v[t];
			for (uint64_t o = b->source; in && o < b->end && o < in->hi; o++)
				want[b->rva + (o - b->source)] = 1;
		}
		assert_int_equal(pdb_move_code(&pdb, &text), 0);
		for (size_t i = 0; i < text.n; i++) {
			if (i)
				assert_true(text.v[i - 1].hi < text.v[i].lo);
			for (uint64_t at = text.v[i].lo; at < text.v[i].hi; at++)
				got[at] = 1;
		}
		assert_memory_equal(got, want, sizeof(got));
		vec_free(&text);
		vec_free(&original);
		unload(&pdb);
		seed = kept;
	}
}

TEST(order_of_entries)
{
	static struct omap_table good = {.v = {{5, 1}, {5, 2}, {6, 3}}, .n = 3}, bad, none = {.n = 0};
	struct pdb pdb;
	bad = good;
	bad.v[2].from = 4;
	assert_int_equal(load(&pdb, &good, &none, 0), 0);
	assert_int_equal(pdb.omap.n, 3);
	unload(&pdb);
	assert_int_equal(load(&pdb, &good, &none, 1), 0);
	assert_int_equal(pdb.omap.n, 2);
	unload(&pdb);
	long before = live;
	assert_int_equal(load(&pdb, &bad, &none, 0), -EBADMSG);
	assert_int_equal(pdb.omap.n, 2);
	unload(&pdb);
	assert_int_equal(load(&pdb, &none, &bad, 0), -EBADMSG);
	assert_int_equal(pdb.blocks.n, 0);
	unload(&pdb);
	assert_int_equal(live, before);
	assert_int_equal(load(&pdb, &none, &none, 0), 0);
	unload(&pdb);
}

static void assert_one(const struct pdb *pdb, uint32_t rva, uint32_t size, size_t n, uint32_t want_rva,
		       uint32_t want_size)
{
	pdb_pieces got = {0};
	assert_int_equal(pdb_omap_place(pdb, rva, size, &got), 0);
	assert_int_equal(got.n, n);
	if (n) {
		assert_int_equal(got.v[0].rva, want_rva);
		assert_int_equal(got.v[0].size, want_size);
	}
	vec_free(&got);
}

/* Addresses have 32 bits, and images 31. */
TEST(highest_addresses)
{
	static struct omap_table none = {.n = 0}, t = {.v = {{0, 0x7fffffff}}, .n = 1};
	struct pdb pdb;
	assert_int_equal(load(&pdb, &t, &none, 0), 0);
	assert_one(&pdb, 0, 1, 1, 0x7fffffff, 1);
	assert_one(&pdb, 0x7fffffff, 1, 1, 0xfffffffe, 1);
	assert_one(&pdb, 0x7fffffff, 2, 0, 0, 0);
	assert_one(&pdb, 0x80000000, 1, 0, 0, 0);
	unload(&pdb);
	t.v[0] = (struct pdb_omap){100, 0x7fffffff};
	assert_int_equal(load(&pdb, &none, &t, 0), 0);
	assert_int_equal(pdb.blocks.n, 1);
	assert_int_equal(pdb.blocks.v[0].end, UINT32_MAX);
	assert_one(&pdb, 0xfffffff0, 15, 1, 0x80000055, 15);
	unload(&pdb);
	t.v[0].to = 0x80000000;
	assert_int_equal(load(&pdb, &none, &t, 0), 0);
	assert_int_equal(pdb.blocks.n, 0);
	unload(&pdb);
}

/* As many pieces as there may be are listed, no more. */
TEST(many_pieces)
{
	static struct omap_table none = {.n = 0}, t;
	struct pdb pdb;
	pdb_pieces got = {0};
	for (size_t more = 0; more < 2; more++) {
		t.n = PDB_PIECES_MAX + more;
		for (size_t i = 0; i < t.n; i++)
			t.v[i] = (struct pdb_omap){(uint32_t)(10 * i), 50};
		assert_int_equal(load(&pdb, &none, &t, 0), 0);
		assert_int_equal(pdb.blocks.n, t.n);
		got.n = 0;
		assert_int_equal(pdb_omap_place(&pdb, 50, 5, &got), 0);
		assert_int_equal(got.n, PDB_PIECES_MAX);
		for (size_t i = 0; i < got.n; i++)
			assert_int_equal(got.v[i].rva, 10 * i);
		unload(&pdb);
		for (size_t i = 0; i < t.n; i++)
			t.v[i].to = (uint32_t)(20 * i + 1);
		assert_int_equal(load(&pdb, &t, &none, 0), 0);
		got.n = 0;
		assert_int_equal(pdb_omap_place(&pdb, 5, 100000, &got), 0);
		assert_int_equal(got.n, PDB_PIECES_MAX);
		assert_int_equal(got.v[0].rva, 6);
		assert_int_equal(got.v[0].size, 5);
		unload(&pdb);
	}
	vec_free(&got);
}

TEST(no_memory)
{
	static struct omap_table from = {.v = {{10, 100}, {20, 50}, {30, 5}}, .n = 3};
	static struct omap_table to = {.v = {{10, 100}, {20, 50}, {30, 5}}, .n = 3};
	struct pdb pdb;
	long before = live, n = 0;
	for (int err = -ENOMEM; err; n++) {
		allowed = n;
		err = load(&pdb, &from, &to, 0);
		allowed = -1;
		assert_int_equal(err, err ? -ENOMEM : 0);
		if (!err)
			assert_int_equal(pdb.blocks.v[0].source, 5);
		unload(&pdb);
		assert_int_equal(live, before);
	}
	assert_true(n > 5);
	for (int back = 0; back < 2; back++) {
		range_vec text = {0};
		pdb_pieces got = {0};
		to.n = back ? 3 : 0;
		assert_int_equal(load(&pdb, &from, &to, 0), 0);
		assert_int_equal(vec_push(&text, (struct range){0, 200}), 0);
		allowed = 0;
		assert_int_equal(pdb_omap_place(&pdb, 5, 100, &got), -ENOMEM);
		allowed = 0;
		assert_int_equal(pdb_omap_address(&pdb, 15, &got), -ENOMEM);
		allowed = 0;
		assert_int_equal(pdb_move_code(&pdb, &text), -ENOMEM);
		assert_int_equal(text.n, 0);
		allowed = -1;
		vec_free(&text);
		unload(&pdb);
		assert_int_equal(live, before);
	}
}
