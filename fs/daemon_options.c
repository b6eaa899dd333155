/*
 * Options are given as "-o name=value,..."; libfuse's parser splits them. Three tables describe them:
 * switches, our own options, and those that libfuse accepts. Parsing, --help, error messages and (through
 * --help) shell completions are derived from the tables; tests/system/manuals.py compares docs/gsymfs.1 with
 * them.
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
#include "gsym/base/suggestion.h"
#include "gsym/base/vec.h"

enum {
	HELP_COLUMN = 29, /* of descriptions */
	WEEK = 7 * 86400, /* seconds */
};

/* ---- Tables ---- */

/* What a value is, and the type of the member it goes to. */
enum value_kind {
	VALUE_YES_NO,      /* bool */
	VALUE_EITHER,      /* bool: the first word of the argument is false, the second true */
	VALUE_CHOICE,      /* an enum: the index of the word in the argument */
	VALUE_NUMBER,      /* unsigned, from @least to @most */
	VALUE_SECONDS,     /* the same */
	VALUE_SIZE,        /* uint64_t, bytes */
	VALUE_FILE,        /* char *, a path */
	VALUE_DIRECTORY,   /* char *, a path */
	VALUE_ADDRESS,     /* char *, a path or a URL */
	VALUE_DIRECTORIES, /* char *, absolute paths separated by colons; may be empty */
};

struct daemon_option {
	const char *name; /* "jobs" of "-o jobs=2" */
	const char
		*argument; /* the value in --help: alternatives separated by '|', or a name such as "SIZE" */
	enum value_kind kind;
	size_t member;        /* offset in struct options */
	unsigned least, most; /* of a number; of a size only the first */
	const char *initial;  /* the default value; NULL: described in @help */
	const char *help;
	const char *section; /* title in --help of this option and those after it; NULL: as before */
};

