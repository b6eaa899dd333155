/*
 * Options are "-o name=value,...", which libfuse's parser splits, or "--name=value". Three tables of
 * rows (option.h) describe them: switches, our own options, and those that libfuse accepts.
 * tests/system/manuals.py compares docs/gsymfs.1 with them.
 *
 * To add an option: a member of struct options, a row of own_options[], a paragraph in docs/gsymfs.1, and its
 * use.
 */
#include "fs/daemon_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work/run/defaults.h"
#include "gsym/render/batch/sharded_batch.h"
#include "work/options/option.h"
#include "gsym/base/vec.h"

enum { WEEK = 7 * 86400 /* seconds */ };

/* ---- Paths, which are copied ---- */

static int copy_path(const char *value, void *to, struct gsym_diag *diag)
{
	char **path = to, *copy = strdup(value);
	if (!copy)
		return diag_set(diag, -ENOMEM, "out of memory");
	free(*path);
	*path = copy;
	return 0;
}

static int parse_file(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	(void)row;
	return *value ? copy_path(value, to, diag) : diag_set(diag, -EDOM, "the path of a file");
}

static int parse_directory(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	(void)row;
	if (!*value || strstr(value, "://"))
		return diag_set(diag, -EDOM, "a directory");
	return copy_path(value, to, diag);
}

/* Checks the scheme of a URL; the engine of the store checks the rest. */
static bool is_address(const char *value)
{
	static const char *const schemes[] = {"http://", "https://", "s3://"};
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncmp(value, schemes[i], strlen(schemes[i])) == 0)
			return value[strlen(schemes[i])];
	return *value && !strstr(value, "://");
}

static int parse_address(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	(void)row;
	if (is_address(value))
		return copy_path(value, to, diag);
	return diag_set(diag, -EDOM,
			"a directory, or an address that begins with https://, http:// or s3://");
}

static bool are_directories(const char *value)
{
	size_t n = 0;
	for (const char *at = value; *at; n++) {
		if (*at != '/')
			return false;
		at += strcspn(at, ":");
		at += *at == ':';
	}
	return n <= DEBUG_DIRS_MAX && strlen(value) <= DEBUG_DIRS_TEXT_MAX;
}

static int parse_directories(const struct option_row *row, const char *value, void *to,
			     struct gsym_diag *diag)
{
	(void)row;
	if (are_directories(value))
		return copy_path(value, to, diag);
	return diag_set(diag, -EDOM, "at most %d absolute directories, separated by colons", DEBUG_DIRS_MAX);
}

/* A value that only libfuse needs; a flag tells that there was one. */
static int parse_name(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	if (!*value)
		return diag_set(diag, -EDOM, "a name");
	if (row->size)
		*(bool *)to = true;
	return 0;
}

/* ---- Tables ---- */

#define FLAG(member)                OPTION_FLAG(options, member)
#define YES_NO(member)              OPTION_YES_NO(options, member)
#define CHOICE(member)              OPTION_CHOICE(options, member, 0)
#define NUMBER(member, least, most) OPTION_NUMBER(options, member, least, most)
#define SECONDS(member, least)      OPTION_(option_seconds, options, member, least, WEEK)
#define SIZE(member, least)         OPTION_SIZE(options, member, least)
#define PATH(parser, member) \
	OPTION_(parser, options, member, 0, COPIED + OPTION_CHECK(char *, options, member))

enum { COPIED = 1 }; /* @most of a row whose value options_deinit() frees */

