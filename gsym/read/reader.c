/* Accessors of an open file: strings, files, addresses and records by number. */
#include "gsym/read/reader.h"

#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

#include <inttypes.h>

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
	if (err == -EBADMSG && decoder->salvages && r.name) { /* its blocks end before they should */
		decoder->n_lost++;
		err = 0;
	}
	if (!err)
		err = record_decode(&r, gsym_reader_address(reader, index), &reader->tables, decoder, diag);
	if (err)
		return diag_prefix(diag, err, "%s: function %" PRIu32, reader->name, index);
	*ret = decoder->funcs.v[0];
	return 0;
}