/* Evaluates to 0; does not compile unless the member of struct options has the type. */
#define CHECK_TYPE(type, member)                                                                        \
	(0 * sizeof(struct {                                                                            \
		 _Static_assert(                                                                        \
			 __builtin_types_compatible_p(type, __typeof__(((struct options *)0)->member)), \
			 "kind of value and type of " #member);                                         \
		 int unused;                                                                            \
	 }))
#define MEMBER(type, member)        offsetof(struct options, member) + CHECK_TYPE(type, member)
#define YES_NO(member)              VALUE_YES_NO, MEMBER(bool, member), 0, 0
#define EITHER(member)              VALUE_EITHER, MEMBER(bool, member), 0, 0
#define CHOICE(type, member)        VALUE_CHOICE, MEMBER(type, member), 0, 0
#define NUMBER(member, least, most) VALUE_NUMBER, MEMBER(unsigned, member), least, most
#define SECONDS(member, least)      VALUE_SECONDS, MEMBER(unsigned, member), least, WEEK
#define SIZE(member, least)         VALUE_SIZE, MEMBER(uint64_t, member), least, 0
#define PATH(kind, member)          kind, MEMBER(char *, member), 0, 0

/* clang-format off */
static const struct daemon_option own_options[] = {
	{"cache", "DIR", PATH(VALUE_DIRECTORY, cache), NULL,
	 "directory of converted files", "Converted files"},
	{"cache_size", "SIZE", SIZE(cache_size, 1), DEFAULT_TEXT(CACHE_GIB_DEFAULT) "G",
	 "size the cache is kept below"},
	{"cache_free", "SIZE", SIZE(cache_free, 0), DEFAULT_TEXT(CACHE_FREE_GIB_DEFAULT) "G",
	 "space that the cache leaves free on its file system"},
	{"shared", "STORE", PATH(VALUE_ADDRESS, shared), NULL,
	 "converted files shared with other hosts: DIR, https://HOST/PATH, s3://BUCKET/PATH", "Shared store"},
	{"shared_layout", "gsymfs|bazel", EITHER(shared_bazel), "gsymfs",
	 "names of its objects"},
	{"shared_wait", "MS", NUMBER(shared_wait, 1, 60000), "250",
	 "milliseconds that a conversion waits for it"},
	{"digest_rate", "SIZE", SIZE(digest_rate, 0), "64M",
	 "bytes a second read ahead to know files by their content; 0: none"},
	{"sign_key", "FILE", PATH(VALUE_FILE, sign_key), NULL,
	 "secret key that signs what is given to it"},
	{"trusted_keys", "FILE", PATH(VALUE_FILE, trusted_keys), NULL,
	 "public keys; what none of them signed is not taken"},
	{"shared_bearer", "FILE", PATH(VALUE_FILE, shared_bearer), NULL,
	 "token for an HTTP server"},
	{"shared_netrc", "FILE", PATH(VALUE_FILE, shared_netrc), NULL,
	 "user and password for an HTTP server"},
	{"shared_cert", "FILE", PATH(VALUE_FILE, shared_cert), NULL,
	 "client certificate, PEM"},
	{"shared_key", "FILE", PATH(VALUE_FILE, shared_key), NULL,
	 "key of the client certificate, PEM"},
	{"shared_ca", "FILE", PATH(VALUE_FILE, shared_ca), NULL,
	 "certificate authorities instead of the system's, PEM"},

	{"debug_dirs", "DIR:...", PATH(VALUE_DIRECTORIES, debug_dirs), DEBUG_DIR_DEFAULT,
	 "directories searched for debug files", "Debug files"},
	{"debuginfod", "yes|no", YES_NO(debuginfod), "no",
	 "download missing debug files from debuginfod servers"},

	{"jobs", "N", NUMBER(jobs, 1, 64), "2",
	 "concurrent conversions", "Conversions"},
	{"threads", "N", NUMBER(threads, 1, CONVERT_THREADS_MAX), NULL,
	 "threads of one conversion (default: number of processors)"},
	{"convert_memory", "SIZE", SIZE(convert_memory, 1), DEFAULT_TEXT(CONVERT_GIB_DEFAULT) "G",
	 "memory limit of one conversion"},
	{"convert_time", "SECONDS", SECONDS(convert_time, 1), DEFAULT_TEXT(CONVERT_SECONDS_DEFAULT),
	 "time limit of one conversion"},
	{"eager", "yes|no", YES_NO(eager), "yes",
	 "convert all of an image of which few addresses are asked"},
	{"idle_load", "PERCENT", NUMBER(idle_load, 0, 100000), "50",
	 "with eager=no, load of the processors below which the rest is converted; 0: never"},
	{"idle_time", "SECONDS", SECONDS(idle_time, 1), "30",
	 "time without conversions before that"},
	{"worker", "PATH", PATH(VALUE_FILE, worker), NULL,
	 "the gsym program that converts"},

	{"unknown", "enoent|print", EITHER(unknown_print), "enoent",
	 "an address outside all functions is a missing file, or prints ??", "Answers"},
	{"demangle", "yes|no", YES_NO(demangle), "yes",
	 "demangle names"},
	{"approximate", "yes|no", YES_NO(approximate), "no",
	 "give code without a line the nearest one before it"},
	{"merged", "yes|no|mark", CHOICE(enum merged_mode, merged), "yes",
	 "keep all functions that share their code; mark: and tell of them in text"},

	{"batch_threads", "N", NUMBER(batch_threads, 1, SHARDS_MAX), "2",
	 "threads that answer one large q"},

	{"open_images", "N", NUMBER(open_images, 1, OPEN_IMAGES_MAX), "4096",
	 "converted files that stay open", "Memory"},
	{"kept_answers", "SIZE", SIZE(kept_answers, 1 << 20), "64M",
	 "answers kept for files of addresses"},

	{"rescan", "SECONDS", SECONDS(rescan, 0), "60",
	 "interval between scans of SOURCE; 0: never scan again", "Source"},
	{"watch", "yes|no", YES_NO(watch), "yes",
	 "watch SOURCE for changes with inotify"},
};
/* clang-format on */

/* Options that are passed on to libfuse. */
static const struct {
	const char *name;
	const char *argument; /* NULL: none */
	size_t member;        /* a bool to be set as well; 0: none */
} fuse_options[] = {
	{"allow_other", NULL, offsetof(struct options, allow_other)},
	{"allow_root", NULL, offsetof(struct options, allow_other)},
	{"auto_unmount"},
	{"default_permissions", NULL, offsetof(struct options, default_permissions)},
	{"fsname", "NAME", offsetof(struct options, has_fsname)},
	{"subtype", "NAME"},
	{"max_read", "BYTES"},
	{"ro"},
	{"rw"},
	{"suid"},
	{"nosuid"},
	{"dev"},
	{"nodev"},
	{"exec"},
	{"noexec"},
	{"async"},
	{"sync"},
	{"dirsync"},
	{"atime"},
	{"noatime"},
	{"debug", NULL, offsetof(struct options, debug)},
};

/* Options of mount(8) and fstab(5), accepted and ignored. One that ends with '=' or '-' is a prefix. */
static const char *const ignored_options[] = {
	"_netdev",    "auto",          "noauto",   "user",       "nouser",      "users",      "owner",
	"group",      "nofail",        "defaults", "relatime",   "strictatime", "comment=",   "x-",
	"norelatime", "nostrictatime", "diratime", "nodiratime", "lazytime",    "nolazytime", "silent",
	"loud",       "mand",          "nomand",   "iversion",   "noiversion",  "X-",
};

static const struct {
	const char *letter, *word; /* @word may be NULL */
	size_t member;             /* the bool that it sets */
	const char *help;
} switches[] = {
	{"-f", NULL, offsetof(struct options, foreground),
	 "stay in the foreground and log to standard error"},
	{"-d", NULL, offsetof(struct options, debug), "like -f, and log every request"},
	{"-s", NULL, offsetof(struct options, single_thread), "serve requests with one thread"},
	{"-h", "--help", offsetof(struct options, show_help), "print this help"},
	{"-V", "--version", offsetof(struct options, show_version), "print the version"},
};

static bool *flag_at(struct options *o, size_t member)
{
	return (bool *)((char *)o + member);
}

/* ---- Help ---- */

static void print_row(FILE *file, int width, const char *help)
{
	fprintf(file, "%*s%s", width < HELP_COLUMN ? HELP_COLUMN - width : 1, "", help);
}

static void print_switches(FILE *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
		const char *word = switches[i].word;
		int width =
			fprintf(file, "    %s%s%s", switches[i].letter, word ? ", " : "", word ? word : "");
		print_row(file, width, switches[i].help);
		fputc('\n', file);
	}
}