/* clang-format off */
static const struct option_row own_options[] = {
	{0, "cache", "DIR", "directory of converted files",
	 PATH(parse_directory, cache), .section = "Converted files"},
	{0, "cache_size", "SIZE", "size the cache is kept below",
	 SIZE(cache_size, 1), .initial = DEFAULT_TEXT(CACHE_GIB_DEFAULT) "G"},
	{0, "cache_free", "SIZE", "space that the cache leaves free on its file system",
	 SIZE(cache_free, 0), .initial = DEFAULT_TEXT(CACHE_FREE_GIB_DEFAULT) "G"},
	{0, "shared", "STORE",
	 "converted files shared with other hosts: DIR, https://HOST/PATH, s3://BUCKET/PATH",
	 PATH(parse_address, shared), .section = "Shared store"},
	{0, "shared_wait", "MS", "milliseconds that a conversion waits for it",
	 NUMBER(shared_wait, 1, 60000), .initial = "250"},
	{0, "sign_key", "FILE", "secret key that signs what is given to it",
	 PATH(parse_file, sign_key)},
	{0, "trusted_keys", "FILE", "public keys; what none of them signed is not taken",
	 PATH(parse_file, trusted_keys)},
	{0, "shared_bearer", "FILE", "token for an HTTP server",
	 PATH(parse_file, shared_bearer)},
	{0, "shared_netrc", "FILE", "user and password for an HTTP server",
	 PATH(parse_file, shared_netrc)},
	{0, "shared_cert", "FILE", "client certificate, PEM",
	 PATH(parse_file, shared_cert)},
	{0, "shared_key", "FILE", "key of the client certificate, PEM",
	 PATH(parse_file, shared_key)},
	{0, "shared_ca", "FILE", "certificate authorities instead of the system's, PEM",
	 PATH(parse_file, shared_ca)},

	{0, "debug_dirs", "DIR:...", "directories searched for debug files",
	 PATH(parse_directories, debug_dirs), .initial = DEBUG_DIR_DEFAULT, .section = "Debug files"},
	{0, "debuginfod", "yes|no", "download missing debug files from debuginfod servers",
	 YES_NO(debuginfod), .initial = "no"},

	{0, "jobs", "N", "concurrent conversions",
	 NUMBER(jobs, 1, 64), .initial = "2", .section = "Conversions"},
	{0, "threads", "N", "threads of one conversion (default: number of processors)",
	 NUMBER(threads, 1, CONVERT_THREADS_MAX)},
	{0, "convert_memory", "SIZE", "memory limit of one conversion",
	 SIZE(convert_memory, 1), .initial = DEFAULT_TEXT(CONVERT_GIB_DEFAULT) "G"},
	{0, "convert_time", "SECONDS", "time limit of one conversion",
	 SECONDS(convert_time, 1), .initial = DEFAULT_TEXT(CONVERT_SECONDS_DEFAULT)},
	{0, "eager", "yes|no", "convert all of an image of which few addresses are asked",
	 YES_NO(eager), .initial = "yes"},
	{0, "idle_load", "PERCENT",
	 "with eager=no, load of the processors below which the rest is converted; 0: never",
	 NUMBER(idle_load, 0, 100000), .initial = "50"},
	{0, "idle_time", "SECONDS", "time without conversions before that",
	 SECONDS(idle_time, 1), .initial = "30"},
	{0, "worker", "PATH", "the gsym program that converts",
	 PATH(parse_file, worker)},

	{0, "unknown", "enoent|print", "an address outside all functions is a missing file, or prints ??",
	 CHOICE(unknown_print), .initial = "enoent", .section = "Answers"},
	{0, "demangle", "yes|no", "demangle names",
	 YES_NO(demangle), .initial = "yes"},
	{0, "approximate", "yes|no", "give code without a line the nearest one before it",
	 YES_NO(approximate), .initial = "no"},
	{0, "merged", "yes|no|mark",
	 "keep all functions that share their code; mark: and tell of them in text",
	 CHOICE(merged), .initial = "yes"},

	{0, "batch_threads", "N", "threads that answer one large q",
	 NUMBER(batch_threads, 1, SHARDS_MAX), .initial = "2"},

	{0, "open_images", "N", "converted files that stay open",
	 NUMBER(open_images, 1, OPEN_IMAGES_MAX), .initial = "4096", .section = "Memory"},
	{0, "kept_answers", "SIZE", "answers kept for files of addresses",
	 SIZE(kept_answers, 1 << 20), .initial = "64M"},

	{0, "rescan", "SECONDS", "interval between scans of SOURCE; 0: never scan again",
	 SECONDS(rescan, 0), .initial = "60", .section = "Source"},
	{0, "watch", "yes|no", "watch SOURCE for changes with inotify",
	 YES_NO(watch), .initial = "yes"},
	{0},
};
/* clang-format on */

