/*
 * Options come as "-o name=value,..."; libfuse's parser splits them. Ours are in a table; libfuse's and those
 * mount(8) adds on the way are in lists, so that a misspelt one is refused here, by name, and not ignored.
 */
#include "fs/daemon_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gsym/base/vec.h"

const char options_help[] =
	"usage: gsymfs [-f] [-d] [-s] [-o option,...] SOURCE MOUNT\n"
	"\n"
	"Mounts the directory of object files SOURCE at MOUNT, where\n"
	"    cat MOUNT/<build id>/<address>\n"
	"prints the function, file and line of an address.\n"
	"\n"
	"    -f   stay in the foreground, log to standard error\n"
	"    -d   the same, and log every request\n"
	"    -s   one thread (for measurements)\n"
	"    -h, --help, -V, --version\n"
	"\n"
	"    -o cache=DIR             where converted files are kept\n"
	"    -o cache_size=SIZE       how much of them (default 10G)\n"
	"    -o shared=DIR            converted files that other hosts have made, or need\n"
	"    -o debug_dirs=DIR:...    where debug files are looked for (default /usr/lib/debug)\n"
	"    -o debuginfod=yes|no     get missing debug files from servers (default no)\n"
	"    -o jobs=N                conversions at a time (default 2)\n"
	"    -o threads=N             threads of one conversion (default: processors)\n"
	"    -o convert_memory=SIZE   memory of one conversion (default 4G)\n"
	"    -o convert_time=SECONDS  time of one conversion (default 600)\n"
	"    -o unknown=enoent|print  an address that no function covers is missing, or says ??\n"
	"    -o demangle=yes|no       print names as people write them, or as they are stored\n"
	"    -o approximate=yes|no    code without a line has the nearest before it (default no)\n"
	"    -o merged=yes|no         say when several functions share one body (default yes)\n"
	"    -o rescan=SECONDS        look for new files this often (default 60; 0: never)\n"
	"    -o watch=yes|no          be told of changes by the kernel (default yes)\n"
	"    -o worker=PATH           the gsym program that converts\n"
	"    -o allow_other           let other users in; implies default_permissions\n"
	"and what mount.fuse3(8) knows. gsymfs(1) has the details.\n";

/* ---- Values ---- */

bool parse_size(const char *text, uint64_t *ret)
{
	static const char suffixes[] = "KMGT";
	char *end;
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (*end) {
		const char *at = strchr(suffixes, *end >= 'a' ? *end - 'a' + 'A' : *end);
		if (!at || end[1])
			return false;
		unsigned shift = 10 * (unsigned)(at - suffixes + 1);
		if (value > UINT64_MAX >> shift)
			return false;
		value <<= shift;
	}
	*ret = value;
	return true;
}

static bool set_size(void *to, const char *value)
{
	uint64_t size;
	if (!parse_size(value, &size) || size == 0)
		return false;
	*(uint64_t *)to = size;
	return true;
}

static bool parse_count(const char *value, unsigned least, unsigned most, unsigned *ret)
{
	char *end;
	if (*value < '0' || *value > '9')
		return false;
	unsigned long n = strtoul(value, &end, 10);
	if (*end || n < least || n > most)
		return false;
	*ret = (unsigned)n;
	return true;
}

static bool set_jobs(void *to, const char *value)
{
	return parse_count(value, 1, 64, to);
}

static bool set_threads(void *to, const char *value)
{
	return parse_count(value, 1, 256, to);
}

static bool set_seconds(void *to, const char *value)
{
	return parse_count(value, 1, 7 * 86400, to);
}

static bool set_seconds_or_0(void *to, const char *value)
{
	return parse_count(value, 0, 7 * 86400, to);
}

static bool set_word(bool *to, const char *value, const char *no, const char *yes)
{
	*to = strcmp(value, yes) == 0;
	return *to || strcmp(value, no) == 0;
}

static bool set_yes_no(void *to, const char *value)
{
	return set_word(to, value, "no", "yes");
}

static bool set_unknown(void *to, const char *value)
{
	return set_word(to, value, "enoent", "print");
}

static bool set_path(void *to, const char *value)
{
	char **path = to;
	if (!*value)
		return false;
	free(*path);
	*path = strdup(value);
	return *path != NULL;
}

static bool set_directory(void *to, const char *value)
{
	return !strstr(value, "://") && set_path(to, value);
}

static bool set_dirs(void *to, const char *value)
{
	size_t n = 0;
	for (const char *at = value; *at; n++) {
		if (*at != '/')
			return false;
		at += strcspn(at, ":");
		at += *at == ':';
	}
	if (n > DEBUG_DIRS_MAX || strlen(value) > DEBUG_DIRS_TEXT_MAX)
		return false;
	char *copy = strdup(value), **dirs = to;
	if (!copy)
		return false;
	free(*dirs);
	*dirs = copy;
	return true;
}

/* ---- Our own options ---- */

