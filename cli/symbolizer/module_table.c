#include "cli/symbolizer/module_table.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/symbolizer/debug_file.h"
#include "work/cache/image_id.h"
#include "cli/lookup/image_mount.h"
#include "cli/command/message.h"
#include "convert/companion/debug_files.h"
#include "convert/object/object_open.h"
#include "gsym/base/diag.h"

enum { MODULES_MAX = 64 };

static void module_free(struct symbol_module *module)
{
	lookup_image_close(&module->image);
	demangle_cache_free(module->names);
	symbol_table_deinit(&module->symbols);
	object_close(module->object);
	free(module->name);
	free(module->path);
	free(module);
}

void module_table_deinit(struct module_table *table)
{
	for (size_t i = 0; i < table->list.n; i++)
		module_free(table->list.v[i]);
	vec_free(&table->list);
}

/* ---- Opening ---- */

static int open_gsym(struct symbol_module *module, const char *path)
{
	int err = gsym_reader_open(path, &module->image.opened, &module->diag);
	if (err == -EBADMSG)
		return err;
	if (err)
		return diag_set(&module->diag, err, "%s", strerror(-err)); /* without the file's name */
	module->image.reader = module->image.opened;
	module->image.demangle = DEMANGLE_AUTO;
	module->image.base = gsym_reader_info(module->image.reader)->base_address;
	return 0;
}

/* PATH.gsym, or NAME.gsym in the directory that the options name, as LLVM's programs take it. */
static int open_gsym_of(const struct symbolizer_options *options, struct symbol_module *module,
			const char *path)
{
	char file[PATH_MAX];
	const char *slash = strrchr(path, '/');
	if (options->no_gsym_file || options->dialect == DIALECT_BINUTILS)
		return -ENOENT;
	if (snprintf(file, sizeof(file), "%s.gsym", path) < (int)sizeof(file) && open_gsym(module, file) == 0)
		return 0;
	if (!options->gsym_dir || snprintf(file, sizeof(file), "%s/%s.gsym", options->gsym_dir,
					   slash ? slash + 1 : path) >= (int)sizeof(file))
		return -ENOENT;
	return open_gsym(module, file);
}

/* A module on its way. */
struct opening {
	const struct module_table *table;
	struct symbol_module *module;
	struct convert_address asked[WORKER_ASKED_MAX];
	size_t n_asked;
};

static bool pass_early(void *user, const struct lookup_image *image)
{
	const struct opening *opening = user;
	struct symbol_module early = *opening->module;
	early.image = *image;
	early.names = NULL; /* its strings go with the call */
	bool is_all = opening->table->early(opening->table->user, &early);
	symbol_table_deinit(&early.symbols);
	object_close(early.object);
	return is_all;
}

