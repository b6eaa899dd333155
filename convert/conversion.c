#include "convert/conversion.h"

#include "gsym/codec/format.h"

void conversion_report(struct conversion *c, const struct convert_progress *progress)
{
	const struct convert_options *o = c->options;
	if (o->progress && o->progress(o->progress_user, progress))
		atomic_store(&c->cancelled, true);
}

static uint64_t file_size(const struct object_file *object)
{
	return object ? object->map_size : 0;
}

static uint64_t listed_size(const struct callsites_file *file)
{
	uint64_t size = 0;
	for (size_t i = 0; file && i < file->functions.n; i++)
		size += file->functions.v[i].name.size;
	for (size_t i = 0; file && i < file->patterns.n; i++)
		size += file->patterns.v[i].size;
	return size;
}

uint64_t conversion_input(const struct conversion *c)
{
	uint64_t size = file_size(c->object), mini = size * BUDGET_NAMES;
	size += file_size(c->debug) + file_size(c->shared) + file_size(c->symtab);
	size += c->dwarf.bytes + c->alternate.bytes;
	size += file_size(c->mini) < mini ? file_size(c->mini) : mini;
	for (unsigned t = 0; t < c->n_builders; t++)
		size += builder_split_input(c->builders[t]);
	for (size_t i = 0; i < c->map.objects.n; i++)
		size += c->map.objects.v[i].input;
	return size + listed_size(c->listed);
}

/* The build id is longer than version 1 holds, or the GSYM that is copied is larger as a whole. */
static bool exceeds_v1(const struct conversion *c)
{
	const struct gsym_reader *from = c->debug && c->debug->gsym ? c->debug->gsym : c->object->gsym;
	return c->object->id_size > V1_UUID_MAX || (from && gsym_reader_info(from)->file_size > UINT32_MAX);
}

struct gsym_writer_options conversion_writer_options(const struct conversion *c)
{
	return (struct gsym_writer_options){
		.struct_size = sizeof(struct gsym_writer_options),
		.version = c->options->version ? c->options->version
			   : exceeds_v1(c)     ? 2
					       : 1,
		.big_endian = c->object->big_endian,
		.has_base_address = c->object->has_base,
		.base_address = c->object->base_address,
		.uuid = c->object->id,
		.uuid_size = c->object->id_size,
	};
}
