/*
 * convert.c - the conversion as a whole: open, symbols, units in parallel, merge in unit order, finalize,
 * write. A direct source (Breakpad's text symbols, GSYM) is opened and written only.
 */
#include "convert/convert.h"

#include "convert/breakpad/breakpad.h"
#include "convert/conversion.h"
#include "convert/finish/finalize.h"
#include "convert/golang/golang.h"
#include "convert/object/gsym_source.h"
#include "convert/object/object_open.h"
#include "convert/object/object_file.h"
#include "convert/object/source_format.h"
#include "gsym/base/parallel.h"
#include "convert/record/budget.h"
#include "gsym/base/diag.h"
#include "gsym/write/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* The destination: a descriptor, or memory. */
struct output {
	int fd; /* -1: memory */
	void *data;
	size_t size;
};

/* ---- Writing ---- */

static void report_writing(struct conversion *c, uint64_t done, uint64_t total)
{
	conversion_report(c, &(struct convert_progress){CONVERT_WRITING, .done = done, .total = total});
}

/* Adds functions to @writer, and counts them in the summary. */
typedef int fill_fn(struct conversion *c, struct gsym_writer *writer, struct convert_summary *summary,
		    struct gsym_diag *diag);

static int finish_writer(struct gsym_writer *writer, struct output *out, struct gsym_diag *diag)
{
	if (out->fd < 0)
		return gsym_writer_finish_memory(writer, &out->data, &out->size, diag);
	int err = gsym_writer_finish(writer, out->fd, diag);
	off_t size = err ? 0 : lseek(out->fd, 0, SEEK_END);
	if (size < 0 && errno != ESPIPE)
		err = diag_set(diag, -errno, "cannot seek in the output: %s", strerror(errno));
	out->size = size > 0 ? (size_t)size : 0;
	return err;
}

/* Writes the functions that @fill adds to @out. */
static int write_gsym(struct conversion *c, const struct gsym_writer_options *options, fill_fn *fill,
		      struct output *out, struct convert_summary *summary, struct gsym_diag *diag)
{
	struct gsym_writer *writer;
	int err = gsym_writer_new(options, &writer, diag);
	if (err)
		return err;
	writer_limit(writer, (conversion_input(c) + BUDGET_ALWAYS) * BUDGET_OUTPUT);
	if (writer_save_space(writer))
		err = diag_set(diag, -ENOMEM, "out of memory");
	if (!err)
		err = fill(c, writer, summary, diag);
	if (!err)
		err = finish_writer(writer, out, diag);
	summary->widened = !c->options->version && writer->version == 2;
	gsym_writer_free(writer);
	report_writing(c, summary->functions, summary->functions);
	summary->output_size = out->size;
	return err;
}

static int fill_records(struct conversion *c, struct gsym_writer *writer, struct convert_summary *summary,
			struct gsym_diag *diag)
{
	summary->functions = c->records.n;
	report_writing(c, 0, c->records.n);
	if (!c->options->version && writer->version == 1)
		writer_choose_version(writer, UINT32_MAX);
	omit_records(&c->records, c->options);
	return emit_records(&c->records, &c->pool, c->threads, writer, &c->warnings, diag);
}

static int write_records(struct conversion *c, struct output *out, struct convert_summary *summary,
			 struct gsym_diag *diag)
{
	struct gsym_writer_options options = conversion_writer_options(c);
	options.has_base_address &= c->records.v[0].start >= options.base_address;
	return write_gsym(c, &options, fill_records, out, summary, diag);
}

static int check_object(const struct conversion *c, struct gsym_diag *diag)
{
	const struct object_file *object = c->object;
	if (c->options->arch && strcmp(c->options->arch, object->arch))
		return diag_set(diag, -ENOEXEC, "%s: its architecture is %s, not %s", object->path,
				object->arch, c->options->arch);
	if (c->options->version == 1 && object->id_size > V1_UUID_MAX)
		return diag_set(diag, -EOVERFLOW,
				"%s: a build id of %zu bytes does not fit GSYM version 1: use version 2",
				object->path, object->id_size);
	return 0;
}

/* ---- Direct sources ---- */

/*
 * A source that brings its own functions: they are copied as they are, and neither DWARF nor
 * symbol tables are read.
 */
struct direct_source {
	const char *name; /* for messages */
	enum function_source functions;

	/* The object file to copy from: that of debug data, or the one to convert. NULL: neither. */
	const struct object_file *(*find)(const struct conversion *c);

	/* Changes the options of conversion_writer_options(). May be NULL. */
	void (*adjust)(const struct object_file *from, struct gsym_writer_options *options);

	fill_fn *fill;
};