/* Whether it is ELF of the smaller class. */
static bool is_32_bit(const char *path)
{
	uint8_t ident[EI_CLASS + 1];
	int fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	bool has_all = fd >= 0 && pread(fd, ident, sizeof(ident), 0) == sizeof(ident);
	if (fd >= 0)
		close(fd);
	return has_all && memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

/* Why @path is no object file. */
static int kind_of(const char *path)
{
	struct stat st;
	if (stat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) ? -EISDIR : S_ISREG(st.st_mode) ? -ENOEXEC : -EMEDIUMTYPE;
}

/* Functions are not all that a file is asked for; that there are none is told where someone reads it. */
static int open_without_functions(struct symbol_module *module)
{
	struct object_file *object = NULL;
	int err = module_object(module, &object);
	module->image.base = object ? object->base_address : 0;
	if (!err && isatty(STDERR_FILENO))
		say(stderr, "warning: %s: %s", module->path, module->diag.text);
	return err;
}

/* Returns whether LLVM's triples have an architecture of that name. */
static bool is_arch(const char *name)
{
	static const char *const families[] = {
		"aarch64", "amd64",  "amdgcn", "arc",     "arm",  "avr",   "bpf",   "csky",
		"hexagon", "i386",   "i486",   "i586",    "i686", "lanai", "loong", "m68k",
		"mips",    "msp430", "nvptx",  "powerpc", "ppc",  "riscv", "s390x", "sparc",
		"systemz", "thumb",  "ve",     "wasm",    "x86",  "xcore", "xscale"};
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (strncmp(name, families[i], strlen(families[i])) == 0)
			return true;
	return false;
}

/* LLVM's message, and what there is. */
static int refuse_arch(struct symbol_module *module, const char *arch, const struct object_arches *held)
{
	char list[OBJECT_ARCHES_MAX * (sizeof(held->name[0]) + 2)] = "";
	for (size_t i = 0, n = 0; i < held->n; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", held->name[i]);
	return diag_set(&module->diag, -EINVAL, "%s%s; it holds %s",
			is_arch(arch) ? "fat file does not contain " : "Unknown architecture named: ", arch,
			list);
}

static bool find_elsewhere(const struct symbolizer_options *options, struct symbol_module *module,
			   const char *path, char ret[PATH_MAX])
{
	struct object_file *object = NULL;
	return debug_file_may_be_elsewhere(options, path) && !module_object(module, &object) && object &&
	       debug_file_find(options, object, path, ret);
}

/* Refuses a program for Windows that names a PDB file which is not found, and has no DWARF, as LLVM does. */
static int check_pdb(const struct symbolizer_options *options, struct symbol_module *module)
{
	struct object_file *object = NULL;
	struct gsym_diag diag = {""};
	int err = options->dialect == DIALECT_BINUTILS ? 0 : module_object(module, &object);
	const char *name = object && !object_section(object, ".debug_info") ? pdb_path(object) : NULL;
	struct object_file *pdb = name ? pdb_find(object, options->debug_dirs, &diag) : NULL;
	if (name && !pdb)
		err = diag_set(&module->diag, -EINVAL, "'%s': %s", name,
			       *diag.text ? diag.text : strerror(ENOENT));
	object_close(pdb);
	return err;
}

/* Opens the GSYM or object file @path; @arch may be NULL. */
static int open_path(struct opening *opening, const char *path, const char *arch)
{
	const struct symbolizer_options *options = opening->table->options;
	struct symbol_module *module = opening->module;
	struct object_arches held = {.n = 0};
	char other[PATH_MAX];
	const struct object_options how = {
		.arch = arch,
		.any_alone = true,
		.choices = &held,
		.cache = options->cache,
		.debug_dirs = options->debug_dirs,
		.package = options->package[0] ? options->package : NULL,
		.asked = opening->asked,
		.n_asked = opening->n_asked,
		.early = pass_early,
		.user = opening,
		.has_details = options->style != ANSWER_BINUTILS,
	};
	module->is_32_bit = is_32_bit(path);
	if (access(path, F_OK) == 0 && open_gsym_of(options, module, path) == 0)
		return 0;
	int err = open_gsym(module, path);
	bool has_other = err == -EBADMSG && find_elsewhere(options, module, path, other);
	if (err == -EBADMSG)
		err = object_lookup_open(has_other ? other : path, &how, &module->image, &module->diag);
	int pdb_err = !err || err == -ENODATA ? check_pdb(options, module) : 0;
	if (pdb_err)
		return pdb_err;
	if (err == -ENODATA)
		return open_without_functions(module);
	if (held.n)
		return refuse_arch(module, arch ? arch : "", &held);
	if (err == -ENOEXEC)
		return diag_set(&module->diag, kind_of(path), "not an object file");
	if (err && !module->diag.text[0])
		return diag_set(&module->diag, err, "%s", strerror(-err));
	return err;
}

/* Opens @name, which may be "FILE:ARCH". */
static int open_named(struct opening *opening)
{
	struct symbol_module *module = opening->module;
	const char *colon = strrchr(module->name, ':');
	module->path = strdup(module->name);
	if (!module->path)
		return -ENOMEM;
	int err = open_path(opening, module->name, opening->table->options->arch);
	if (err != -ENOENT || !colon || !is_arch(colon + 1))
		return err;
	module->path[colon - module->name] = 0;
	return open_path(opening, module->path, colon + 1);
}

/* Opens the debug file of a build ID below one of the directories. */
static int open_debug_file(struct opening *opening, const char *id)
{
	const struct symbolizer_options *options = opening->table->options;
	struct symbol_module *module = opening->module;
	char path[PATH_MAX];
	for (size_t i = 0; strlen(id) > 2 && options->debug_dirs[i]; i++) {
		if (snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", options->debug_dirs[i], id,
			     id + 2) >= (int)sizeof(path) ||
		    access(path, F_OK))
			continue;
		module->path = strdup(path);
		return module->path ? open_path(opening, path, options->arch) : -ENOMEM;
	}
	if (options->debuginfod != DEBUGINFOD_NO && debug_file_fetched(id, path)) {
		module->path = strdup(path);
		return module->path ? open_path(opening, path, options->arch) : -ENOMEM;
	}
	return diag_set(&module->diag, -ENOENT, "could not find build ID");
}

static int open_id(struct opening *opening)
{
	struct symbol_module *module = opening->module;
	char id[ID_TEXT_SIZE];
	size_t size = strlen(module->name);
	if (size >= sizeof(id) || size != strspn(module->name, "0123456789abcdefABCDEF"))
		return diag_set(&module->diag, -EINVAL, "wrong format of build-id");
	for (size_t i = 0; i <= size; i++)
		id[i] = module->name[i] >= 'A' && module->name[i] <= 'F' ? (char)(module->name[i] | 0x20)
									 : module->name[i];
	int mount_err = image_mount_open(NULL, id, &module->image.opened, &module->image.base);
	if (!mount_err) {
		module->image.reader = module->image.opened;
		module->image.demangle = DEMANGLE_AUTO;
		return 0;
	}
	int err = open_debug_file(opening, id);
	if (err == -ENOENT && mount_err != -ENOENT)
		return diag_set(&module->diag, mount_err, "cannot read the mounted image: %s",
				strerror(-mount_err));
	return err;
}

/* ---- The table ---- */

static bool is_module(const struct symbol_module *module, const struct symbol_query *query)
{
	return module->by_id == query->by_id &&
	       strncmp(module->name, query->module.text, query->module.size) == 0 &&
	       !module->name[query->module.size];
}

static void move_to_front(struct module_table *table, size_t i)
{
	struct symbol_module *module = table->list.v[i];
	memmove(table->list.v + 1, table->list.v, i * sizeof(struct symbol_module *));
	table->list.v[0] = module;
}

static uint64_t bytes_of(const struct symbol_module *module)
{
	return module->image.reader ? gsym_reader_info(module->image.reader)->file_size : 0;
}

/* Closes what is beyond the limits; the most recently used stays. */
static void shrink(struct module_table *table)
{
	uint64_t limit = table->options->cache_size, bytes = 0;
	size_t kept = 0;
	for (; kept < table->list.n && kept < MODULES_MAX; kept++) {
		bytes += bytes_of(table->list.v[kept]);
		if (kept && limit && bytes > limit)
			break;
	}
	while (table->list.n > kept)
		module_free(table->list.v[--table->list.n]);
}

static struct symbol_module *module_new(const struct symbol_query *query)
{
	struct symbol_module *module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->by_id = query->by_id;
	module->name = strndup(query->module.text, query->module.size);
	module->names = demangle_cache_new();
	if (module->name)
		return module;
	module_free(module);
	return NULL;
}

static int module_open(const struct module_table *table, const struct symbol_query *query,
		       struct symbol_module *module)
{
	struct opening opening = {.table = table, .module = module};
	opening.n_asked = table->asked(table->user, query, opening.asked);
	return module->by_id ? open_id(&opening) : open_named(&opening);
}

int module_find(struct module_table *table, const struct symbol_query *query, struct symbol_module **ret)
{
	for (size_t i = 0; i < table->list.n; i++) {
		if (is_module(table->list.v[i], query)) {
			move_to_front(table, i);
			*ret = table->list.v[0];
			return (*ret)->err;
		}
	}
	struct symbol_module *module = vec_reserve(&table->list, 1) ? NULL : module_new(query);
	if (!module)
		return -ENOMEM;
	table->list.v[table->list.n++] = module;
	module->err = module_open(table, query, module);
	move_to_front(table, table->list.n - 1);
	shrink(table);
	*ret = module;
	return module->err;
}

int module_object(struct symbol_module *module, struct object_file **ret)
{
	int err = !module->has_tried && module->path ? object_open(module->path, NULL, &module->object, NULL)
						     : 0;
	if (err == -ENOMEM)
		return err;
	module->has_tried = true;
	*ret = module->object;
	return 0;
}

int module_symbols(struct symbol_module *module, const struct symbolizer_options *options,
		   const struct symbol_table **ret)
{
	struct object_file *object = NULL;
	int err = module->has_symbols ? 0 : module_object(module, &object);
	if (!err && object)
		err = symbol_table_read(object, options->tagged, &module->symbols);
	module->has_symbols = !err;
	*ret = &module->symbols;
	return err;
}