static const struct {
	const char *name;
	size_t offset;
	bool (*set)(void *to, const char *value);
	const char *allowed;
} own_options[] = {
	{"cache", offsetof(struct options, cache), set_path, "a directory"},
	{"cache_size", offsetof(struct options, cache_size), set_size, "a number of bytes, like 10G"},
	{"jobs", offsetof(struct options, jobs), set_jobs, "1 to 64"},
	{"threads", offsetof(struct options, threads), set_threads, "1 to 256"},
	{"convert_memory", offsetof(struct options, convert_memory), set_size, "a number of bytes, like 4G"},
	{"convert_time", offsetof(struct options, convert_time), set_seconds, "seconds, 1 to 604800"},
	{"unknown", offsetof(struct options, unknown_print), set_unknown, "enoent or print"},
	{"demangle", offsetof(struct options, demangle), set_yes_no, "yes or no"},
	{"approximate", offsetof(struct options, approximate), set_yes_no, "yes or no"},
	{"rescan", offsetof(struct options, rescan), set_seconds_or_0, "seconds, 0 to 604800; 0 = never"},
	{"watch", offsetof(struct options, watch), set_yes_no, "yes or no"},
	{"shared", offsetof(struct options, shared), set_directory, "a directory (a URL has to be mounted)"},
	{"debug_dirs", offsetof(struct options, debug_dirs), set_dirs,
	 "at most 32 absolute directories with colons between them"},
	{"debuginfod", offsetof(struct options, debuginfod), set_yes_no, "yes or no"},
	{"merged", offsetof(struct options, merged), set_yes_no, "yes or no"},
	{"worker", offsetof(struct options, worker), set_path, "the path of the gsym program"},
};

/* 1 when @arg is one of ours and was taken, 0 when it is not ours, -EINVAL when its value is wrong. */
static int take_own(struct options *o, const char *arg)
{
	size_t length = strcspn(arg, "=");
	for (size_t i = 0; i < ARRAY_SIZE(own_options); i++) {
		const char *name = own_options[i].name;
		if (strlen(name) != length || memcmp(arg, name, length) != 0)
			continue;
		const char *value = arg[length] ? arg + length + 1 : "";
		if (own_options[i].set((char *)o + own_options[i].offset, value))
			return 1;
		fprintf(stderr, "gsymfs: option %s=%s: allowed is %s\n", name, value, own_options[i].allowed);
		return -EINVAL;
	}
	return 0;
}

/* ---- Options of libfuse and mount(8) ---- */

/* libfuse takes these; a name that ends with '=' has a value. */
static const char *const fuse_options[] = {
	"allow_other", "allow_root", "auto_unmount", "default_permissions",
	"fsname=",     "subtype=",   "max_read=",    "ro",
	"rw",          "suid",       "nosuid",       "dev",
	"nodev",       "exec",       "noexec",       "async",
	"sync",        "dirsync",    "atime",        "noatime",
	"debug",
};

/* Meant for mount(8) and fstab(5); they say nothing to us. */
static const char *const ignored_options[] = {
	"_netdev",    "auto",          "noauto",   "user",       "nouser",      "users",      "owner",
	"group",      "nofail",        "defaults", "relatime",   "strictatime", "comment=",   "x-",
	"norelatime", "nostrictatime", "diratime", "nodiratime", "lazytime",    "nolazytime", "silent",
	"loud",       "mand",          "nomand",   "iversion",   "noiversion",  "X-",
};

static bool listed(const char *arg, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(list[i]);
		char last = list[i][length - 1];
		bool open_ended = last == '=' || last == '-';
		if (open_ended ? strncmp(arg, list[i], length) == 0 : strcmp(arg, list[i]) == 0)
			return true;
	}
	return false;
}

