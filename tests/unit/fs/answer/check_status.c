/* The file status of an image: what it says of each state, and of files that not all may know of. */
#include "tests/unit/fs/images/images_fixture.h"

#include "work/run/converter.h"
#include "fs/answer/answer_files.h"
#include "work/types/convert_revision.h"
#include "fs/convert/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum { ALWAYS = 100000 /* per cent of load: a host is idle below that */ };

/* Of the cache: what it has for the key of the image. */
static bool is_cached;
static const char *cached_notes = "";

uint64_t __wrap_fragments_functions(const struct images *images, const struct revision *rev)
{
	(void)images;
	return rev->n_fragments * 5;
}

bool __wrap_cache_peek(const struct cache *cache, const struct cache_key *key, uint64_t *ret_size,
		       struct text_buf *notes)
{
	(void)cache;
	assert_non_null(key);
	if (!is_cached)
		return false;
	*ret_size = 4711;
	text_str(notes, cached_notes);
	return true;
}

struct parts {
	struct converter converter;
	struct queue queue;
	struct cache cache;
	struct answers answers;
	struct images_fixture *f;
};

static struct parts parts;

static int set_up(void **state)
{
	int err = images_fixture_set_up(state);
	struct parts *p = &parts;
	memset(p, 0, sizeof(*p));
	p->f = *state;
	p->queue = (struct queue){
		.images = &p->f->images, .converter = &p->converter, .idle.load_percent = ALWAYS};
	queue_init(&p->queue);
	p->answers = (struct answers){
		.images = &p->f->images, .queue = &p->queue, .cache = &p->cache, .source = "/src"};
	is_cached = false;
	cached_notes = "";
	return err;
}

static int tear_down(void **state)
{
	queue_deinit(&parts.queue);
	return images_fixture_tear_down(state);
}

static char *text_of(const char *id, bool json)
{
	struct content *content = status_make(&parts.answers, revision_of(parts.f, id), json);
	assert_non_null(content);
	char *text = strndup(content->data, content->size);
	content_put(content);
	return text;
}

static void expect_of(const char *id, bool json, const char *want)
{
	char *text = text_of(id, json);
	assert_string_equal(text, want);
	free(text);
}

static void expect_line(const char *line, bool there)
{
	char *text = text_of(ID, false), whole[128];
	snprintf(whole, sizeof(whole), "%s\n", line);
	const char *at = strstr(text, whole);
	if (!at != !there)
		fail_msg("%s '%s' in '%s'", there ? "no" : "there is", line, text);
	assert_true(!at || at == text || at[-1] == '\n');
	free(text);
}

static void set_states(struct revision *rev, const enum revision_state *states, size_t n)
{
	mutex_lock(&parts.f->images.lock);
	for (size_t i = 0; i < n; i++)
		revision_set_state(&parts.f->images, rev, states[i]);
	mutex_unlock(&parts.f->images.lock);
}

#define STATES_OF(rev, ...)                                         \
	set_states(rev, (const enum revision_state[]){__VA_ARGS__}, \
		   sizeof((const enum revision_state[]){__VA_ARGS__}) / sizeof(enum revision_state))

TEST(lines)
{
	put(*state, WITH(program_file(SOURCE_SYMBOLS), w.ino = 1));
	put(*state, WITH(debug_file(), w.ino = 2));
	char revision[REVISION_TEXT_SIZE], want[512];
	convert_revision(IMAGE_ELF, IMAGE_ELF, revision);
	snprintf(want, sizeof(want),
		 "state\tcold\nid\t" ID "\nkind\telf\narch\tx86_64\nsource\t/src/debug\ndebug\tdwarf\n"
		 "binary\t/src/program\nrevision\t%s\nconversions\t0\n",
		 revision);
	expect_of(ID, false, want);
	snprintf(want, sizeof(want),
		 "{\"state\":\"cold\",\"id\":\"" ID "\",\"kind\":\"elf\",\"arch\":\"x86_64\","
		 "\"source\":\"/src/debug\",\"debug\":\"dwarf\",\"binary\":\"/src/program\","
		 "\"revision\":\"%s\",\"conversions\":0}\n",
		 revision);
	expect_of(ID, true, want);
	struct revision *rev = current(*state);
	rev->image->conversions = 3;
	rev->seconds = 1.5;
	expect_line("conversions\t3", true);
	expect_line("seconds\t1.50", true);
	expect_line("bytes\t4711", false);
	is_cached = true;
	expect_line("bytes\t4711", true);
}

TEST(kinds)
{
	static const struct {
		enum image_kind kind;
		enum richness richness;
		const char *kind_line, *debug_line;
	} rows[] = {
		{IMAGE_OTHER, SOURCE_BARE, "kind\tother", "debug\tnone"},
		{IMAGE_MACHO, SOURCE_SYMBOLS, "kind\tmach-o", "debug\tsymbols"},
		{IMAGE_BREAKPAD, SOURCE_BREAKPAD, "kind\tbreakpad", "debug\tbreakpad"},
		{IMAGE_GSYM_FILE, SOURCE_GSYM, "kind\tgsym", "debug\tgsym"},
		{IMAGE_PE, SOURCE_GO, "kind\tpe", "debug\tgo"},
		{IMAGE_PDB, SOURCE_PDB, "kind\tpdb", "debug\tpdb"},
	};
	put(*state, WITH(debug_file(), w.ino = 1));
	struct revision *rev = current(*state);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rev->source.kind = rows[i].kind;
		rev->source.richness = rows[i].richness;
		expect_line(rows[i].kind_line, true);
		expect_line(rows[i].debug_line, true);
	}
}