static bool has_functions(const struct object_file *object, enum function_source functions)
{
	return object && object->format->functions == functions;
}

static int report_reading(void *user, uint64_t done, uint64_t total)
{
	struct conversion *c = user;
	conversion_report(c, &(struct convert_progress){CONVERT_READING, .done = done, .total = total});
	return atomic_load(&c->cancelled);
}

static const struct object_file *find_breakpad(const struct conversion *c)
{
	if (has_functions(c->debug, FUNCTIONS_TEXT))
		return c->debug;
	return has_functions(c->object, FUNCTIONS_TEXT) ? c->object : NULL;
}

static int fill_breakpad(struct conversion *c, struct gsym_writer *writer, struct convert_summary *summary,
			 struct gsym_diag *diag)
{
	struct breakpad_job job = {
		.object = find_breakpad(c),
		.base = c->object->base_address,
		.threads = c->threads,
		.warnings = &c->warnings,
		.progress = report_reading,
		.user = c,
	};
	int err = breakpad_write(&job, writer, diag);
	summary->functions = job.n_written;
	summary->functions_text = job.n_functions;
	summary->functions_symbols = job.n_public;
	return err ? diag_prefix(diag, err, "%s", job.object->path) : 0;
}

/* A GSYM file, or an object file with a section of it. */
static const struct object_file *find_gsym(const struct conversion *c)
{
	if (has_functions(c->debug, FUNCTIONS_GSYM))
		return c->debug;
	return c->object->gsym ? c->object : NULL;
}

static int fill_gsym(struct conversion *c, struct gsym_writer *writer, struct convert_summary *summary,
		     struct gsym_diag *diag)
{
	const struct object_file *object = find_gsym(c);
	struct gsym_copy_job job = {
		.from = object->gsym, .warnings = &c->warnings, .progress = report_reading, .user = c};
	int err = gsym_source_copy(&job, writer, diag);
	summary->functions = summary->functions_gsym = job.n_written;
	return err ? diag_prefix(diag, err, "%s", object->path) : 0;
}

static void adjust_to_gsym(const struct object_file *from, struct gsym_writer_options *options)
{
	const struct gsym_info *info = gsym_reader_info(from->gsym);
	options->has_base_address = true;
	options->base_address = info->base_address;
	options->big_endian = info->big_endian;
	if (!options->uuid_size) {
		options->uuid = info->uuid;
		options->uuid_size = info->uuid_size;
	}
}

static const struct direct_source direct_sources[] = {
	{"text symbols", FUNCTIONS_TEXT, find_breakpad, NULL, fill_breakpad},
	{"GSYM", FUNCTIONS_GSYM, find_gsym, adjust_to_gsym, fill_gsym},
};

static const struct direct_source *find_direct_source(const struct conversion *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(direct_sources); i++)
		if (direct_sources[i].find(c))
			return &direct_sources[i];
	return NULL;
}

static int copy_direct_source(struct conversion *c, const struct direct_source *source, struct output *out,
			      struct convert_summary *summary, struct gsym_diag *diag)
{
	struct gsym_writer_options options = conversion_writer_options(c);
	if ((has_functions(c->object, source->functions) && c->debug) || c->symtab || c->listed)
		return diag_set(diag, -EINVAL,
				"%s: %s cannot be combined with other files: leave out those for debug "
				"data, symbols and call sites",
				c->object->path, source->name);
	if (source->adjust)
		source->adjust(source->find(c), &options);
	return write_gsym(c, &options, source->fill, out, summary, diag);
}

/* ---- The stages ---- */

static void say_why_no_function(const struct conversion *c, struct gsym_diag *diag)
{
	const char *trouble = c->debug_trouble.text;
	char name[256];
	if (!c->debug && *trouble)
		diag_set(diag, -ENODATA, "symbols name no code, and the debug file is not used: %s", trouble);
	else if (conversion_lacks_debug_file(c, name, sizeof(name)))
		diag_set(diag, -ENODATA, "symbols name no code, and its debug file %s was not found", name);
	else
		diag_set(diag, -ENODATA, "neither DWARF nor symbols name any code");
}

/* Appends the warnings to the reason: a refusal has no summary, and damage may be the cause. */
static int no_function(const struct conversion *c, struct gsym_diag *diag)
{
	struct convert_summary summary = {0};
	struct gsym_diag why = {""};
	say_why_no_function(c, &why);
	int err = warnings_report(&c->warnings, &summary);
	for (size_t i = 0; i < summary.n_warnings; i++) {
		struct gsym_diag before = why;
		diag_set(&why, -ENODATA, "%s; %s (%s)", before.text, summary.warnings[i].kind,
			 summary.warnings[i].first);
	}
	convert_summary_deinit(&summary);
	if (err)
		return diag_set(diag, err, "%s: out of memory", c->object->path);
	return diag_set(diag, -ENODATA, NO_FUNCTION_FOUND ": %s", why.text);
}

