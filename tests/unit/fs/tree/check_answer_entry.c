/*
 * The file of an address, from the image or from its fragments: its node and for how long it holds, what is
 * waited for, and what fails.
 */
#include "tests/unit/fs/tree/tree_lookup_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/images/inode_numbers.h"
#include "fs/tree/tree.h"
#include "fs/tree/attr.h"
#include "tests/lib/unit.h"

static struct call call;
static bool known;

static int ask(struct revision *rev, const struct request *request)
{
	free(call.addresses);
	call = (struct call){.ino = 1};
	memset(&entry, 0xff, sizeof(entry));
	return answer_entry(&call, rev, request, &entry, &known);
}

static int ask_address(struct revision *rev, uint64_t address)
{
	return ask(rev, &(struct request){.kind = REQUEST_ADDRESS, .address = address});
}

static int tear_down(void **state)
{
	free(call.addresses);
	call.addresses = NULL;
	return tree_tear_down(state);
}

static struct revision *only_image(void)
{
	put_new(t.f, debug_file());
	scan_over();
	return current(t.f);
}

static uint64_t nodes_used(void)
{
	return nodes_count(&t.tree.nodes).used;
}

/* ---- Of an open image ---- */

TEST(answered)
{
	struct revision *rev = only_image();
	struct handle *handle = open_image(ID);
	for (int is_known = 0; is_known < 2; is_known++) {
		const struct request request = {.kind = REQUEST_ADDRESS, .address = 0x1010 + is_known};
		const struct node_id id = answer_id(rev, &request, 0x1000, 9);
		made.known = is_known;
		assert_int_equal(ask(rev, &request), 0);
		assert_int_equal(known, is_known);
		assert_int_equal(made.address, request.address);
		assert_int_equal(entry.ino, id.ino);
		assert_int_equal(entry.generation, id.generation);
		assert_int_equal(entry.attr.st_ino, id.ino);
		assert_int_equal(entry.attr.st_mode, S_IFREG | 0444);
		assert_int_equal(entry.attr.st_uid, OWNER);
		assert_int_equal(entry.attr.st_size, strlen("answer"));
		assert_true(entry.entry_timeout == TIMEOUT_FIXED);
		assert_true(entry.attr_timeout == TIMEOUT_FIXED);
	}
	assert_int_equal(made.early, 0);
	assert_int_equal(call.wait.n_addresses, 0);
	assert_int_equal(atomic_load(&handle->refs), 1);
}

/* The node pins the image until the kernel has forgotten it, however often it was looked up. */
TEST(pinned)
{
	struct revision *rev = only_image();
	open_image(ID);
	assert_false(revision_is_pinned(rev));
	assert_int_equal(ask_address(rev, 0x1010), 0);
	uint64_t ino = entry.ino;
	assert_int_equal(ask_address(rev, 0x1010), 0);
	assert_int_equal(entry.ino, ino);
	assert_int_equal(nodes_used(), 1);
	assert_true(revision_is_pinned(rev));
	nodes_forget(&t.tree.nodes, ino, 1);
	assert_true(revision_is_pinned(rev));
	nodes_forget(&t.tree.nodes, ino, 1);
	assert_false(revision_is_pinned(rev));
	assert_int_equal(nodes_used(), 0);
}

/* An answer that cannot be had leaves nothing. */
TEST(failures)
{
	static const int errors[] = {-ENOENT, -EIO, -ENOMEM, -EAGAIN};
	struct revision *rev = only_image();
	struct handle *handle = open_image(ID);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		made.err = errors[i];
		made.early = 0;
		assert_int_equal(ask_address(rev, 0x1010), errors[i]);
		assert_int_equal(made.early, 0); /* of an image that is open, its fragments are not asked */
		assert_int_equal(nodes_used(), 0);
		assert_false(revision_is_pinned(rev));
		assert_int_equal(atomic_load(&handle->refs), 1);
	}
}

TEST(without_memory)
{
	struct revision *rev = only_image();
	int err = -ENOMEM;
	open_image(ID);
	for (long n = 0; err; n++) {
		allowed = n;
		err = ask_address(rev, 0x1010);
		allowed = -1;
		assert_true(!err || err == -ENOMEM);
		assert_int_equal(nodes_used(), !err);
		assert_true(revision_is_pinned(rev) == !err);
		assert_true(n < 100);
	}
	nodes_forget(&t.tree.nodes, entry.ino, 1);
	assert_false(revision_is_pinned(rev));
}

/* ---- Before it is open ---- */