TEST(converting)
{
	put(*state, WITH(debug_file(), w.ino = 1));
	struct revision *rev = current(*state);
	atomic_store(&rev->progress, 41);
	STATES_OF(rev, STATE_OPENING, STATE_QUEUED);
	expect_line("state\tqueued", true);
	STATES_OF(rev, STATE_CONVERTING);
	expect_line("state\tconverting 41%", true);
	expect_line("converter\there", false); /* there is no other */
	char *text = text_of(ID, true);
	assert_non_null(strstr(text, "{\"state\":\"converting\",\"progress\":41,\"id\""));
	free(text);
	parts.converter.share = (struct share *)&parts; /* there is one */
	expect_line("converter\there", true);
	atomic_store(&rev->elsewhere, true);
	expect_line("state\tconverting", true);
	expect_line("converter\telsewhere", true);
	text = text_of(ID, true);
	assert_null(strstr(text, "progress"));
	free(text);
	atomic_store(&rev->elsewhere, false);
	STATES_OF(rev, STATE_COLD);
	expect_line("converter\there", false);
}

TEST(of_fragments)
{
	put(*state, WITH(debug_file(), w.ino = 1));
	struct revision *rev = current(*state);
	expect_line("tier\tfragments", false);
	give_fragment(parts.f, rev, new_handle());
	expect_line("tier\tfragments", true);
	expect_line("first_functions\t5", true);
	expect_line("rest\tidle", true);
	parts.queue.idle.load_percent = 0;
	expect_line("rest\tasked", true);
	STATES_OF(rev, STATE_OPENING);
	expect_line("rest\tasked", false);
	expect_line("tier\tfragments", true);
	STATES_OF(rev, STATE_COLD);
	take_fragments(parts.f, rev);
}

/* Where the conversion was made, with a shared store. */
TEST(origins)
{
	put(*state, WITH(debug_file(), w.ino = 1));
	is_cached = true;
	cached_notes = "units\t1\norigin\thost\n";
	expect_line("origin\there", false);
	parts.converter.share = (struct share *)&parts; /* there is one */
	expect_line("origin\there", false);
	char *text = text_of(ID, true);
	assert_non_null(strstr(text, "\"origin\":\"store\""));
	free(text);
	cached_notes = "units\t1\n";
	expect_line("origin\there", true);
	text = text_of(ID, true);
	assert_non_null(strstr(text, "\"origin\":\"here\""));
	free(text);
	is_cached = false;
	expect_line("origin\there", false);
}

/* ---- Other files ---- */

static void put_other(struct images_fixture *f, const char *path, unsigned ino, unsigned mode, unsigned uid,
		      unsigned gid)
{
	put(f, WITH(source_file(path, SOURCE_SYMBOLS), w.ino = ino, w.mode = mode, w.uid = uid, w.gid = gid));
}

/* Files that some who read the image may not read are not named. */
TEST_OF(known_to_readers, struct images_fixture, f)
{
	put(f, WITH(debug_file(), w.ino = 1, w.mode = 0440));
	put_other(f, "all", 2, 0444, STRANGER, STRANGER);
	put_other(f, "same", 3, 0440, OWNER, GROUP);
	put_other(f, "more", 4, 0460, OWNER, GROUP);
	put_other(f, "less", 5, 0400, OWNER, GROUP);
	put_other(f, "group", 6, 0440, OWNER, STRANGER);
	put_other(f, "owner", 7, 0440, STRANGER, GROUP);
	assert_string_equal(current(f)->source.path, "debug");
	expect_line("also\t/src/all", true);
	expect_line("also\t/src/same", true);
	expect_line("also\t/src/more", true);
	expect_line("also\t/src/less", false);
	expect_line("also\t/src/group", false);
	expect_line("also\t/src/owner", false);
	expect_line("also_more\t3", true);
}

TEST_OF(known_to_all, struct images_fixture, f)
{
	put(f, WITH(debug_file(), w.ino = 1));
	put_other(f, "all", 2, 0444, STRANGER, STRANGER);
	put_other(f, "same", 3, 0440, OWNER, GROUP);
	expect_line("also\t/src/all", true);
	expect_line("also\t/src/same", false);
	expect_line("also_more\t1", true);
}

