/* Mapping a file, and releasing a reader with the indexes that lookups have built for it. */
#include "gsym/read/reader.h"

#include "gsym/base/file_io.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"
#include "gsym/read/built_index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void gsym_reader_close(struct gsym_reader *reader)
{
	if (!reader)
		return;
	if (reader->mapped)
		munmap((void *)reader->bytes.data, reader->bytes.size);
	built_index_free(&reader->enclosing);
	built_index_free(&reader->names);
	free(reader->name);
	free(reader);
}

static void closep(struct gsym_reader **reader)
{
	gsym_reader_close(*reader);
}

static struct gsym_reader *reader_new(const char *name)
{
	struct gsym_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return NULL;
	reader->bytes.data = (const uint8_t *)""; /* an empty file still has an address */
	reader->name = strdup(name);
	if (reader->name)
		return reader;
	gsym_reader_close(reader);
	return NULL;
}

static int map_fd(struct gsym_reader *reader, int fd, struct gsym_diag *diag)
{
	struct stat st;
	if (file_stat(fd, &st))
		return diag_set(diag, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return diag_set(diag, -EBADMSG, "not a regular file");
	if (!st.st_size)
		return 0; /* nothing can be mapped; the header check says what is missing */
	void *map = file_map(fd, (uint64_t)st.st_size, MAP_PRIVATE);
	if (map == MAP_FAILED)
		return diag_set(diag, -errno, "cannot map %jd bytes: %s", (intmax_t)st.st_size,
				strerror(errno));
	reader->bytes = (struct span){map, (size_t)st.st_size};
	reader->mapped = true;
	return 0;
}

int gsym_reader_open_fd(int fd, const char *name, struct gsym_reader **ret, struct gsym_diag *diag)
{
	CLEANUP(closep) struct gsym_reader *reader = reader_new(name);
	if (!reader)
		return diag_set(diag, -ENOMEM, "%s: no memory", name);
	int err = map_fd(reader, fd, diag);
	if (!err)
		err = reader_parse(reader, diag);
	if (err)
		return diag_prefix(diag, err, "%s", name);
	*ret = TAKE(reader);
	return 0;
}

int gsym_reader_open(const char *path, struct gsym_reader **ret, struct gsym_diag *diag)
{
	int fd = open(path,
		      O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a FIFO is refused, not waited for */
	if (fd < 0)
		return diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	int err = gsym_reader_open_fd(fd, path, ret, diag);
	close(fd);
	return err;
}

int gsym_reader_open_memory(const void *data, size_t size, struct gsym_reader **ret, struct gsym_diag *diag)
{
	CLEANUP(closep) struct gsym_reader *reader = reader_new("GSYM in memory");
	if (!reader)
		return diag_set(diag, -ENOMEM, "GSYM in memory: no memory");
	if (size)
		reader->bytes = (struct span){data, size};
	int err = reader_parse(reader, diag);
	if (err)
		return diag_prefix(diag, err, "%s", reader->name);
	*ret = TAKE(reader);
	return 0;
}
