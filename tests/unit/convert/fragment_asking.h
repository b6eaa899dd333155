/*
 * fragment_asking.h - a conversion of a made image of which fragments are asked, and what it tells of them.
 */
#ifndef TESTS_FRAGMENT_ASKING_H
#define TESTS_FRAGMENT_ASKING_H

#include "tests/unit/convert/made_fragment.h"

#include "convert/conversion.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum { ASKED_MOST = 24, NOWHERE = 0x7000 };

/* A conversion, and what it tells of what is asked. */
struct asking {
	struct made_file *file;
	struct convert_options options;
	struct convert_asked asked;
	struct convert_address addresses[ASKED_MOST];
	struct conversion c;
	int stop; /* returned to the conversion */
	int calls;
	char found[32]; /* digits of functions; "none" */
	struct convert_fragment told;
	uint64_t base;           /* of the GSYM */
	const char *symbols;     /* see struct made_image */
	const char *const *next; /* what is asked then */
	char all[128];           /* what was found of each */
};

/* ---- What is told ---- */

static inline char mark_of(const struct asking *a, char digit)
{
	return a->symbols ? a->symbols[(function_addr(digit) - TEXT) / FUNCTION_SIZE] : (char)SIZED;
}

/* The functions of the GSYM, whose names and lines are those of the whole. */
static inline void read_gsym(struct asking *a, size_t size)
{
	uint8_t *bytes = malloc(size);
	struct gsym_reader *reader;
	struct gsym_answer answer = {0};
	struct stat st;
	assert_int_equal(fstat(a->asked.fd, &st), 0);
	assert_int_equal(st.st_size, size);
	assert_int_equal(pread(a->asked.fd, bytes, size, 0), size);
	assert_int_equal(gsym_reader_open_memory(bytes, size, &reader, NULL), 0);
	uint64_t n = gsym_reader_info(reader)->num_addresses;
	a->base = gsym_reader_info(reader)->base_address;
	assert_int_equal(n, a->told.functions);
	assert_in_range(n, 1, FUNCTIONS);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t addr = gsym_reader_address(reader, i);
		a->found[i] = "0123456789abcdef"[(addr - TEXT) / FUNCTION_SIZE];
		a->found[i + 1] = 0;
		assert_int_equal(addr, function_addr(a->found[i]));
		assert_int_equal(gsym_lookup(reader, addr, &answer, NULL), 0);
		assert_int_equal(answer.n_frames, 1);
		assert_true(answer.has_rows);
		assert_int_equal(answer.frames[0].name[1], a->found[i]);
		if (mark_of(a, a->found[i]) == SIZED) /* symbols name functions otherwise than DWARF does */
			assert_int_equal(answer.frames[0].name[0], 's');
		if (mark_of(a, a->found[i]) == NO_SYMBOL)
			assert_int_equal(answer.frames[0].name[0], 'f');
		assert_string_equal(answer.frames[0].base, "u.c");
	}
	gsym_answer_deinit(&answer);
	gsym_reader_close(reader);
	free(bytes);
}

static inline int ready(void *user, const struct convert_fragment *fragment)
{
	struct asking *a = user;
	long kept = allowed;
	allowed = -1;
	a->calls++;
	a->told = *fragment;
	strcpy(a->found, "none");
	if (fragment->output_size)
		read_gsym(a, fragment->output_size);
	assert_int_equal(ftruncate(a->asked.fd, 0), 0);
	snprintf(a->all + strlen(a->all), sizeof(a->all) - strlen(a->all), "%s ", a->found);
	allowed = kept;
	return a->stop;
}

/* ---- Asking ---- */

/* An address in each of the functions; '*' is nowhere. */
static inline void ask(struct asking *a, const char *digits)
{
	a->asked.v = a->addresses;
	for (a->asked.n = 0; digits[a->asked.n]; a->asked.n++) {
		char digit = digits[a->asked.n];
		a->addresses[a->asked.n] = (struct convert_address){
			digit == '*' ? NOWHERE : function_addr(digit) + 4, ADDRESS_LINKED};
	}
}

static inline int next(void *user)
{
	struct asking *a = user;
	const char *digits = *a->next++;
	if (digits)
		ask(a, digits);
	return !digits;
}

static inline void start(struct asking *a, const struct made_image *image, const char *digits)
{
	*a = (struct asking){
		.file = made_image_file(image),
		.symbols = image->symbols,
		.options = {.merged = true, .asked = &a->asked},
		.asked = {.fd = memfd_create("fragment", 0), .ready = ready, .user = a},
	};
	ask(a, digits);
	a->c = (struct conversion){.options = &a->options, .threads = 1, .opener = {.fault = &a->c.fault}};
	assert_int_equal(object_open_memory(a->file->bytes, a->file->n, "made", &a->c.object, NULL), 0);
	a->c.object->opener = &a->c.opener;
	assert_int_equal(conversion_load_dwarf(&a->c), 0);
}

/* All units and symbols, as fragment_make() wants them. */
static inline void prepare_all(struct asking *a)
{
	assert_int_equal(conversion_prepare(&a->c), 0);
	assert_int_equal(conversion_open_dwarf(&a->c), 0);
}

static inline void end(struct asking *a)
{
	conversion_close_units(&a->c);
	vec_free(&a->c.records);
	vec_free(&a->c.symbols);
	pool_deinit(&a->c.pool);
	arena_free(&a->c.arena);
	conversion_close_files(&a->c);
	free(a->file);
	close(a->asked.fd);
}

/* Asks once. What is found must not depend on what was asked before. */
static inline const char *make(struct asking *a, int (*how)(struct conversion *c, bool *ret_done))
{
	bool done = false;
	size_t n_symbols = a->c.symbols.n, n_units = a->c.dwarf.n_units, n_loaded = a->c.object->symbols.n;
	*a->found = 0;
	a->calls = 0;
	assert_int_equal(how(&a->c, &done), 0);
	assert_int_equal(a->calls, done);
	assert_int_equal(*a->found != 0, done);
	assert_int_equal(a->c.symbols.n, n_symbols);
	assert_int_equal(a->c.dwarf.n_units, n_units);
	assert_int_equal(a->c.object->symbols.n, n_loaded);
	assert_int_equal(a->c.records.n, 0);
	return a->found;
}

#endif
