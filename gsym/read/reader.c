/* Opening and closing, and what can be asked without an address. */
#include "gsym/read/reader.h"

#include "gsym/base/diag.h"
#include "gsym/base/vec.h"
#include "gsym/read/enclosing.h"
#include "gsym/read/name_index.h"

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
	enclosing_index_free(atomic_load(&reader->enclosing));
	name_table_free(atomic_load(&reader->names));
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
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return diag_set(diag, -EBADMSG, "header at offset 0: not a regular file");
	if ((uint64_t)st.st_size > SIZE_MAX / 2)
		return diag_set(diag, -EFBIG, "file of %jd bytes: more than can be mapped",
				(intmax_t)st.st_size);
	if (!st.st_size)
		return 0; /* nothing can be mapped; the header check says what is missing */
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return diag_set(diag, -errno, "mmap: %s", strerror(errno));
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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
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

const struct gsym_info *gsym_reader_info(const struct gsym_reader *reader)
{
	return &reader->info;
}

const char *gsym_reader_string(const struct gsym_reader *reader, uint64_t strp)
{
	return tables_have_string(&reader->tables, strp) ? reader->strings + strp : NULL;
}

int gsym_reader_file_strings(const struct gsym_reader *reader, uint32_t index, uint64_t *ret_dir,
			     uint64_t *ret_base)
{
	unsigned size = reader->info.strp_size;
	if (index >= reader->info.num_files)
		return -EBADMSG;
	struct cursor c =
		cursor_new(reader->files + (size_t)index * 2 * size, 2 * size, reader->info.big_endian);
	*ret_dir = cursor_uint(&c, size);
	*ret_base = cursor_uint(&c, size);
	return 0;
}

int gsym_reader_file(const struct gsym_reader *reader, uint32_t index, const char **ret_dir,
		     const char **ret_base)
{
	uint64_t dir_strp, base_strp;
	int err = gsym_reader_file_strings(reader, index, &dir_strp, &base_strp);
	if (err)
		return err;
	const char *dir = gsym_reader_string(reader, dir_strp), *base = gsym_reader_string(reader, base_strp);
	if (!dir || !base)
		return -EBADMSG;
	*ret_dir = dir;
	*ret_base = base;
	return 0;
}

uint64_t gsym_reader_address(const struct gsym_reader *reader, uint32_t index)
{
	return reader->info.base_address + reader_addr_off(reader, index);
}

int reader_parse_record(const struct gsym_reader *reader, uint32_t index, struct function_info *ret,
			struct gsym_diag *diag)
{
	struct cursor c = reader_record(reader, index);
	if (cursor_ok(&c))
		return record_parse(c, &reader->tables, ret, diag);
	size_t at = (size_t)(reader->info_offs - reader->bytes.data) +
		    index * (reader->info.version == 1 ? 4 : 8);
	return diag_set(diag, -EBADMSG,
			"function record: address info offset at offset 0x%zx points past the end of "
			"the records at 0x%" PRIx64,
			at, reader->records_end);
}

struct gsym_decoder *gsym_decoder_new(void)
{
	return calloc(1, sizeof(struct gsym_decoder));
}

void gsym_decoder_free(struct gsym_decoder *decoder)
{
	if (!decoder)
		return;
	vec_free(&decoder->rows);
	vec_free(&decoder->inlines);
	vec_free(&decoder->ranges);
	vec_free(&decoder->callsites);
	vec_free(&decoder->patterns);
	vec_free(&decoder->funcs);
	vec_free(&decoder->marks);
	free(decoder);
}

int gsym_reader_function(const struct gsym_reader *reader, uint32_t index, struct gsym_decoder *decoder,
			 struct gsym_func *ret, struct gsym_diag *diag)
{
	struct function_info r = {0};
	if (index >= reader->info.num_addresses)
		return diag_set(diag, -EINVAL, "%s: function %" PRIu32 " of %" PRIu32, reader->name, index,
				reader->info.num_addresses);
	int err = reader_parse_record(reader, index, &r, diag);
	decoder->bytes += r.end - r.off;
	if (!err)
		err = record_decode(&r, gsym_reader_address(reader, index), &reader->tables, decoder, diag);
	if (err)
		return diag_prefix(diag, err, "%s: function %" PRIu32, reader->name, index);
	*ret = decoder->funcs.v[0];
	return 0;
}
