#include "store/transfer/received_object.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "gsym/check/check.h"
#include "store/client/store_object.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"

/* The first @size bytes are GSYM, and after that what readers of GSYM ignore (handle.h). */
static int check_conversion(int fd, uint64_t size, const atomic_bool *canceled, struct gsym_diag *diag)
{
	struct gsym_reader *reader;
	void *at = size ? file_map(fd, size, MAP_SHARED) : MAP_FAILED;
	if (!size || at == MAP_FAILED)
		return diag_set(diag, size ? -errno : -EBADMSG, "the conversion is %s",
				size ? strerror(errno) : "empty");
	int err = gsym_reader_open_memory(at, (size_t)size, &reader, diag);
	if (!err) {
		err = check_gsym_first(reader, canceled, diag);
		gsym_reader_close(reader);
	}
	munmap(at, (size_t)size);
	return err;
}

/* Of another revision it cannot be under this name, which the revision is a part of. */
static int read_trailer(int fd, uint64_t size, struct object_trailer *ret, struct gsym_diag *diag)
{
	int err = object_read_trailer(fd, size, ret, diag);
	return err == -EPROTO ? -EBADMSG : err;
}

static int inflate(int fd, uint64_t size, uint64_t most, struct object_trailer *trailer,
		   struct gsym_diag *diag)
{
	struct stat st;
	int err = object_inflate(fd, size, most - OBJECT_TRAILER, diag);
	if (!err && file_stat(fd, &st))
		err = diag_set(diag, -errno, "cannot stat: %s", strerror(errno));
	return err ? err : read_trailer(fd, (uint64_t)st.st_size, trailer, diag);
}

int received_object_check(int fd, uint64_t size, uint64_t most, const atomic_bool *canceled,
			  uint64_t *ret_size, struct gsym_diag *diag)
{
	struct object_trailer trailer;
	int err = read_trailer(fd, size, &trailer, diag);
	if (!err && trailer.flags & OBJECT_ZSTD)
		err = inflate(fd, size, most, &trailer, diag);
	if (!err && trailer.kind == OBJECT_CONVERSION)
		err = check_conversion(fd, trailer.size, canceled, diag);
	if (!err)
		*ret_size = trailer.size + OBJECT_TRAILER;
	return err;
}
