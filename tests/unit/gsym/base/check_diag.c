/* Words of errors: layers put theirs in front, and no error is without any. */
#include "gsym/base/diag.h"

#include <errno.h>

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

TEST(layers_prepend)
{
	struct gsym_diag diag = {""};
	assert_int_equal(diag_set(&diag, -EBADMSG, "row %d", 3), -EBADMSG);
	assert_int_equal(diag_prefix(&diag, -EBADMSG, "%s", "file"), -EBADMSG);
	assert_string_equal(diag.text, "file: row 3");
}

TEST(nobody_had_words)
{
	struct gsym_diag diag = {""};
	assert_int_equal(diag_prefix(&diag, -ENOMEM, "file"), -ENOMEM);
	assert_string_equal(diag.text, "file: Cannot allocate memory");
}