static void print_own_options(FILE *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_options); i++) {
		const struct daemon_option *option = &own_options[i];
		if (option->section)
			fprintf(file, "\n%s:\n", option->section);
		print_row(file, fprintf(file, "    -o %s=%s", option->name, option->argument), option->help);
		fprintf(file, option->initial ? " (default %s)\n" : "\n", option->initial);
	}
}

void options_print_help(FILE *file)
{
	fputs("Usage: gsymfs [-f] [-d] [-s] [-o option,...] SOURCE... MOUNT\n"
	      "\n"
	      "Mounts the directories of object files SOURCE, also written as one\n"
	      "operand with colons between them, at MOUNT, where\n"
	      "    cat MOUNT/<build id>/<address>\n"
	      "prints the function, file and line of an address.\n"
	      "\n",
	      file);
	print_switches(file);
	print_own_options(file);
	fputs("\nAccess:\n", file);
	print_row(file, fprintf(file, "    -o allow_other"),
		  "admit other users; implies default_permissions\n");
	fputs("\nOptions of mount.fuse3(8) are accepted as well; gsymfs(1) has the details.\n", file);
}

/* ---- Values ---- */

/* A number of bytes with an optional suffix K, M, G or T (powers of 1024). False if malformed. */
static bool parse_size(const char *text, uint64_t *ret)
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

static bool parse_number(const char *value, unsigned least, unsigned most, unsigned *ret)
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

/* One of two words. */
static bool parse_either(const char *value, const char *no, size_t no_size, const char *yes, bool *ret)
{
	*ret = strcmp(value, yes) == 0;
	return *ret || (strlen(value) == no_size && memcmp(value, no, no_size) == 0);
}

