/*
 * compare_fragments FILE [ASKED [CALLS [served]]]: the functions of fragments against those of the whole
 * conversion.
 *
 * Addresses of all functions are asked, in groups, until each was asked or is in a fragment. Every function
 * of a fragment must give the answers of the whole at its first, middle and last byte, with all functions
 * that share its code; and so must batches of these bytes, in several formats. Prints how many functions of
 * the file were in a fragment. ASKED: addresses in a group; CALLS: groups at most. Each group is asked of a
 * conversion of its own; served: all of one that makes only fragments.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convert/convert.h"
#include "gsym/base/text_buf.h"
#include "gsym/base/vec.h"
#include "gsym/render/batch/batch.h"
#include "gsym/render/render.h"

enum {
	ASKED_MAX = 64,
	SHOWN_MAX = 3, /* differences */
	SHOWN_BYTES = 600,
};

struct compared {
	const struct gsym_reader *whole;
	struct batch *batch;            /* of the whole */
	struct convert_summary summary; /* of the whole */
	bool *asked, *found; /* of each function of the whole: its address was asked, it was in a fragment */
	uint64_t n_found, differing;
	size_t group; /* addresses asked at once */
	long calls;   /* groups that are left */
	bool told;    /* of the addresses that are asked now, what is certain, or that nothing is */
	struct convert_asked first;
	struct convert_address asked_now[ASKED_MAX];
	int fd;
};

/* ---- Answers ---- */

/* All that answers say of @addr, also that it is in no function. */
static void describe(const struct gsym_reader *reader, uint64_t addr, struct text_buf *out)
{
	static const unsigned flags[] = {0, GSYM_LOOKUP_NEAR, GSYM_LOOKUP_FIRST_ROW};
	struct gsym_answer answer = {0};
	text_reset(out);
	for (size_t f = 0; f < ARRAY_SIZE(flags); f++) {
		uint32_t which = 0;
		while (gsym_lookup_flags(reader, addr, which, flags[f], &answer, NULL) == 0) {
			const struct render_options options = {.format = RENDER_JSON, .mark_merged = true};
			render_answer(out, addr, &answer, &options);
			text_dec(out, answer.func_start);
			text_char(out, '+');
			text_dec(out, answer.func_size);
			text_char(out, ' ');
			text_dec(out, answer.n_merged);
			text_char(out, '\n');
			which++;
		}
	}
	gsym_answer_deinit(&answer);
}

static int shown(const struct text_buf *text)
{
	return text->n < SHOWN_BYTES ? (int)text->n : SHOWN_BYTES;
}

static void compare_at(struct compared *c, const struct gsym_reader *part, uint64_t addr)
{
	struct text_buf whole = {0}, other = {0};
	describe(c->whole, addr, &whole);
	describe(part, addr, &other);
	if (!whole.n || whole.n != other.n || memcmp(whole.v, other.v, whole.n)) {
		if (c->differing++ < SHOWN_MAX)
			printf("0x%llx: the whole has\n%.*s\nthe fragment\n%.*s\n", (unsigned long long)addr,
			       shown(&whole), whole.v, shown(&other), other.v);
	}
	text_deinit(&whole);
	text_deinit(&other);
}

/* ---- Batches ---- */

static bool answer_all(struct batch *batch, const struct batch_options *options,
		       const struct batch_query *queries, size_t n, size_t at_once, struct text_buf *out)
{
	size_t done;
	text_reset(out);
	for (size_t i = 0; batch && i < n; i += done) {
		size_t now = at_once < n - i ? at_once : n - i;
		if (batch_answer(batch, options, queries + i, now, SIZE_MAX, out, &done, NULL))
			return false;
	}
	return batch && !out->failed;
}