/* From all records to the final ones. */
static int finalize(struct conversion *c, struct gsym_diag *diag)
{
	const struct convert_options *o = c->options;
	CLEANUP(freep) struct listed_place *places = NULL;
	int err = c->listed ? callsites_locate(c->listed, &c->records, &c->pool, &places) : 0;
	if (!err)
		err = finalize_records(&c->records, &c->pool, o, &c->arena, &c->warnings);
	if (!err && !c->records.n && c->object->lost.what) {
		lost_bytes_tell(&c->object->lost, c->object->map_size, 0, diag);
		return diag_prefix(diag, -ENODATA, NO_FUNCTION_FOUND);
	}
	if (!err && !c->records.n)
		return no_function(c, diag);
	if (err)
		return diag_set(diag, err, "%s", strerror(-err));
	if (o->match_llvm) {
		/* The only size that llvm-gsymutil infers: the last function extends to its section's end. */
		struct func_record *last = &c->records.v[c->records.n - 1];
		const struct range *around =
			last->end == last->start ? ranges_find(&c->object->text, last->start) : NULL;
		if (around && around->hi - last->start <= UINT32_MAX)
			last->end = around->hi;
	}
	return c->listed ? callsites_apply(c->listed, places, &c->records, &c->pool, o->match_llvm, &c->arena,
					   diag)
			 : 0;
}

static bool serves_fragments(const struct convert_options *options)
{
	return options->asked && options->asked->next;
}

static int add_go_functions(struct conversion *c, struct convert_summary *summary)
{
	struct golang_job job = {
		.object = c->object, .pool = &c->pool, .arena = &c->arena, .warnings = &c->warnings};
	int err = golang_add_records(&job, &c->records);
	summary->functions_go = job.added;
	summary->work += job.work;
	return err;
}

/* Adds what @results of a PDB file describe, in the order of its modules. */
static int merge_modules(struct conversion *c, struct convert_summary *summary)
{
	struct convert_summary counted = {0};
	size_t n, first = c->records.n;
	const struct unit_result *results = codeview_results(c->codeview, &n);
	int err = conversion_merge_results(c, results, n, &counted);
	if (!err)
		err = codeview_settle(c->codeview, &c->pool, &c->records, first);
	warnings_merge(&c->warnings, codeview_warnings(c->codeview));
	summary->modules = counted.units;
	for (size_t i = first; i < c->records.n; i++)
		summary->functions_pdb += c->records.v[i].kind == RECORD_DWARF;
	summary->work += codeview_work(c->codeview);
	return err;
}

static int add_pdb_functions(struct conversion *c, struct convert_summary *summary)
{
	const struct object_file *pdb = has_functions(c->debug, FUNCTIONS_CODEVIEW)    ? c->debug
					: has_functions(c->object, FUNCTIONS_CODEVIEW) ? c->object
										       : NULL;
	struct codeview_job job = {
		.pdb = pdb,
		.base = c->object->base_address,
		.text = &c->object->text,
		.known = &c->records,
		.symbols = &c->symbols,
		.threads = c->threads,
		.progress = report_reading,
		.user = c,
	};
	int err = pdb ? codeview_read(&job, &c->codeview) : 0;
	return err || !pdb ? err : merge_modules(c, summary);
}