/* Options that are passed on to libfuse. */
static const struct option_row fuse_options[] = {
	{0, "allow_other", NULL, NULL, FLAG(allow_other)},
	{0, "allow_root", NULL, NULL, FLAG(allow_other)},
	{0, "auto_unmount", NULL, NULL, OPTION_IGNORED},
	{0, "default_permissions", NULL, NULL, FLAG(default_permissions)},
	{0, "fsname", "NAME", NULL, OPTION_PARSED(options, has_fsname, parse_name)},
	{0, "subtype", "NAME", NULL, parse_name, 0, 0, 0, 0},
	{0, "max_read", "BYTES", NULL, OPTION_(option_bytes, options, max_read, 4096, 1U << 30)},
	{0, "ro", NULL, NULL, OPTION_IGNORED},
	{0, "rw", NULL, NULL, OPTION_IGNORED},
	{0, "suid", NULL, NULL, OPTION_IGNORED},
	{0, "nosuid", NULL, NULL, OPTION_IGNORED},
	{0, "dev", NULL, NULL, OPTION_IGNORED},
	{0, "nodev", NULL, NULL, OPTION_IGNORED},
	{0, "exec", NULL, NULL, OPTION_IGNORED},
	{0, "noexec", NULL, NULL, OPTION_IGNORED},
	{0, "async", NULL, NULL, OPTION_IGNORED},
	{0, "sync", NULL, NULL, OPTION_IGNORED},
	{0, "dirsync", NULL, NULL, OPTION_IGNORED},
	{0, "atime", NULL, NULL, OPTION_IGNORED},
	{0, "noatime", NULL, NULL, OPTION_IGNORED},
	{0, "debug", NULL, NULL, FLAG(debug)},
	{0},
};

/* Options of mount(8) and fstab(5), accepted and ignored. One that ends with '=' or '-' is a prefix. */
static const char *const ignored_options[] = {
	"_netdev",    "auto",          "noauto",   "user",       "nouser",      "users",      "owner",
	"group",      "nofail",        "defaults", "relatime",   "strictatime", "comment=",   "x-",
	"norelatime", "nostrictatime", "diratime", "nodiratime", "lazytime",    "nolazytime", "silent",
	"loud",       "mand",          "nomand",   "iversion",   "noiversion",  "X-",
};

static const struct option_row switches[] = {
	{'f', NULL, NULL, "stay in the foreground and log to standard error", FLAG(foreground)},
	{'d', NULL, NULL, "like -f, and log every request", FLAG(debug)},
	{'s', NULL, NULL, "serve requests with one thread", FLAG(single_thread)},
	{'c', "check", NULL, "only check that the daemon at MOUNT answers", FLAG(check)},
	{'h', "help", NULL, "print this help", FLAG(show_help)},
	{'V', "version", NULL, "print the version", FLAG(show_version)},
	{0},
};

/* ---- Help ---- */

void options_print_help(FILE *file)
{
	static const struct option_look look = {
		.indent = "    ", .prefix = "-o ", .column = 29, .one_line = true};
	static const struct option_row allow_other = {
		.name = "allow_other",
		.help = "admit other users; implies default_permissions",
		.section = "Access",
	};
	fputs("Usage: gsymfs [-f] [-d] [-s] [-o option,...] [--option]... SOURCE... MOUNT\n"
	      "       gsymfs --check MOUNT\n"
	      "\n"
	      "Mounts the directories of object files SOURCE, also written as one\n"
	      "operand with colons between them, at MOUNT, where\n"
	      "    cat MOUNT/<build id>/<address>\n"
	      "prints the function, file and line of an address.\n"
	      "\n",
	      file);
	for (const struct option_row *row = switches; row->letter; row++)
		option_print(file, row, &look);
	for (const struct option_row *row = own_options; row->name; row++)
		option_print(file, row, &look);
	option_print(file, &allow_other, &look);
	fputs("\n-o name=value may be written --name=value. Options of mount.fuse3(8) are accepted as\n"
	      "well; gsymfs(1) has the details.\n",
	      file);
}

