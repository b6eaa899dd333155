/* What tells the content of files apart, and which files other users may have forged. */
#include "store/client/file_print.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

enum { LARGE = FILE_PRINT_WHOLE_MAX + 1 };

/* A file of @size bytes: @text, and zeros. */
static FILE *file_of(const char *text, uint64_t size)
{
	FILE *file = tmpfile();
	assert_non_null(file);
	assert_int_equal(pwrite(fileno(file), text, strlen(text), 0), strlen(text));
	assert_int_equal(ftruncate(fileno(file), (off_t)size), 0);
	return file;
}

/* By another implementation: hashlib.blake2b(b"source", digest_size=32). */
TEST(whole_file)
{
	char print[FILE_PRINT_SIZE];
	FILE *file = file_of("source", 6);
	assert_int_equal(fchmod(fileno(file), 0666), 0); /* by whom it was written does not matter */
	assert_int_equal(file_print(fileno(file), 6, print), 0);
	assert_string_equal(print, "b2478cb8e80f0553fc68441caec93b11f33db259c402527c1375ed6004a0937af");
	assert_int_equal(file_print(fileno(file), 5, print), -ESTALE);
	assert_int_equal(file_print(-1, 6, print), -EBADF);
	fclose(file);
	file = file_of("", LARGE - 1);
	assert_int_equal(file_print(fileno(file), LARGE - 1, print), 0);
	assert_int_equal(*print, 'b');
	fclose(file);
}

TEST(large_file)
{
	char print[FILE_PRINT_SIZE], other[FILE_PRINT_SIZE];
	FILE *file = file_of("source", LARGE), *another = file_of("Source", LARGE);
	assert_int_equal(file_print(fileno(file), LARGE, print), 0);
	assert_int_equal(strspn(print + 1, "0123456789abcdef"), 32);
	assert_int_equal(strlen(print), 33);
	assert_int_equal(*print, 's');
	assert_int_equal(file_print(fileno(another), LARGE, other), 0);
	assert_string_not_equal(print, other);
	assert_int_equal(fchmod(fileno(file), 0602), 0);
	assert_int_equal(file_print(fileno(file), LARGE, other), -EPERM);
	assert_int_equal(fchmod(fileno(file), 0620), 0);
	assert_int_equal(file_print(fileno(file), LARGE, other), -EPERM);
	assert_int_equal(fchmod(fileno(file), 0644), 0);
	assert_int_equal(file_print(fileno(file), LARGE, other), 0);
	if (geteuid() == 0) {
		assert_int_equal(fchown(fileno(file), 65534, 0), 0);
		assert_int_equal(file_print(fileno(file), LARGE, other), -EPERM);
	}
	fclose(file);
	fclose(another);
}
