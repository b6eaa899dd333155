#include "tests/unit/fs/images/images_fixture.h"

#include "fs/images/catalogue.h"
#include "fs/images/fragments.h"
#include "fs/images/image_find.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

int images_fixture_set_up(void **state)
{
	struct images_fixture *f = calloc(1, sizeof(*f));
	const struct path_attr attr = {.mode = 0555};
	images_init(&f->images);
	f->top = images_add_directory(&f->images, PATH_NONE, "", &attr);
	f->pass = 1;
	*state = f;
	return 0;
}

int images_fixture_tear_down(void **state)
{
	struct images_fixture *f = *state;
	images_deinit(&f->images);
	free(f);
	return 0;
}

struct source source_file(const char *path, enum richness richness)
{
	return (struct source){
		.path = (char *)path,
		.uid = OWNER,
		.gid = GROUP,
		.mode = 0444,
		.richness = richness,
		.kind = IMAGE_ELF,
		.arch = "x86_64",
	};
}

struct source debug_file(void)
{
	return source_file("debug", SOURCE_DWARF);
}

struct source program_file(enum richness richness)
{
	struct source s = source_file("program", richness);
	s.has_text = true;
	return s;
}

void put_as(struct images_fixture *f, const char *id, struct source s)
{
	struct list woken;
	list_init(&woken);
	s.pass = f->pass;
	const struct finding finding = {.id = id, .at = {s.path, f->top, true, f->pass}, .source = s};
	assert_int_equal(images_add(&f->images, &finding, &woken), 0);
}

void put(struct images_fixture *f, struct source s)
{
	put_as(f, ID, s);
}

void put_new(struct images_fixture *f, struct source s)
{
	s.ino = ++f->ino;
	put(f, s);
}

struct revision *revision_of(struct images_fixture *f, const char *id)
{
	mutex_lock(&f->images.lock);
	struct image *image = images_find(&f->images, id);
	struct revision *rev = image ? image_revision(&f->images, image) : NULL;
	mutex_unlock(&f->images.lock);
	return rev;
}

struct revision *current(struct images_fixture *f)
{
	return revision_of(f, ID);
}

void expect(struct images_fixture *f, const char *source, const char *binary)
{
	const struct revision *rev = current(f);
	assert_non_null(rev);
	assert_string_equal(rev->source.path, source);
	if (binary)
		assert_string_equal(rev->binary.path ? rev->binary.path : "none", binary);
	else
		assert_null(rev->binary.path);
}

size_t revisions(struct images_fixture *f)
{
	mutex_lock(&f->images.lock);
	size_t n = f->images.revisions.n;
	mutex_unlock(&f->images.lock);
	return n;
}

void scanned(struct images_fixture *f, int err)
{
	struct list woken;
	list_init(&woken);
	images_scanned(&f->images, f->pass++, &(struct scan_report){.err = err}, &woken);
}

struct handle *new_handle(void)
{
	struct handle *handle = calloc(1, sizeof(*handle));
	atomic_init(&handle->refs, 1);
	handle->gsym.size = GSYM_SIZE;
	return handle;
}

struct handle *make_ready(struct images_fixture *f, struct revision *rev, struct handle *handle)
{
	mutex_lock(&f->images.lock);
	revision_set_state(&f->images, rev, STATE_OPENING);
	struct handle *unused = revision_set_ready(&f->images, rev, handle);
	mutex_unlock(&f->images.lock);
	return unused;
}

void give_fragment(struct images_fixture *f, struct revision *rev, struct handle *fragment)
{
	struct list dropped;
	list_init(&dropped);
	mutex_lock(&f->images.lock);
	fragments_add(&f->images, rev, fragment, &dropped);
	mutex_unlock(&f->images.lock);
	assert_true(list_empty(&dropped));
}

void take_fragments(struct images_fixture *f, struct revision *rev)
{
	struct list dropped;
	list_init(&dropped);
	mutex_lock(&f->images.lock);
	fragments_drop(&f->images, rev, &dropped);
	mutex_unlock(&f->images.lock);
	fragments_free(&dropped);
}
