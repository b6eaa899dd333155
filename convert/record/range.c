#include "convert/record/range.h"

#include "gsym/base/invariant.h"
#include "gsym/base/search.h"

int range_compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return COMPARE(x->lo, y->lo);
}

void ranges_sort(struct range *v, size_t n)
{
	bool sorted = true;
	for (size_t i = 1; i < n && sorted; i++)
		sorted = v[i - 1].lo <= v[i].lo;
	if (!sorted)
		qsort(v, n, sizeof(*v), range_compare);
}

size_t ranges_join(struct range *v, size_t n)
{
	size_t kept = 0;
	ranges_sort(v, n);
	for (size_t i = 0; i < n; i++) {
		if (v[i].lo >= v[i].hi)
			continue;
		if (kept && v[i].lo <= v[kept - 1].hi) {
			if (v[i].hi > v[kept - 1].hi)
				v[kept - 1].hi = v[i].hi;
		} else {
			v[kept++] = v[i];
		}
	}
	return kept;
}

void ranges_normalize(range_vec *set)
{
	set->n = ranges_join(set->v, set->n);
	for (size_t i = 1; i < set->n; i++)
		invariant(set->v[i - 1].hi < set->v[i].lo);
}

const struct range *ranges_find(const range_vec *set, uint64_t addr)
{
	size_t lo = PARTITION_POINT(0, set->n, mid, set->v[mid].lo <= addr);
	invariant((!lo || set->v[lo - 1].lo <= addr) && (lo == set->n || addr < set->v[lo].lo));
	return lo && addr < set->v[lo - 1].hi ? &set->v[lo - 1] : NULL;
}
