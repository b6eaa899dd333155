/*
 * Several functions may correspond to one record: copies of an inline function in several units, folded
 * functions. A record is correct if it agrees with one of them, so its best outcome is kept.
 */
#include "convert/verify/verify_parts.h"

#include "gsym/base/search.h"
#include "gsym/base/sort.h"

#include <stdlib.h>

enum { OUTCOMES_DESCRIBED = 256 }; /* records whose differences are described in text */

/* The first record that starts at @addr. */
static bool record_at(const struct gsym_reader *reader, uint64_t addr, uint32_t *ret)
{
	uint32_t n = gsym_reader_info(reader)->num_addresses;
	*ret = (uint32_t)PARTITION_POINT(0, n, mid, gsym_reader_address(reader, (uint32_t)mid) < addr);
	return *ret < n && gsym_reader_address(reader, *ret) == addr;
}

/* The record of @range: it starts there, or where the symbol around the range does. */
static bool find_record(const struct verifier *v, const struct verify_range *range, uint32_t *ret)
{
	return record_at(v->reader, range->low, ret) ||
	       record_at(v->reader, verify_object_holder(&v->object, range->low, range->high), ret);
}

static int probe(struct verifier *v, const struct verify_range *range, uint64_t addr)
{
	return addr >= range->low && addr < range->high ? vec_push(&v->probes, addr) : 0;
}

static int probe_edges(struct verifier *v, const struct verify_range *range, uint64_t low, uint64_t high)
{
	int err = probe(v, range, low);
	if (!err)
		err = probe(v, range, high - 1);
	return err ? err : probe(v, range, high);
}

/* Addresses where the GSYM changes. A record that cannot be decoded fails in lookups. */
static int probe_record(struct verifier *v, const struct verify_range *range, uint32_t index)
{
	struct gsym_func func;
	int err = gsym_reader_function(v->reader, index, v->decoder, &func, NULL);
	if (err)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; !err && i < func.n_rows; i++)
		err = probe(v, range, func.start + func.rows[i].off);
	for (size_t i = 0; !err && i < func.n_ranges; i++) {
		uint64_t low = func.start + func.ranges[i].off;
		err = probe_edges(v, range, low, low + func.ranges[i].size);
	}
	return err;
}

/* Addresses where the DWARF changes. */
static int probe_dwarf(struct verifier *v, const struct verify_range *range,
		       const struct verify_function *function)
{
	int err = probe_edges(v, range, range->low, range->high);
	for (size_t i = 0; !err && i < function->ranges.n; i++)
		err = probe_edges(v, range, function->ranges.v[i].low, function->ranges.v[i].high);
	for (size_t i = 0; !err && i < v->lines.sequences.n; i++) {
		const struct verify_sequence *s = &v->lines.sequences.v[i];
		for (size_t k = 0; !err && s->low < range->high && s->high > range->low && k < s->count; k++)
			err = probe(v, range, v->lines.rows.v[s->first + k].addr);
	}
	return err;
}

static int collect_probes(struct verifier *v, const struct verify_range *range,
			  const struct verify_function *function, uint32_t index)
{
	v->probes.n = 0;
	int err = probe_dwarf(v, range, function);
	if (!err)
		err = probe_record(v, range, index);
	if (err)
		return err;
	qsort(v->probes.v, v->probes.n, sizeof(*v->probes.v), compare_u64);
	size_t n = 0;
	for (size_t i = 0; i < v->probes.n; i++)
		if (n == 0 || v->probes.v[n - 1] != v->probes.v[i])
			v->probes.v[n++] = v->probes.v[i];
	v->probes.n = n;
	return 0;
}