/* ---- Options ---- */

static void set_defaults(struct options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	*o = (struct options){.threads = cpus < 1                     ? 1
					 : cpus > CONVERT_THREADS_MAX ? CONVERT_THREADS_MAX
								      : (unsigned)cpus};
	for (const struct option_row *row = own_options; row->name; row++)
		if (row->initial)
			option_set(row, row->initial, o, NULL);
}

static int set_option(struct options *o, const struct option_row *row, const char *value)
{
	struct gsym_diag diag = {0};
	int err = option_set(row, value, o, &diag);
	if (err == -EDOM)
		fprintf(stderr, "gsymfs: option '%s': invalid value '%s'; allowed is %s\n", row->name, value,
			diag.text);
	else if (err)
		fprintf(stderr, "gsymfs: option '%s': %s\n", row->name, diag.text);
	return err ? -1 : 0;
}

static bool is_ignored(const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(ignored_options); i++) {
		const char *name = ignored_options[i];
		size_t length = strlen(name);
		bool is_prefix = name[length - 1] == '=' || name[length - 1] == '-';
		if (is_prefix ? strncmp(arg, name, length) == 0 : strcmp(arg, name) == 0)
			return true;
	}
	return false;
}

static int refuse_unknown(const char *arg)
{
	static const struct option_row *const tables[] = {own_options, fuse_options};
	struct suggestion meant = suggestion_begin(arg, strcspn(arg, "="));
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		option_suggest(&meant, tables[i], 0);
	fprintf(stderr, "gsymfs: option '%s': unknown;", arg);
	if (meant.best)
		fprintf(stderr, " did you mean '%s'?", meant.best);
	fprintf(stderr, " allowed are");
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct option_row *row = tables[i]; row->name; row++)
			fprintf(stderr, " %s%s", row->name, row->argument ? "=" : "");
	fprintf(stderr, "\n");
	return -1;
}

/* libfuse's convention: 0 consumed, 1 to pass the option on, -1 for an error. */
static int take_option(struct options *o, const char *arg)
{
	size_t length = strcspn(arg, "=");
	const struct option_row *row = option_named(own_options, 0, arg, length);
	const char *value = arg[length] ? arg + length + 1 : "";
	if (!*arg) /* "-o ''", from a service unit without options */
		return 0;
	if (row)
		return set_option(o, row, value);
	if (is_ignored(arg))
		return 0;
	if (strcmp(arg, "remount") == 0) {
		fputs("gsymfs: option 'remount': options of a mount cannot be changed; unmount it and mount "
		      "it again (for ro and rw alone: mount -i -o remount,ro MOUNT)\n",
		      stderr);
		return -1;
	}
	row = option_named(fuse_options, 0, arg, length);
	if (!row || !arg[length] != !row->argument)
		return refuse_unknown(arg);
	return set_option(o, row, value) ? -1 : 1;
}

/* "--name=value", which may have dashes in the name: as "-o name=value". */
static int take_long_option(struct options *o, const char *arg, struct fuse_args *out)
{
	char text[PATH_MAX + 64] = "-o";
	size_t length = strcspn(arg, "=");
	if (snprintf(text + 2, sizeof(text) - 2, "%s", arg) >= (int)sizeof(text) - 2) {
		fprintf(stderr, "gsymfs: option '--%.*s': too long\n", (int)length, arg);
		return -1;
	}
	for (size_t i = 2; i < length + 2; i++)
		text[i] = text[i] == '-' ? '_' : text[i];
	const struct option_row *row = option_named(own_options, 0, text + 2, length);
	if (row && !arg[length]) {
		fprintf(stderr, "gsymfs: option '--%s': missing argument; give it as --%s=%s\n", arg, arg,
			row->argument);
		return -1;
	}
	int taken = take_option(o, text + 2);
	return taken == 1 ? fuse_opt_add_arg(out, text) : taken;
}

/* ---- The command line ---- */