static int refuse(const char *arg)
{
	fprintf(stderr, "gsymfs: unknown option %s: allowed are", arg);
	for (size_t i = 0; i < ARRAY_SIZE(own_options); i++)
		fprintf(stderr, " %s=", own_options[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(fuse_options); i++)
		fprintf(stderr, " %s", fuse_options[i]);
	fprintf(stderr, "\n");
	return -1;
}

/* Whether libfuse will take the value; what it says when it does not helps nobody. */
static int check_fuse_value(const char *arg)
{
	unsigned unused;
	const char *value = strchr(arg, '=');
	if (!value)
		return 0;
	bool is_size = strncmp(arg, "max_read=", 9) == 0;
	if (is_size ? parse_count(value + 1, 4096, 1U << 30, &unused) : value[1] != 0)
		return 0;
	fprintf(stderr, "gsymfs: option %s: allowed is %s\n", arg,
		is_size ? "a number of bytes, 4096 to 1073741824" : "a name");
	return -1;
}

static void note_fuse_option(struct options *o, const char *arg)
{
	if (strcmp(arg, "allow_other") == 0 || strcmp(arg, "allow_root") == 0)
		o->allow_other = true;
	else if (strcmp(arg, "default_permissions") == 0)
		o->default_permissions = true;
	else if (strncmp(arg, "max_read=", 9) == 0)
		o->max_read = (unsigned)strtoul(arg + 9, NULL, 10);
	else if (strncmp(arg, "fsname=", 7) == 0)
		o->has_fsname = true;
	else if (strcmp(arg, "debug") == 0)
		o->debug = o->foreground = true;
}

/* ---- The command line ---- */

enum key { KEY_FOREGROUND, KEY_DEBUG, KEY_SINGLE, KEY_HELP, KEY_VERSION };

static const struct fuse_opt switches[] = {
	FUSE_OPT_KEY("-f", KEY_FOREGROUND),     FUSE_OPT_KEY("-d", KEY_DEBUG),
	FUSE_OPT_KEY("-s", KEY_SINGLE),         FUSE_OPT_KEY("-h", KEY_HELP),
	FUSE_OPT_KEY("--help", KEY_HELP),       FUSE_OPT_KEY("-V", KEY_VERSION),
	FUSE_OPT_KEY("--version", KEY_VERSION), FUSE_OPT_END,
};

static int take_operand(struct options *o, const char *arg)
{
	char **to = !o->source ? &o->source : !o->mountpoint ? &o->mountpoint : NULL;
	if (!to) {
		fprintf(stderr, "gsymfs: one argument too many: %s (wanted are SOURCE and MOUNT)\n", arg);
		return -1;
	}
	*to = strdup(arg);
	return *to ? 0 : -1;
}

static int take_option(struct options *o, const char *arg)
{
	if (!*arg) /* "-o ''", of a service without options */
		return 0;
	int taken = take_own(o, arg);
	if (taken)
		return taken < 0 ? -1 : 0;
	if (listed(arg, ignored_options, ARRAY_SIZE(ignored_options)))
		return 0;
	if (strcmp(arg, "remount") == 0) {
		fprintf(stderr, "gsymfs: a mount cannot get other options: unmount it, and mount it again "
				"(for ro and rw "
				"alone: mount -i -o remount,ro MOUNT)\n");
		return -1;
	}
	if (!listed(arg, fuse_options, ARRAY_SIZE(fuse_options)))
		return refuse(arg);
	if (check_fuse_value(arg))
		return -1;
	note_fuse_option(o, arg);
	return 1; /* keep it for libfuse */
}

/* libfuse's convention: -1 error, 0 taken, 1 kept. */
static int take(void *data, const char *arg, int key, struct fuse_args *out)
{
	struct options *o = data;
	(void)out;
	switch (key) {
	case FUSE_OPT_KEY_NONOPT: return take_operand(o, arg);
	case FUSE_OPT_KEY_OPT: return take_option(o, arg);
	case KEY_FOREGROUND: o->foreground = true; return 0;
	case KEY_DEBUG: o->debug = o->foreground = true; return 0;
	case KEY_SINGLE: o->single_thread = true; return 0;
	case KEY_HELP: o->show_help = true; return 0;
	case KEY_VERSION: o->show_version = true; return 0;
	}
	return -1;
}

static void set_defaults(struct options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	*o = (struct options){
		.cache_size = 10ULL << 30,
		.convert_memory = 4ULL << 30,
		.convert_time = 600,
		.rescan = 60,
		.jobs = 2,
		.threads = cpus < 1     ? 1
			   : cpus > 256 ? 256
					: (unsigned)cpus,
		.demangle = true,
		.merged = true,
		.watch = true,
	};
}

/* Without default_permissions the kernel would let every user read what only the owner of a file may. */
static int pair_permissions(struct options *o)
{
	if (!o->allow_other || o->default_permissions)
		return 0;
	o->default_permissions = true;
	return fuse_opt_add_arg(&o->fuse, "-odefault_permissions") ? -ENOMEM : 0;
}

int options_parse(int argc, char **argv, struct options *ret)
{
	set_defaults(ret);
	ret->fuse = (struct fuse_args)FUSE_ARGS_INIT(argc, argv);
	if (fuse_opt_parse(&ret->fuse, ret, switches, take))
		return -EINVAL;
	if (ret->show_help || ret->show_version)
		return 0;
	if (!ret->debug_dirs && !(ret->debug_dirs = strdup("/usr/lib/debug")))
		return -ENOMEM;
	bool has_source = ret->source && *ret->source; /* of a service that sets none it is "" */
	if (!has_source || !ret->mountpoint || !*ret->mountpoint) {
		fprintf(stderr, "gsymfs: %s is missing; usage: gsymfs [-f] [-o option,...] SOURCE MOUNT\n",
			has_source ? "MOUNT, the directory to mount on,"
				   : "SOURCE, the directory of object files,");
		return -EINVAL;
	}
	return pair_permissions(ret);
}

void options_deinit(struct options *options)
{
	free(options->source);
	free(options->mountpoint);
	free(options->cache);
	free(options->debug_dirs);
	free(options->shared);
	free(options->worker);
	fuse_opt_free_args(&options->fuse);
}
