/* Words of errors: layers put theirs in front, and no error is without any. */
#include "gsym/base/diag.h"

#include <errno.h>

#include "sample.h"

static void layers_prepend(void **state)
{
	(void)state;
	struct gsym_diag diag = {""};
	assert_int_equal(diag_set(&diag, -EBADMSG, "row %d", 3), -EBADMSG);
	assert_int_equal(diag_prefix(&diag, -EBADMSG, "%s", "file"), -EBADMSG);
	assert_string_equal(diag.text, "file: row 3");
}

static void nobody_had_words(void **state)
{
	(void)state;
	struct gsym_diag diag = {""};
	assert_int_equal(diag_prefix(&diag, -ENOMEM, "file"), -ENOMEM);
	assert_string_equal(diag.text, "file: Cannot allocate memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_prepend),
		cmocka_unit_test(nobody_had_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