static int take_operand(struct options *o, const char *arg)
{
	if (o->n_operands > SOURCES_MAX) {
		fprintf(stderr,
			"gsymfs: extra operand '%s'; operands are at most %d times SOURCE, and MOUNT\n", arg,
			SOURCES_MAX);
		return -1;
	}
	o->operands[o->n_operands] = strdup(arg);
	if (!o->operands[o->n_operands]) {
		fprintf(stderr, "gsymfs: operand '%s': out of memory\n", arg);
		return -1;
	}
	o->n_operands++;
	return 0;
}

/* libfuse's convention: -1 error, 0 consumed, 1 passed on. @key: the index of a switch, or FUSE_OPT_KEY_*. */
static int take(void *data, const char *arg, int key, struct fuse_args *out)
{
	struct options *o = data;
	if (key == FUSE_OPT_KEY_NONOPT)
		return take_operand(o, arg);
	if (key == FUSE_OPT_KEY_OPT && strncmp(arg, "--", 2) == 0)
		return take_long_option(o, arg + 2, out);
	if (key == FUSE_OPT_KEY_OPT)
		return take_option(o, arg);
	return option_set(&switches[key], NULL, o, NULL);
}

static int parse_arguments(struct options *o)
{
	struct fuse_opt templates[2 * ARRAY_SIZE(switches)];
	char words[ARRAY_SIZE(switches)][2][16];
	size_t n = 0;
	for (int i = 0; switches[i].letter; i++) {
		snprintf(words[i][0], sizeof(words[i][0]), "-%c", switches[i].letter);
		templates[n++] = (struct fuse_opt)FUSE_OPT_KEY(words[i][0], i);
		if (!switches[i].name)
			continue;
		snprintf(words[i][1], sizeof(words[i][1]), "--%s", switches[i].name);
		templates[n++] = (struct fuse_opt)FUSE_OPT_KEY(words[i][1], i);
	}
	templates[n] = (struct fuse_opt)FUSE_OPT_END;
	if (fuse_opt_parse(&o->fuse, o, templates, take))
		return -EINVAL;
	o->foreground |= o->debug;
	return 0;
}

/* Without default_permissions the kernel does not check modes, and all users could read all images. */
static int imply_default_permissions(struct options *o)
{
	if (!o->allow_other || o->default_permissions)
		return 0;
	o->default_permissions = true;
	return fuse_opt_add_arg(&o->fuse, "-odefault_permissions") ? -ENOMEM : 0;
}

/* The last operand is the mount point. */
static int name_operands(struct options *o)
{
	size_t given = 0;
	if (o->check && o->n_operands == 1) {
		o->mountpoint = o->operands[0];
		return 0;
	}
	if (o->check) {
		fputs("gsymfs: option '--check': takes one operand, MOUNT\n", stderr);
		return -EINVAL;
	}
	while (given < o->n_operands && *o->operands[given])
		given++;
	if (given == o->n_operands && given > 1) {
		o->n_sources = given - 1;
		o->mountpoint = o->operands[given - 1];
		return 0;
	}
	/* "" comes from a service unit that sets no operand. */
	if (given + 1 < o->n_operands)
		fprintf(stderr, "gsymfs: operand 'SOURCE' is empty (number %zu); try 'gsymfs --help'\n",
			given + 1);
	else
		fprintf(stderr, "gsymfs: missing operand '%s'; try 'gsymfs --help'\n",
			given ? "MOUNT" : "SOURCE");
	return -EINVAL;
}

int options_parse(int argc, char **argv, struct options *ret)
{
	set_defaults(ret);
	ret->fuse = (struct fuse_args)FUSE_ARGS_INIT(argc, argv);
	if (parse_arguments(ret))
		return -EINVAL;
	if (ret->show_help || ret->show_version)
		return 0;
	if (!ret->debug_dirs)
		return -ENOMEM;
	return name_operands(ret) ? -EINVAL : imply_default_permissions(ret);
}

void options_deinit(struct options *options)
{
	for (size_t i = 0; i < options->n_operands; i++)
		free(options->operands[i]);
	for (const struct option_row *row = own_options; row->name; row++)
		if (row->most == COPIED && row->size == sizeof(char *))
			free(*(char **)((char *)options + row->member));
	fuse_opt_free_args(&options->fuse);
}
