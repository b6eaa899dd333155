/*
 * compare_fragments FILE [ASKED [CALLS]]: the functions of fragments against those of the whole conversion.
 *
 * Addresses of all functions are asked, in groups, until each was asked or is in a fragment. Every function
 * of a fragment must give the answers of the whole at its first, middle and last byte, with all functions
 * that share its code. Prints how many functions of the file were in a fragment. ASKED: addresses in a group;
 * CALLS: groups at most.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convert/convert.h"
#include "gsym/base/text_buf.h"
#include "gsym/base/vec.h"
#include "gsym/render/render.h"

enum {
	ASKED_MAX = 64,
	SHOWN_MAX = 3, /* differences */
	SHOWN_BYTES = 600,
};

struct compared {
	const struct gsym_reader *whole;
	struct convert_summary summary; /* of the whole */
	bool *asked, *found; /* of each function of the whole: its address was asked, it was in a fragment */
	uint64_t n_found, differing;
	size_t group; /* addresses asked at once */
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
		compare_at(c, part, addr);
		compare_at(c, part, addr + size / 2);
		compare_at(c, part, addr + size - 1);
	}
}

static int take_fragment(void *user, const struct convert_fragment *fragment)
{
	struct compared *c = user;
	struct gsym_reader *part;
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
	return 1; /* the whole is known */
}

/* ---- Asking ---- */

static size_t list_asked(struct compared *c, struct convert_address *ret)
{
	uint64_t n = gsym_reader_info(c->whole)->num_addresses;
	size_t n_asked = 0;
	/* Far from each other, so that few are of one unit. */
	for (uint64_t step = n / ASKED_MAX + 1, from = 0; from < step && n_asked < c->group; from++)
		for (uint64_t i = from; i < n && n_asked < c->group; i += step) {
			if (c->asked[i] || c->found[i])
				continue;
			uint64_t addr = gsym_reader_address(c->whole, (uint32_t)i);
			bool from_base = n_asked % 2 && addr >= c->summary.image_base;
			ret[n_asked++] = (struct convert_address){
				from_base ? addr - c->summary.image_base : addr, from_base};
			c->asked[i] = true;
		}
	return n_asked;
}

/* False when all functions were asked. */
static bool ask(struct compared *c, const char *path, const struct convert_options *whole)
{
	struct convert_address asked[ASKED_MAX];
	struct convert_options options = *whole;
	struct convert_summary summary;
	struct convert_asked first = {.v = asked, .fd = c->fd, .ready = take_fragment, .user = c};
	first.n = list_asked(c, asked);
	options.asked = &first;
	int out = memfd_create("whole", 0);
	if (!first.n || out < 0 || ftruncate(c->fd, 0)) {
		close(out);
		return false;
	}
	if (convert_file(path, &options, out, &summary, NULL) == 0)
		convert_summary_deinit(&summary);
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
	long group = argc > 2 ? strtol(argv[2], NULL, 10) : 1,
	     calls = argc > 3 ? strtol(argv[3], NULL, 10) : 1 << 20;
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
	size_t n = gsym_reader_info(whole)->num_addresses;
	c.asked = calloc(n + 1, sizeof(*c.asked));
	c.found = calloc(n + 1, sizeof(*c.found));
	while (c.asked && c.found && calls-- > 0 && ask(&c, argv[1], &options))
		;
	printf("%llu of %llu functions in fragments, %llu answers differ\n", (unsigned long long)c.n_found,
	       (unsigned long long)n, (unsigned long long)c.differing);
	gsym_reader_close(whole);
	convert_summary_deinit(&c.summary);
	free(c.asked);
	free(c.found);
	return c.differing ? 1 : 0;
}