/* One of the words in @words, "a|b|c". */
static bool parse_choice(const char *value, const char *words, unsigned *ret)
{
	size_t size = strlen(value), n;
	for (unsigned i = 0; *words; i++) {
		n = strcspn(words, "|");
		if (n == size && memcmp(words, value, n) == 0) {
			*ret = i;
			return true;
		}
		words += n + (words[n] == '|');
	}
	return false;
}

static bool parse_path(const char *value, char **ret)
{
	char *copy = strdup(value);
	if (!copy)
		return false;
	free(*ret);
	*ret = copy;
	return true;
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

/* Whether what begins like a URL is one of a kind that there is; what is beyond that, its engine says. */
static bool is_address(const char *value)
{
	static const char *const schemes[] = {"http://", "https://", "s3://"};
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncmp(value, schemes[i], strlen(schemes[i])) == 0)
			return value[strlen(schemes[i])];
	return *value && !strstr(value, "://");
}

static bool parse_value(const struct daemon_option *option, const char *value, struct options *o)
{
	void *to = (char *)o + option->member;
	switch (option->kind) {
	case VALUE_YES_NO: return parse_either(value, "no", 2, "yes", to);
	case VALUE_EITHER: {
		size_t first = strcspn(option->argument, "|");
		return parse_either(value, option->argument, first, option->argument + first + 1, to);
	}
	case VALUE_CHOICE: return parse_choice(value, option->argument, to);
	case VALUE_NUMBER:
	case VALUE_SECONDS: return parse_number(value, option->least, option->most, to);
	case VALUE_SIZE: return parse_size(value, to) && *(uint64_t *)to >= option->least;
	case VALUE_FILE: return *value && parse_path(value, to);
	case VALUE_DIRECTORY: return *value && !strstr(value, "://") && parse_path(value, to);
	case VALUE_ADDRESS: return is_address(value) && parse_path(value, to);
	case VALUE_DIRECTORIES: return are_directories(value) && parse_path(value, to);
	}
	return false;
}

/* "a|b|c" as "a, b or c". */
static void print_words(FILE *file, const char *words)
{
	for (size_t n; (n = strcspn(words, "|")), words[n]; words += n + 1)
		fprintf(file, "%.*s%s", (int)n, words, strchr(words + n + 1, '|') ? ", " : " or ");
	fputs(words, file);
}

static void print_allowed(FILE *file, const struct daemon_option *option)
{
	switch (option->kind) {
	case VALUE_YES_NO:
	case VALUE_EITHER:
	case VALUE_CHOICE: print_words(file, option->argument); break;
	case VALUE_NUMBER: fprintf(file, "a number from %u to %u", option->least, option->most); break;
	case VALUE_SECONDS:
		fprintf(file, "a number of seconds from %u to %u", option->least, option->most);
		break;
	case VALUE_SIZE:
		if (option->least > 1)
			fprintf(file, "at least %u bytes, such as 512M or 10G", option->least);
		else
			fprintf(file, "a number of bytes%s, such as 512M or 10G",
				option->least ? " above 0" : "");
		break;
	case VALUE_FILE: fputs("the path of a file", file); break;
	case VALUE_DIRECTORY: fputs("a directory", file); break;
	case VALUE_ADDRESS:
		fputs("a directory, or an address that begins with https://, http:// or s3://", file);
		break;
	case VALUE_DIRECTORIES:
		fprintf(file, "at most %d absolute directories, separated by colons", DEBUG_DIRS_MAX);
		break;
	}
}

static void set_defaults(struct options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	*o = (struct options){.threads = cpus < 1                     ? 1
					 : cpus > CONVERT_THREADS_MAX ? CONVERT_THREADS_MAX
								      : (unsigned)cpus};
	for (size_t i = 0; i < ARRAY_SIZE(own_options); i++)
		if (own_options[i].initial)
			parse_value(&own_options[i], own_options[i].initial, o);
}

/* ---- Options ---- */

