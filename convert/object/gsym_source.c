/*
 * gsym_source.c - opening existing GSYM and copying its functions to a writer.
 */
#include "convert/object/gsym_source.h"

#include "convert/object/source_format.h"
#include "gsym/read/reader.h"
#include "gsym/write/copier.h"
#include "gsym/base/cursor.h"
#include "gsym/base/diag.h"
#include "gsym/codec/decoder.h"
#include "gsym/codec/header.h"

enum { PROGRESS_STEP = 4096 /* functions */ };

static bool gsym_probe(struct span file)
{
	return file.size >= MAGIC_SIZE && header_has_magic(file.data);
}

static int gsym_read(struct object_file *object, struct gsym_diag *diag)
{
	int err = gsym_reader_open_memory(object->map, object->map_size, &object->gsym, diag);
	if (err)
		return diag_prefix(diag, err == -ENOMEM ? err : -EBADMSG, "%s", object->path);
	const struct gsym_info *info = gsym_reader_info(object->gsym);
	if (!object_set_id(object, info->uuid, info->uuid_size))
		return diag_set(diag, -EBADMSG, "%s: UUID of %zu bytes: at most %d are supported",
				object->path, info->uuid_size, IMAGE_ID_MAX);
	object->big_endian = info->big_endian;
	object->has_base = true;
	object->base_address = info->base_address;
	return 0;
}

const struct source_format gsym_format = {
	.kind = IMAGE_GSYM_FILE,
	.functions = FUNCTIONS_GSYM,
	.probe = gsym_probe,
	.read = gsym_read,
};

/* ---- In a section ---- */

static bool is_ours(const struct object_file *object, const struct gsym_info *info)
{
	return !object->id_size || !info->uuid_size ||
	       (object->id_size == info->uuid_size && !memcmp(object->id, info->uuid, info->uuid_size));
}

/*
 * The string table of version 1 may lie outside of the section: its offset counts from the start of the
 * header, and linkers that share strings move it. It may then extend to the end of the file.
 */
static bool strings_elsewhere(struct span data)
{
	struct cursor c = cursor_new(data.data, data.size, data.size && data.data[0] == 'G');
	cursor_skip(&c, 4);
	uint16_t version = cursor_u16(&c);
	cursor_seek(&c, V1_UUID_OFF - 2 * sizeof(uint32_t));
	uint64_t off = cursor_u32(&c), size = cursor_u32(&c);
	cursor_seek(&c, V1_HEADER_SIZE);
	return cursor_ok(&c) && version == 1 && off + size > data.size;
}

static int open_section(const struct object_file *object, const struct object_section *s,
			struct gsym_reader **ret)
{
	int err = gsym_reader_open_memory(s->data.data, s->data.size, ret, NULL);
	if (err != -EBADMSG || s->owned || !strings_elsewhere(s->data))
		return err;
	return gsym_reader_open_memory(s->data.data, (size_t)(object->map + object->map_size - s->data.data),
				       ret, NULL);
}

int gsym_source_embedded(struct object_file *object, struct warnings *warnings)
{
	struct object_section *s = object_section(object, ".gsym");
	struct gsym_reader *reader = NULL;
	int err = s ? section_load(s) : 0;
	if (s && !err)
		err = open_section(object, s, &reader);
	if (err && err != -ENOMEM)
		warning_count(warnings, WARN_SECTION_DAMAGED, ".gsym", 0);
	if (!reader)
		return err == -ENOMEM ? err : 0;
	if (is_ours(object, gsym_reader_info(reader))) {
		object->gsym = reader;
		return 0;
	}
	warning_count(warnings, WARN_GSYM_UUID, ".gsym", 0);
	gsym_reader_close(reader);
	return 0;
}

/* ---- Copying ---- */

/*
 * Copies one function, without the parts of it that are damaged. A record whose name is, that passes the end
 * of the address space, or is rejected by the writer, is skipped. Both are counted.
 */
static int copy_one(struct gsym_copy_job *job, struct copier *copier, uint32_t index, struct gsym_diag *diag)
{
	struct gsym_func func = {0};
	uint64_t lost = copier->decoder->n_lost, deep = copier->decoder->n_deep;
	bool wraps = reader_func_size(job->from, index) > UINT64_MAX - gsym_reader_address(job->from, index);
	int err = wraps ? -EBADMSG : copy_function(copier, index, &func, diag);
	if (err == -EBADMSG || err == -EINVAL || err == -EDQUOT) {
		warning_count(job->warnings, WARN_GSYM_RECORD, NULL, gsym_reader_address(job->from, index));
		return 0;
	}
	for (; lost < copier->decoder->n_lost; lost++)
		warning_count(job->warnings, WARN_GSYM_PART, NULL, func.start);
	for (; deep < copier->decoder->n_deep; deep++)
		warning_count(job->warnings, WARN_INLINE_DEPTH, NULL, func.start);
	job->n_written += !err;
	return err;
}

static int copy_all(struct gsym_copy_job *job, struct copier *copier, struct gsym_diag *diag)
{
	uint32_t n = gsym_reader_info(job->from)->num_addresses;
	int err = copy_tables(copier, diag);
	if (err == -EBADMSG ||
	    err == -EDQUOT) /* functions that refer to what is missing are skipped and counted */
		err = 0;
	for (uint32_t i = 0; i < n && !err; i++) {
		err = copy_one(job, copier, i, diag);
		if (!err && i % PROGRESS_STEP == 0 && job->progress && job->progress(job->user, i, n))
			err = diag_set(diag, -ECANCELED, "conversion stopped");
	}
	if (!err && !job->n_written)
		err = diag_set(diag, -ENODATA, NO_FUNCTION_FOUND ": all records of the GSYM are damaged");
	return err;
}

int gsym_source_copy(struct gsym_copy_job *job, struct gsym_writer *writer, struct gsym_diag *diag)
{
	struct copier copier;
	int err = copier_init(&copier, job->from);
	if (!err) {
		copier.decoder->salvages = true;
		err = copier_begin(&copier, writer);
	}
	if (err)
		diag_set(diag, err, "out of memory");
	else
		err = copy_all(job, &copier, diag);
	copier_deinit(&copier);
	return err;
}