/* The permissions of the file as it is now decide, not those that it had. */
TEST_OF(permissions_changed, struct images_fixture, f)
{
	put_other(f, "all", 1, 0444, OWNER, GROUP);
	put(f, WITH(debug_file(), w.ino = 2));
	put_other(f, "same", 3, 0440, OWNER, GROUP);
	const struct revision *rev = current(f);
	expect_line("also\t/src/all", true);
	expect_line("also\t/src/same", false);
	for (size_t i = 0; i < rev->image->sources.n; i++)
		if (rev->image->sources.v[i].chosen)
			rev->image->sources.v[i].mode = 0440;
	expect_line("also\t/src/same", true);
	/* It is not there any more: as it was, then. */
	for (size_t i = 0; i < rev->image->sources.n; i++)
		rev->image->sources.v[i].chosen = false;
	expect_line("also\t/src/same", false);
}

/* The binary that only some may read is not named either. */
TEST_OF(secret_binary, struct images_fixture, f)
{
	put(f, WITH(program_file(SOURCE_SYMBOLS), w.ino = 1));
	put(f, WITH(debug_file(), w.ino = 2));
	expect(f, "debug", "program");
	expect_line("binary\t/src/program", true);
	current(f)->binary.mode = 0400;
	expect_line("binary\t/src/program", false);
	expect_line("also\t/src/program", false);
	expect_line("also_more\t1", false);
}

TEST_OF(many, struct images_fixture, f)
{
	enum { ALSO = 16 };
	static char paths[ALSO + 2][16];
	put(f, WITH(debug_file(), w.ino = 1));
	for (unsigned i = 0; i < ALSO + 2; i++) {
		snprintf(paths[i], sizeof(paths[i]), "other%02u", i);
		put_other(f, paths[i], 10 + i, 0444, OWNER, GROUP);
		char *text = text_of(ID, false);
		size_t n = 0;
		for (const char *at = text; (at = strstr(at, "\nalso\t")); at++)
			n++;
		free(text);
		assert_int_equal(n, i < ALSO ? i + 1 : ALSO);
		expect_line("also_more\t1", i == ALSO);
		expect_line("also_more\t2", i == ALSO + 1);
	}
}

/* Other ids, each once, of files that may be known. */
TEST_OF(further_ids, struct images_fixture, f)
{
	put(f, WITH(debug_file(), w.ino = 1, w.htlhash[0] = 0x12, w.go_id = (char *)"go-a"));
	put(f,
	    WITH(source_file("b", SOURCE_SYMBOLS), w.ino = 2, w.htlhash[0] = 0x12, w.go_id = (char *)"go-a"));
	put(f,
	    WITH(source_file("c", SOURCE_SYMBOLS), w.ino = 3, w.htlhash[0] = 0x34, w.go_id = (char *)"go-b"));
	put(f, WITH(source_file("d", SOURCE_SYMBOLS), w.ino = 4, w.mode = 0400, w.htlhash[0] = 0x56,
		    w.go_id = (char *)"go-c"));
	put(f, WITH(source_file("e", SOURCE_SYMBOLS), w.ino = 5));
	char *text = text_of(ID, false);
	size_t hashes = 0, ids = 0;
	for (const char *at = text; (at = strstr(at, "\nhtlhash\t")); at++)
		hashes++;
	for (const char *at = text; (at = strstr(at, "\ngo_build_id\t")); at++)
		ids++;
	free(text);
	assert_int_equal(hashes, 2);
	assert_int_equal(ids, 2);
	expect_line("go_build_id\tgo-a", true);
	expect_line("go_build_id\tgo-b", true);
	/* One that may not be known hides no other. */
	put(f, WITH(source_file("f", SOURCE_SYMBOLS), w.ino = 6, w.go_id = (char *)"go-c"));
	expect_line("go_build_id\tgo-c", true);
}

/* The ids that a truncated one may stand for. */
TEST_OF(ambiguous, struct images_fixture, f)
{
	static const char truncated[] = "aabbccdd00112233445566778899aabb";
	put_as(f, truncated, WITH(debug_file(), w.ino = 1, w.id_is_truncated = true));
	put_as(f, "aabbccdd00112233445566778899aabb01", WITH(source_file("b", SOURCE_DWARF), w.ino = 2));
	char *one = text_of(truncated, false);
	assert_null(strstr(one, "ambiguous"));
	free(one);
	put_as(f, "aabbccdd00112233445566778899aabb02", WITH(source_file("c", SOURCE_DWARF), w.ino = 3));
	char *two = text_of(truncated, false);
	assert_non_null(strstr(two, "\nambiguous\taabbccdd00112233445566778899aabb01\n"));
	assert_non_null(strstr(two, "\nambiguous\taabbccdd00112233445566778899aabb02\n"));
	free(two);
	revision_of(f, truncated)->source.id_is_truncated = false;
	char *none = text_of(truncated, false);
	assert_null(strstr(none, "ambiguous"));
	free(none);
}

/* What a failure says. */
TEST(failed)
{
	put(*state, WITH(debug_file(), w.ino = 1));
	struct revision *rev = current(*state);
	STATES_OF(rev, STATE_OPENING);
	mutex_lock(&parts.f->images.lock);
	revision_set_failed(&parts.f->images, rev, -EIO, "section .debug_line is truncated");
	mutex_unlock(&parts.f->images.lock);
	expect_line("state\tfailed", true);
	expect_line("reason\tsection .debug_line is truncated", true);
}

EACH_TEST(set_up, tear_down)