/* A fragment is asked line by line, as the mounted q does. */
static void compare_batches(struct compared *c, const struct gsym_reader *part,
			    const struct batch_query *queries, size_t n)
{
	static const enum render_format formats[] = {RENDER_TEXT, RENDER_TSV, RENDER_JSON};
	struct text_buf whole = {0}, other = {0};
	for (size_t f = 0; f < 2 * ARRAY_SIZE(formats); f++) {
		const struct batch_options options = {
			.render = {.format = formats[f / 2],
				   .demangle = c->summary.has_ada ? DEMANGLE_ADA : DEMANGLE_AUTO,
				   .mark_merged = true,
				   .module = "/program"},
			.near = f % 2,
		};
		struct batch *batch = batch_new(part);
		if (answer_all(c->batch, &options, queries, n, n, &whole) &&
		    answer_all(batch, &options, queries, n, 1, &other) && whole.n == other.n &&
		    !memcmp(whole.v, other.v, whole.n)) {
			batch_free(batch);
			continue;
		}
		if (c->differing++ < SHOWN_MAX)
			printf("batch from 0x%llx: the whole has\n%.*s\nthe fragment\n%.*s\n",
			       (unsigned long long)queries->addr, shown(&whole), whole.v, shown(&other),
			       other.v);
		batch_free(batch);
	}
	text_deinit(&whole);
	text_deinit(&other);
}

/* ---- Fragments ---- */

static void mark_found(struct compared *c, uint64_t addr)
{
	uint64_t n = gsym_reader_info(c->whole)->num_addresses;
	size_t i = 0, end = n;
	while (i < end) {
		size_t mid = i + (end - i) / 2;
		if (gsym_reader_address(c->whole, (uint32_t)mid) < addr)
			i = mid + 1;
		else
			end = mid;
	}
	for (; i < n && gsym_reader_address(c->whole, (uint32_t)i) == addr; i++) {
		c->n_found += !c->found[i];
		c->found[i] = true;
	}
}

static void compare_functions(struct compared *c, const struct gsym_reader *part)
{
	uint64_t n = gsym_reader_info(part)->num_addresses;
	VEC(struct batch_query) queries = {0};
	for (uint64_t i = 0; i < n; i++) {
		uint64_t addr = gsym_reader_address(part, (uint32_t)i);
		struct gsym_answer answer = {0};
		if (gsym_lookup(part, addr, &answer, NULL) || answer.func_start != addr) {
			printf("0x%llx: the fragment has no answer\n", (unsigned long long)addr);
			c->differing++;
		}
		uint64_t size = answer.func_size;
		gsym_answer_deinit(&answer);
		mark_found(c, addr);
		const uint64_t places[] = {addr, addr + size / 2, addr + size - 1};
		for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
			const struct batch_query query = {
				.kind = BATCH_ADDRESS, .addr = places[k], .given = places[k]};
			compare_at(c, part, places[k]);
			if (vec_push(&queries, query))
				c->differing++;
		}
	}
	if (queries.n)
		compare_batches(c, part, queries.v, queries.n);
	vec_free(&queries);
}

/* A fragment was taken: the whole is known, but others may be asked. */
static int go_on(const struct compared *c)
{
	return c->first.next ? 0 : 1;
}

static int take_fragment(void *user, const struct convert_fragment *fragment)
{
	struct compared *c = user;
	struct gsym_reader *part;
	c->told = true;
	if (!fragment->output_size)
		return go_on(c);
	void *at = mmap(NULL, fragment->output_size, PROT_READ, MAP_PRIVATE, c->fd, 0);
	if (at == MAP_FAILED || gsym_reader_open_memory(at, fragment->output_size, &part, NULL)) {
		printf("the fragment is no GSYM\n");
		c->differing++;
		return 1;
	}
	if (fragment->has_ada != c->summary.has_ada || fragment->image_base != c->summary.image_base) {
		printf("the fragment has another language or image base\n");
		c->differing++;
	}
	compare_functions(c, part);
	gsym_reader_close(part);
	munmap(at, fragment->output_size);
	return go_on(c);
}

/* ---- Asking ---- */