/* 1 when @arg is one of our own options, 0 when it is not, -EINVAL when its value is invalid. */
static int take_own(struct options *o, const char *arg)
{
	size_t length = strcspn(arg, "=");
	for (size_t i = 0; i < ARRAY_SIZE(own_options); i++) {
		const char *name = own_options[i].name;
		if (strlen(name) != length || memcmp(arg, name, length) != 0)
			continue;
		const char *value = arg[length] ? arg + length + 1 : "";
		if (parse_value(&own_options[i], value, o))
			return 1;
		fprintf(stderr, "gsymfs: option '%s': invalid value '%s'; allowed is ", name, value);
		print_allowed(stderr, &own_options[i]);
		fputc('\n', stderr);
		return -EINVAL;
	}
	return 0;
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
	struct suggestion meant = suggestion_begin(arg, strcspn(arg, "="));
	for (size_t i = 0; i < ARRAY_SIZE(own_options); i++)
		suggestion_try(&meant, own_options[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(fuse_options); i++)
		suggestion_try(&meant, fuse_options[i].name);
	fprintf(stderr, "gsymfs: option '%s': unknown;", arg);
	if (meant.best)
		fprintf(stderr, " did you mean '%s'?", meant.best);
	fprintf(stderr, " allowed are");
	for (size_t i = 0; i < ARRAY_SIZE(own_options); i++)
		fprintf(stderr, " %s=", own_options[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(fuse_options); i++)
		fprintf(stderr, " %s%s", fuse_options[i].name, fuse_options[i].argument ? "=" : "");
	fprintf(stderr, "\n");
	return -1;
}

/* Checks the value of a libfuse option, since libfuse's own error messages do not name the option. */
static int take_fuse_value(struct options *o, const char *name, const char *value)
{
	bool is_size = strcmp(name, "max_read") == 0;
	if (is_size ? parse_number(value, 4096, 1U << 30, &o->max_read) : *value != 0)
		return 0;
	fprintf(stderr, "gsymfs: option '%s': invalid value '%s'; allowed is %s\n", name, value,
		is_size ? "a number of bytes from 4096 to 1073741824" : "a name");
	return -1;
}

/* libfuse's convention: 1 to pass the option on, -1 for an error. */
static int take_fuse(struct options *o, const char *arg)
{
	size_t length = strcspn(arg, "=");
	bool has_value = arg[length];
	for (size_t i = 0; i < ARRAY_SIZE(fuse_options); i++) {
		const char *name = fuse_options[i].name;
		if (strlen(name) != length || memcmp(arg, name, length) != 0 ||
		    has_value != !!fuse_options[i].argument)
			continue;
		if (has_value && take_fuse_value(o, name, arg + length + 1))
			return -1;
		if (fuse_options[i].member)
			*flag_at(o, fuse_options[i].member) = true;
		return 1;
	}
	return refuse_unknown(arg);
}

static int take_option(struct options *o, const char *arg)
{
	if (!*arg) /* "-o ''", from a service unit without options */
		return 0;
	int taken = take_own(o, arg);
	if (taken)
		return taken < 0 ? -1 : 0;
	if (is_ignored(arg))
		return 0;
	if (strcmp(arg, "remount") == 0) {
		fputs("gsymfs: option 'remount': options of a mount cannot be changed; unmount it and mount "
		      "it "
		      "again (for ro and rw alone: mount -i -o remount,ro MOUNT)\n",
		      stderr);
		return -1;
	}
	return take_fuse(o, arg);
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
	(void)out;
	if (key == FUSE_OPT_KEY_NONOPT)
		return take_operand(o, arg);
	if (key == FUSE_OPT_KEY_OPT)
		return take_option(o, arg);
	*flag_at(o, switches[key].member) = true;
	return 0;
}

static int parse_arguments(struct options *o)
{
	struct fuse_opt templates[2 * ARRAY_SIZE(switches) + 1];
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
		templates[n++] = (struct fuse_opt)FUSE_OPT_KEY(switches[i].letter, (int)i);
		if (switches[i].word)
			templates[n++] = (struct fuse_opt)FUSE_OPT_KEY(switches[i].word, (int)i);
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
	free(options->cache);
	free(options->debug_dirs);
	free(options->shared);
	free(options->sign_key);
	free(options->trusted_keys);
	free(options->shared_bearer);
	free(options->shared_netrc);
	free(options->shared_ca);
	free(options->shared_cert);
	free(options->shared_key);
	free(options->worker);
	fuse_opt_free_args(&options->fuse);
}
