/* Which revisions are replaced when neighbours have changed. Linked with --wrap. */
#include "fs/scan/recheck.h"

#include <errno.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/fs/images/images_fixture.h"

static int checks;

/* They say what comes of it. */
int __wrap_inputs_check(struct span inputs, const struct search_path *search)
{
	(void)search;
	checks++;
	assert_int_equal(inputs.size, 4);
	return memcmp(inputs.data, "same", 4) == 0 ? 0 : memcmp(inputs.data, "gone", 4) == 0 ? -ESTALE : -EIO;
}

static struct revision *ready(struct images_fixture *f, const char *inputs)
{
	struct revision *rev = current(f);
	struct handle *handle = new_handle();
	handle->inputs = (struct span){(const uint8_t *)inputs, strlen(inputs)};
	assert_null(make_ready(f, rev, handle));
	return rev;
}

static struct revision *failed(struct images_fixture *f, const char *inputs)
{
	struct revision *rev = current(f);
	mutex_lock(&f->images.lock);
	revision_set_state(&f->images, rev, STATE_OPENING);
	revision_set_state(&f->images, rev, STATE_FAILED);
	revision_set_inputs(&f->images, rev, inputs ? strdup(inputs) : NULL);
	mutex_unlock(&f->images.lock);
	return rev;
}

/* Whether the image has a revision of its own again; @n: neighbours that were looked at. */
static bool is_renewed(struct images_fixture *f, const struct revision *rev, int n)
{
	const struct search_path search = {0};
	checks = 0;
	images_recheck(&f->images, &search);
	assert_int_equal(checks, n);
	return rev->stale && current(f) != rev;
}

TEST_OF(open_images, struct images_fixture, f)
{
	put_new(f, debug_file());
	scanned(f, 0);
	struct revision *rev = ready(f, "same");
	assert_false(is_renewed(f, rev, 1));
	rev->handle->inputs.data = (const uint8_t *)"away"; /* cannot be looked at now */
	assert_false(is_renewed(f, rev, 1));
	rev->handle->inputs.data = (const uint8_t *)"gone";
	assert_true(is_renewed(f, rev, 1));
	assert_false(is_renewed(f, current(f), 0)); /* it is cold */
	assert_false(is_renewed(f, ready(f, ""), 0));
}

TEST_OF(failed_images, struct images_fixture, f)
{
	put_new(f, debug_file());
	scanned(f, 0);
	struct revision *rev = failed(f, "same");
	assert_false(is_renewed(f, rev, 1));
	mutex_lock(&f->images.lock);
	revision_set_inputs(&f->images, rev, strdup("gone"));
	mutex_unlock(&f->images.lock);
	assert_true(is_renewed(f, rev, 1));
	assert_false(is_renewed(f, failed(f, NULL), 0));
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)