/* @addr, from @origin if that is possible. */
static struct convert_address address_to_ask(const struct compared *c, uint64_t addr,
					     enum address_origin origin)
{
	if (origin == ADDRESS_FROM_BASE && addr >= c->summary.image_base)
		return (struct convert_address){addr - c->summary.image_base, origin};
	for (size_t i = 0; i < c->summary.n_segments && origin == ADDRESS_IN_FILE; i++) {
		const struct convert_segment *s = &c->summary.segments[i];
		if (addr >= s->addr && addr - s->addr < s->size)
			return (struct convert_address){addr - s->addr + s->off, origin};
	}
	return (struct convert_address){addr, ADDRESS_LINKED};
}

/* Chooses the next group: false when all functions were asked. */
static bool list_asked(struct compared *c)
{
	struct convert_address *ret = c->asked_now;
	uint64_t n = gsym_reader_info(c->whole)->num_addresses;
	size_t n_asked = 0;
	/* Far from each other, so that few are of one unit. */
	for (uint64_t step = n / ASKED_MAX + 1, from = 0; from < step && n_asked < c->group; from++)
		for (uint64_t i = from; i < n && n_asked < c->group; i += step) {
			if (c->asked[i] || c->found[i])
				continue;
			uint64_t addr = gsym_reader_address(c->whole, (uint32_t)i);
			ret[n_asked] = address_to_ask(
				c, addr, (enum address_origin)((from + n_asked) % ADDRESS_ORIGINS));
			n_asked++;
			c->asked[i] = true;
		}
	c->first.n = n_asked;
	return n_asked && c->calls-- > 0;
}

static int ask_next(void *user)
{
	return list_asked(user) ? 0 : 1;
}

/* False when all functions were asked. */
static bool ask(struct compared *c, const char *path, const struct convert_options *whole)
{
	struct convert_options options = *whole;
	struct convert_summary summary;
	if (!list_asked(c))
		return false;
	options.asked = &c->first;
	int out = memfd_create("whole", 0);
	if (out < 0 || ftruncate(c->fd, 0)) {
		close(out);
		return false;
	}
	c->told = false;
	if (convert_file(path, &options, out, &summary, NULL) == 0) {
		convert_summary_deinit(&summary);
		if (!c->told) {
			printf("nothing was said of what is asked\n");
			c->differing++;
		}
	}
	close(out);
	return true;
}

int main(int argc, char **argv)
{
	static const char *const debug_dirs[] = {"/usr/lib/debug", NULL};
	struct convert_options options = {.merged = true, .debug_dirs = debug_dirs};
	struct compared c = {.fd = memfd_create("fragment", 0)};
	struct gsym_diag diag = {""};
	struct gsym_reader *whole;
	int fd = memfd_create("whole", 0);
	long group = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	c.calls = argc > 3 ? strtol(argv[3], NULL, 10) : 1 << 20;
	c.first = (struct convert_asked){.v = c.asked_now,
					 .fd = c.fd,
					 .ready = take_fragment,
					 .next = argc > 4 ? ask_next : NULL,
					 .user = &c};
	c.group = group < 1 ? 1 : group > ASKED_MAX ? ASKED_MAX : (size_t)group;
	if (argc < 2 || convert_file(argv[1], &options, fd, &c.summary, &diag)) {
		printf("compare_fragments: %s\n", diag.text);
		return 2;
	}
	void *at = mmap(NULL, c.summary.output_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED || gsym_reader_open_memory(at, c.summary.output_size, &whole, &diag)) {
		printf("compare_fragments: %s\n", diag.text);
		return 2;
	}
	c.whole = whole;
	c.batch = batch_new(whole);
	size_t n = gsym_reader_info(whole)->num_addresses;
	c.asked = calloc(n + 1, sizeof(*c.asked));
	c.found = calloc(n + 1, sizeof(*c.found));
	while (c.asked && c.found && ask(&c, argv[1], &options))
		;
	printf("%llu of %llu functions in fragments, %llu answers differ\n", (unsigned long long)c.n_found,
	       (unsigned long long)n, (unsigned long long)c.differing);
	batch_free(c.batch);
	gsym_reader_close(whole);
	convert_summary_deinit(&c.summary);
	free(c.asked);
	free(c.found);
	return c.differing ? 1 : 0;
}
