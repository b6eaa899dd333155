/*
 * Two files at once: an object file, and whatever it asks for: its debug file, a .dwo or .dwp, what dwz
 * shared, objects that a Mach-O binary was linked from. The input is the size of the first (32 bits, little
 * endian), the first, and then the other.
 */
#include "convert/convert.h"
#include "convert/identity/identity.h"
#include "gsym/base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same file, whatever its name. */
static int open_other(void *user, const char *path, bool packed)
{
	int copy = fcntl(*(const int *)user, F_DUPFD_CLOEXEC, 0);
	(void)path, (void)packed;
	return copy < 0 ? -errno : copy;
}

static void convert(const uint8_t *data, size_t size, int *other)
{
	static const char *const dirs[] = {"/debug", NULL};
	const struct convert_opener opener = {.open = open_other, .user = other};
	const struct convert_options options = {
		.threads = 1,
		.version = 1,
		.callsites = true,
		.merged = true,
		.debug_dirs = dirs,
		.opener = &opener,
	};
	struct convert_summary summary;
	struct gsym_diag diag;
	void *gsym;
	size_t gsym_size;
	if (convert_memory(data, size, "/dir/program", &options, &gsym, &gsym_size, &summary, &diag))
		return;
	free(gsym);
	convert_summary_deinit(&summary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 4 || load32(data, false) > size - 4)
		return 0;
	size_t first = load32(data, false), rest = size - 4 - first;
	int other = memfd_create("other", MFD_CLOEXEC);
	if (other < 0)
		return 0;
	if (write(other, data + 4 + first, rest) == (ssize_t)rest)
		convert(data + 4, first, &other);
	close(other);
	return 0;
}