/* What failed is not asked of fragments. */
TEST(failed_image)
{
	struct revision *rev = only_image();
	give_fragment(t.f, rev, made.from = new_handle());
	mutex_lock(&t.f->images.lock);
	revision_set_state(&t.f->images, rev, STATE_OPENING);
	revision_set_failed(&t.f->images, rev, -EBADMSG, "damaged");
	mutex_unlock(&t.f->images.lock);
	assert_int_equal(ask_address(rev, 0x1010), -EBADMSG);
	assert_int_equal(made.early, 0);
	assert_null(call.addresses);
}

/* What a worker is asked for, if that can be said before the image is open. */
TEST(asked_addresses)
{
	static const struct {
		struct request request;
		unsigned n;
		uint64_t value;
		enum address_origin origin;
	} rows[] = {
		{{.kind = REQUEST_ADDRESS, .address = 0x1010}, 1, 0x1010, ADDRESS_LINKED},
		{{.kind = REQUEST_ADDRESS, .address = 0x10, .context = {.space = SPACE_RVA}},
		 1,
		 0x10,
		 ADDRESS_FROM_BASE},
		{{.kind = REQUEST_ADDRESS, .address = 0x1010, .context = {.is_return = true}},
		 1,
		 0x100f,
		 ADDRESS_LINKED},
		{{.kind = REQUEST_ADDRESS,
		  .address = 0x10,
		  .context = {.space = SPACE_RUNTIME, .load = 0x7000}},
		 0,
		 0,
		 ADDRESS_LINKED},
		{{.kind = REQUEST_SYMBOL, .symbol = "main", .symbol_size = 4}, 0, 0, ADDRESS_LINKED},
	};
	struct revision *rev = only_image();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(ask(rev, &rows[i].request), -EAGAIN);
		assert_ptr_equal(call.wait.revision, rev);
		assert_non_null(call.wait.park);
		assert_int_equal(call.wait.n_addresses, rows[i].n);
		if (rows[i].n) {
			assert_int_equal(call.addresses[0].value, rows[i].value);
			assert_int_equal(call.addresses[0].origin, rows[i].origin);
		}
	}
	assert_int_equal(made.n, 0);
	assert_int_equal(made.early, 0);
}

/* During the first scan a better file may be found: no worker is asked for this one. */
TEST(during_the_scan)
{
	put_new(t.f, program_file(SOURCE_SYMBOLS));
	struct revision *rev = current(t.f);
	assert_int_equal(ask_address(rev, 0x1010), -EAGAIN);
	assert_int_equal(call.wait.n_addresses, 0);
	assert_null(call.addresses);
	assert_null(call.wait.revision);
}

static void add_fragments(struct revision *rev, struct handle **fragments, size_t n)
{
	for (size_t i = 0; i < n; i++)
		give_fragment(t.f, rev, fragments[i] = new_handle());
}

/* The first fragment that has an answer gives it, which holds until the whole image is there. */
TEST(early)
{
	struct handle *fragments[4];
	struct revision *rev = only_image();
	add_fragments(rev, fragments, ARRAY_SIZE(fragments));
	for (size_t i = 0; i <= ARRAY_SIZE(fragments); i++) { /* the newest is asked first */
		bool any = i < ARRAY_SIZE(fragments);
		made.from = any ? fragments[ARRAY_SIZE(fragments) - 1 - i] : NULL;
		made.early = 0;
		assert_int_equal(ask_address(rev, 0x1010), any ? 0 : -EAGAIN);
		assert_int_equal(made.early, any ? i + 1 : i);
		assert_int_equal(call.wait.fragments_seen, ARRAY_SIZE(fragments));
		for (size_t k = 0; k < ARRAY_SIZE(fragments); k++)
			assert_int_equal(atomic_load(&fragments[k]->refs), 1);
		if (!any)
			continue;
		assert_int_equal(ino_table(entry.ino), INO_COUNTED);
		assert_int_equal(entry.attr.st_size, strlen("early"));
		assert_true(entry.entry_timeout == TIMEOUT_FRAGMENT);
		assert_true(entry.attr_timeout == TIMEOUT_FIXED);
		assert_int_equal(nodes_used(), i + 1);
	}
	assert_int_equal(made.n, 0);
}

/* A fragment without memory for its answer has none: the image is waited for. An address without fails. */
TEST(early_without_memory)
{
	struct handle *fragments[1];
	struct revision *rev = only_image();
	add_fragments(rev, fragments, 1);
	made.from = fragments[0];
	allowed = 0;
	assert_int_equal(ask_address(rev, 0x1010), -ENOMEM);
	allowed = -1;
	assert_int_equal(made.early, 0);
	allowed = 1;
	assert_int_equal(ask_address(rev, 0x1010), -EAGAIN);
	allowed = -1;
	assert_int_equal(made.early, 1);
	assert_int_equal(nodes_used(), 0);
	assert_int_equal(atomic_load(&fragments[0]->refs), 1);
}

EACH_TEST(tree_set_up, tear_down)
