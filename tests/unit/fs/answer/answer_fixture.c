#include "tests/unit/fs/answer/answer_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/os/guard.h"

/* A call that waits for an image is not parked here. */
static int never_opened(void *opener, struct call *call)
{
	(void)opener;
	(void)call;
	return 0;
}

void answer_fixture_set_up(struct answer_fixture *a, const struct job_kind *tables,
			   const struct job_kind *names)
{
	void *fixture;
	memset(a, 0, sizeof(*a));
	images_fixture_set_up(&fixture);
	a->f = fixture;
	a->f->images.open = never_opened;
	runners_init(&a->runners, &a->f->images.lock, &call_runner_kind, NULL);
	a->cache.dir = -1;
	a->answers = (struct answers){
		.source = "/src",
		.images = &a->f->images,
		.cache = &a->cache,
		.runners = &a->runners,
		.metrics = &a->metrics,
		.log = &a->log,
		.demangle = true,
		.batch_threads = 1,
	};
	answers_init(&a->answers, tables, names);
}

void answer_fixture_tear_down(struct answer_fixture *a)
{
	void *fixture = a->f;
	for (unsigned kind = 0; kind < ACCOUNT_KINDS; kind++)
		assert_int_equal(charged_to_all(a, (enum account_kind)kind), 0);
	answers_deinit(&a->answers);
	runners_deinit(&a->runners);
	images_fixture_tear_down(&fixture);
	for (size_t i = 0; i < a->n_entries; i++)
		fclose(a->entries[i].file);
}

size_t charged_to_all(const struct answer_fixture *a, enum account_kind kind)
{
	return atomic_load(&a->answers.accounts.charged[kind]);
}

void put_image(struct answer_fixture *a, const char *id, const char *path)
{
	put_as(a->f, id, WITH(debug_file(), w.path = (char *)path; w.ino = ++a->f->ino));
}

/* ---- Files of the cache ---- */

static uint64_t string_of(struct gsym_writer *writer, const char *text)
{
	uint64_t strp;
	assert_int_equal(gsym_writer_string(writer, text, strlen(text), &strp), 0);
	return strp;
}

/* Returns the string of its name. */
static uint64_t add_function(struct gsym_writer *writer, const struct made_function *made)
{
	uint32_t file;
	uint64_t dir = string_of(writer, "/src"), base = string_of(writer, "a.c");
	assert_int_equal(gsym_writer_file(writer, dir, base, &file), 0);
	const struct gsym_row rows[] = {{0, file, made->line}, {made->no_line, file, 0}};
	struct gsym_func func = {.start = made->start,
				 .size = made->size,
				 .name = string_of(writer, made->name),
				 .rows = rows,
				 .n_rows = made->no_line ? 2
					   : made->line  ? 1
							 : 0};
	struct gsym_func twin = func;
	if (made->twin) {
		twin.name = string_of(writer, made->twin);
		func.merged = &twin;
		func.n_merged = 1;
	}
	assert_int_equal(gsym_writer_add(writer, &func, NULL), 0);
	return func.name;
}

/* The record of a function begins with its size and its name; then come pieces, each with kind and size. */
static void damage(int fd, const struct made_function *made, uint64_t name)
{
	enum { PIECE_SIZE_AT = 12, MOST = 1 << 16 };
	static uint8_t bytes[MOST];
	uint8_t begin[8];
	static const uint8_t too_large[4] = {0xff, 0xff, 0xff, 0x7f};
	ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
	assert_in_range(size, 1, sizeof(bytes) - 1);
	store32(begin, made->size, false);
	store32(begin + 4, (uint32_t)name, false);
	const uint8_t *at = memmem(bytes, (size_t)size, begin, sizeof(begin));
	assert_non_null(at);
	assert_int_equal(pwrite(fd, too_large, sizeof(too_large), at - bytes + PIECE_SIZE_AT),
			 sizeof(too_large));
}

/* Writes GSYM; returns its size. */
static uint64_t write_gsym(int fd, const char *id, const struct made_function *functions, size_t n)
{
	uint8_t uuid[IMAGE_ID_MAX];
	const struct gsym_writer_options options = {
		.struct_size = sizeof(options), .uuid = uuid, .uuid_size = id_parse(id, uuid)};
	struct gsym_writer *writer;
	uint64_t *names = calloc(n, sizeof(*names));
	assert_non_null(names);
	assert_int_equal(gsym_writer_new(&options, &writer, NULL), 0);
	for (size_t i = 0; i < n; i++)
		names[i] = add_function(writer, &functions[i]);
	assert_int_equal(gsym_writer_finish(writer, fd, NULL), 0);
	gsym_writer_free(writer);
	off_t size = lseek(fd, 0, SEEK_END);
	assert_true(size > 0);
	for (size_t i = 0; i < n; i++)
		if (functions[i].damaged)
			damage(fd, &functions[i], names[i]);
	free(names);
	return (uint64_t)size;
}

struct handle *make_entry(struct answer_fixture *a, const char *id, const struct made_function *functions,
			  size_t n)
{
	const struct revision *rev = revision_of(a->f, id);
	struct gsym_diag diag = {""};
	assert_true(a->n_entries < ENTRIES_MAX);
	struct made_entry *entry = &a->entries[a->n_entries++];
	entry->file = tmpfile();
	assert_non_null(entry->file);
	int fd = fileno(entry->file);
	uint64_t size = write_gsym(fd, id, functions, n);
	assert_int_equal(trailer_write(fd, rev->key.text, size, (struct span){0}, (struct span){0}), 0);
	int err = handle_open(fd, rev->key.text, &entry->handle, &diag);
	assert_string_equal(diag.text, "");
	assert_int_equal(err, 0);
	return entry->handle;
}

struct handle *open_image(struct answer_fixture *a, const char *id, const struct made_function *functions,
			  size_t n)
{
	struct handle *handle = make_entry(a, id, functions, n);
	assert_null(make_ready(a->f, revision_of(a->f, id), handle));
	return handle;
}

void close_image_of(struct answer_fixture *a, const char *id)
{
	struct revision *rev = revision_of(a->f, id);
	mutex_lock(&a->f->images.lock);
	struct handle *closed = revision_set_cold(&a->f->images, rev);
	mutex_unlock(&a->f->images.lock);
	handle_put(closed);
}

void cut_short(struct answer_fixture *a, const struct handle *handle)
{
	size_t i = a->n_entries; /* from the end: an earlier handle may have had the same address */
	while (i && a->entries[i - 1].handle != handle)
		i--;
	assert_int_not_equal(i, 0);
	assert_int_equal(guard_install(), 0); /* cmocka has handlers of its own for the time of a test */
	assert_int_equal(ftruncate(fileno(a->entries[i - 1].file), 0), 0);
}

/* ---- Jobs ---- */

int do_job(struct answer_fixture *a, const struct job_kind *kind, struct revision *rev, unsigned part)
{
	void *job = kind->begin(&a->answers, rev, part);
	assert_non_null(job);
	int err = kind->go_on(job, INT64_MAX);
	mutex_lock(&a->f->images.lock);
	kind->free(job);
	mutex_unlock(&a->f->images.lock);
	return err;
}