static int convert(struct conversion *c, struct output *out, struct convert_summary *summary,
		   struct gsym_diag *diag)
{
	const struct convert_options *o = c->options;
	bool answered = false;
	c->threads = o->threads ? o->threads : parallel_cpus();
	int err = o->callsites_file ? callsites_file_read(o->callsites_file, &c->listed, diag) : 0;
	if (!err)
		err = conversion_open_files(c, diag);
	if (err)
		return err;
	const struct direct_source *direct = find_direct_source(c);
	if (direct && (serves_fragments(o) || o->details))
		return diag_set(diag, -ENODATA, "%s: %s is copied whole", c->object->path, direct->name);
	if (direct)
		return copy_direct_source(c, direct, out, summary, diag);
	if (o->details)
		return details_serve(c);
	err = o->no_dwarf ? 0 : conversion_load_dwarf(c);
	if (!err && serves_fragments(o))
		err = fragment_serve(c);
	if (!err)
		err = fragment_make_early(c, &answered);
	if (!err)
		err = conversion_prepare(c);
	if (!err && !o->no_dwarf)
		err = conversion_open_dwarf(c);
	c->context = (struct build_context){
		.dwarf = &c->dwarf,
		.split = c->split,
		.text = &c->object->text,
		.symbols = &c->symbols,
		.match_llvm = o->match_llvm,
		.callsites = o->callsites,
		.merged = o->merged,
	};
	if (!err && !answered && !c->dwarf.stream)
		err = fragment_make(c, &answered);
	if (!err && !answered)
		err = fragment_report_none(c);
	if (!err)
		err = conversion_read_units(c);
	if (!err)
		err = conversion_merge_units(c, summary);
	if (!err && !o->match_llvm && !o->no_dwarf)
		err = add_pdb_functions(c, summary);
	if (!err && !o->match_llvm)
		err = add_go_functions(c, summary);
	if (!err)
		err = symtab_add_records(&c->symbols, &c->pool, &c->records);
	summary->functions_symbols = c->symbols.n;
	summary->bounded_by = c->object->bounded_by;
	summary->work +=
		c->symbols.n + c->object->name_bytes / NAME_STEP + c->dwarf.scanned + c->alternate.scanned;
	if (c->pool.exceeded)
		warning_count(&c->warnings, WARN_NAMES, ".debug_str", 0);
	if (err)
		return diag_set(diag, err, "%s: %s", c->object->path,
				err == -ECANCELED ? "conversion stopped" : strerror(-err));
	err = finalize(c, diag);
	if (!err)
		err = write_records(c, out, summary, diag);
	return err ? diag_prefix(diag, err, "%s", c->object->path) : 0;
}

/*
 * Without what could not be looked at, the result @err is that of another input, also if it is an error: that
 * the file has no functions, for instance, may only seem so.
 */
static int check_fault(struct conversion *c, int err, struct gsym_diag *diag)
{
	int fault = atomic_load(&c->fault.err);
	if (!fault || err == -ECANCELED || err == -ENOMEM)
		return err;
	return diag_set(diag, fault, "%s: cannot read a part of it, or a file that it refers to: %s",
			c->object->path, strerror(-fault));
}

static void init_opener(struct conversion *c)
{
	if (c->options->opener)
		c->opener = *c->options->opener;
	c->opener.fault = &c->fault;
}

static void conversion_deinit(struct conversion *c)
{
	conversion_close_units(c);
	codeview_free(c->codeview);
	vec_free(&c->records);
	vec_free(&c->symbols);
	pool_deinit(&c->pool);
	arena_free(&c->arena);
	callsites_file_free(c->listed);
	conversion_close_files(c);
}

/* Converts the object file of @c, which is closed in any case. */
static int convert_object(struct conversion *c, struct output *out, struct convert_summary *ret,
			  struct gsym_diag *diag)
{
	struct convert_summary summary = {0};
	int err = check_object(c, diag);
	if (!err && pool_init(&c->pool))
		err = diag_set(diag, -ENOMEM, "%s: out of memory", c->object->path);
	memcpy(summary.arch, c->object->arch, sizeof(summary.arch));
	if (!err)
		err = convert(c, out, &summary, diag);
	err = check_fault(c, err, diag);
	if (!err)
		err = warnings_report(&c->warnings, &summary);
	if (!err)
		err = conversion_list_missing(c, &summary);
	if (!err)
		err = layout_report(c->object, &summary);
	if (!err)
		err = segments_report(c->object, &summary);
	conversion_deinit(c);
	if (err)
		convert_summary_deinit(&summary);
	else
		*ret = summary;
	return err;
}

int convert_file(const char *path, const struct convert_options *options, int out_fd,
		 struct convert_summary *ret, struct gsym_diag *diag)
{
	struct conversion c = {.options = options};
	const struct object_pick pick = {
		.arch = options->arch, .id = options->id, .id_size = options->id_size};
	init_opener(&c);
	int err = object_open_slice(path, &c.opener, &pick, &c.object, diag);
	return err ? err : convert_object(&c, &(struct output){.fd = out_fd}, ret, diag);
}

int convert_memory(const void *data, size_t size, const char *name, const struct convert_options *options,
		   void **ret_gsym, size_t *ret_size, struct convert_summary *ret, struct gsym_diag *diag)
{
	struct conversion c = {.options = options};
	struct output out = {.fd = -1};
	init_opener(&c);
	int err = object_open_memory(data, size, name, &c.object, diag);
	if (!err) {
		c.object->opener = &c.opener;
		err = convert_object(&c, &out, ret, diag);
	}
	if (err) {
		free(out.data);
		return err;
	}
	*ret_gsym = out.data;
	*ret_size = out.size;
	return 0;
}