static void describe(struct verifier *v, struct verify_outcome *outcome, enum verify_class class,
		     const struct verify_expected *expected, const struct gsym_answer *answer)
{
	if (class < VERIFY_DIFFERENT || outcome->counts[class] > 1)
		return;
	if (!outcome->examples && v->described++ < OUTCOMES_DESCRIBED)
		outcome->examples = calloc(VERIFY_CLASSES, sizeof(*outcome->examples));
	if (outcome->examples)
		verify_describe(expected, answer, outcome->examples[class], sizeof(*outcome->examples));
}

/* @start: of the record that describes @range. */
static struct verify_expected expectation(const struct verifier *v, const struct verify_function *function,
					  uint64_t start, uint64_t addr)
{
	struct verify_expected expected = {
		.function = function, .lines = &v->lines, .object = &v->object, .addr = addr, .start = start};
	verify_expect(&expected);
	return expected;
}

static int compare_address(struct verifier *v, struct verify_outcome *outcome,
			   const struct verify_function *function, uint64_t start, uint64_t addr)
{
	struct verify_expected expected = expectation(v, function, start, addr);
	enum verify_class class;
	int err = gsym_lookup(v->reader, addr, &v->answer, NULL);
	if (err == -ENOMEM)
		return err;
	if (err)
		class = err == -ENOENT ? VERIFY_MISSING : VERIFY_DAMAGED;
	else
		class = verify_compare(&expected, &v->answer);
	outcome->counts[class]++;
	describe(v, outcome, class, &expected, err ? NULL : &v->answer);
	return 0;
}

static uint64_t badness(const struct verify_outcome *outcome)
{
	uint64_t count = 0;
	for (int class = VERIFY_DIFFERENT; class < VERIFY_CLASSES; class ++)
		count += outcome->counts[class];
	return count;
}

static int compare_range(struct verifier *v, const struct verify_function *function,
			 const struct verify_range *range, uint32_t index)
{
	struct verify_outcome outcome = {0};
	if (v->outcomes[index].seen && badness(&v->outcomes[index]) == 0)
		return 0;
	uint64_t start = gsym_reader_address(v->reader, index);
	int err = collect_probes(v, range, function, index);
	for (size_t i = 0; !err && i < v->probes.n; i++)
		err = compare_address(v, &outcome, function, start, v->probes.v[i]);
	/* Of several outcomes of a record the best is kept. */
	struct verify_outcome *known = &v->outcomes[index];
	if (!err && (!known->seen || badness(&outcome) < badness(known))) {
		free(known->examples);
		*known = outcome;
		known->seen = true;
	} else {
		free(outcome.examples);
	}
	return err;
}

/* Which records a sample compares: every n-th. */
static bool in_sample(const struct verifier *v, uint32_t index)
{
	uint32_t most = v->max_functions, all = gsym_reader_info(v->reader)->num_addresses;
	return most == 0 || most >= all || index % (all / most) == 0;
}

int verify_visit_function(void *verifier, const struct verify_function *function)
{
	struct verifier *v = verifier;
	const struct verify_range *ranges = verify_ranges(function, 0);
	int err = v->lines_read ? 0 : verify_lines_read(&v->lines, &v->dw, v->unit);
	v->lines_read = !err;
	for (size_t i = 0; !err && i < function->nodes.v[0].n_ranges; i++) {
		uint32_t index;
		const struct verify_name *name = &function->nodes.v[0].name;
		/* Linkers leave dropped functions at 0, or outside of code sections. */
		if (!verify_object_is_code(&v->object, ranges[i].low) || !(name->linkage || name->plain))
			continue;
		if (find_record(v, &ranges[i], &index))
			err = in_sample(v, index) ? compare_range(v, function, &ranges[i], index) : 0;
		else if (ranges[i].low != 0) {
			uint64_t low = ranges[i].low;
			struct verify_expected expected = expectation(v, function, low, low);
			verify_example text;
			verify_describe(&expected, NULL, text, sizeof(text));
			verify_add_example(v->report, VERIFY_MISSING, text);
			v->report->classes[VERIFY_MISSING].count++;
		}
	}
	return err;
}
