/*
 * gsym store: keys for a store that several hosts share, and what it holds. Each action has a function of its
 * own; conversions are taken and published by the code of the daemon.
 */
#include <limits.h>
#include <string.h>

#include "cli/command/commands.h"
#include "cli/command/message.h"
#include "cli/store/store_command.h"
#include "work/run/defaults.h"
#include "gsym/base/suggestion.h"
#include "gsym/base/vec.h"

static const struct option_row options[] = {
	{'o', "out-file", "FILE", "get: write FILE instead of OBJECT.gsym",
	 OPTION_STRING(store_command, output)},
	{0, "arch", "ARCH", "get, put: the image for ARCH of a universal file",
	 OPTION_STRING(store_command, arch)},
	{0, "source", "DIR",
	 "get, put: SOURCE of the daemons that use the store;\nmay be repeated (default: the directory of "
	 "OBJECT)",
	 OPTION_LIST(store_command, sources)},
	{0, "debug-dir", "DIR",
	 "get, put: their directory of debug files; may be\nrepeated (default " DEBUG_DIR_DEFAULT ")",
	 OPTION_LIST(store_command, debug_dirs)},
	{0, "merged", "yes|no", "get: what daemons with that -o merged= made\n(default yes)",
	 OPTION_CHOICE(store_command, merged, TAKE_MERGED)},
	{0, "debuginfod", NULL, "get: what daemons made that ask the servers of\n$DEBUGINFOD_URLS",
	 OPTION_FLAG(store_command, debuginfod)},
	{0, "cache", "DIR", "get, put: keep conversions in DIR", OPTION_STRING(store_command, cache)},
	OPTIONS_SESSION(store_command, session),
	{0, "max-size", "SIZE", "prune: delete the least recently used objects above\nSIZE bytes; K, M, G, T",
	 OPTION_SIZE(store_command, max_size, 0)},
	{0, "max-age", "DAYS", "prune: delete objects not used for DAYS",
	 OPTION_NUMBER(store_command, max_age, 1, 36500)},
	{0, "signed-by", "FILE", "verify, prune: only objects, or all, that a public key\nin FILE signed",
	 OPTION_STRING(store_command, signed_by)},
	{0, "dry-run", NULL, "prune: only print what would be deleted", OPTION_FLAG(store_command, dry_run)},
	OPTIONS_END,
};

enum { KEYGEN, GET, PUT, LIST, VERIFY, PRUNE, ACTIONS };

static const struct {
	const char *name, *operands;
	int least, most; /* operands */
	store_action *run;
} actions[ACTIONS] = {
	[KEYGEN] = {"keygen", "FILE", 1, 1, store_keygen},
	[GET] = {"get", "STORE OBJECT", 2, 2, store_get},
	[PUT] = {"put", "STORE OBJECT...", 2, INT_MAX, store_put},
	[LIST] = {"list", "DIR", 1, 1, store_list},
	[VERIFY] = {"verify", "DIR [KEY...]", 1, INT_MAX, store_verify},
	[PRUNE] = {"prune", "DIR", 1, 1, store_prune},
};

static int find_action(const char *name, unsigned *ret)
{
	struct suggestion meant = suggestion_begin(name, strlen(name));
	for (unsigned i = 0; i < ACTIONS; i++) {
		suggestion_try(&meant, actions[i].name);
		if (strcmp(name, actions[i].name) == 0) {
			*ret = i;
			return STATUS_OK;
		}
	}
	return meant.best ? options_error(&command_store, "action '%s': unknown; did you mean '%s'?", name,
					  meant.best)
			  : options_error(&command_store, "action '%s': unknown", name);
}

/* Options that do nothing for some actions. */
static int check_options(const struct store_command *c, unsigned action)
{
	const unsigned objects = 1 << GET | 1 << PUT;
	const struct session_options *s = &c->session;
	const struct {
		bool given;
		unsigned actions;
		const char *name;
	} rules[] = {
		{c->output, 1 << GET, "out-file"},
		{c->arch, objects, "arch"},
		{c->sources.n, objects, "source"},
		{c->debug_dirs.n, objects, "debug-dir"},
		{c->cache, objects, "cache"},
		{c->merged == TAKE_UNMERGED, 1 << GET, "merged"},
		{c->debuginfod, 1 << GET, "debuginfod"},
		{s->sign_key, 1 << PUT, "sign-key"},
		{s->trusted_keys, objects | 1 << VERIFY, "trusted-keys"},
		{session_secret(s), objects, session_secret(s)},
		{c->max_size != UINT64_MAX, 1 << PRUNE, "max-size"},
		{c->max_age, 1 << PRUNE, "max-age"},
		{c->dry_run, 1 << PRUNE, "dry-run"},
		{c->signed_by, 1 << PRUNE | 1 << VERIFY, "signed-by"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].given && !(rules[i].actions & 1 << action))
			return options_error(&command_store, "option '--%s': not for %s", rules[i].name,
					     actions[action].name);
	if (action == PRUNE && !c->max_age && c->max_size == UINT64_MAX && !c->signed_by)
		return options_error(&command_store, "prune: give --max-size, --max-age or --signed-by");
	return STATUS_OK;
}

static int run_store(int argc, char **argv)
{
	struct store_command c = {.max_size = UINT64_MAX};
	unsigned i = 0;
	int status;
	if (!options_parse(&command_store, &argc, argv, &c, &status))
		return status;
	status = find_action(argv[1], &i);
	if (status != STATUS_OK)
		return status;
	int n = argc - 2;
	if (n < actions[i].least || n > actions[i].most)
		return options_error(&command_store, "%s: %s; it takes %s", actions[i].name,
				     n < actions[i].least ? "an operand is missing" : "too many operands",
				     actions[i].operands);
	status = check_options(&c, i);
	return status == STATUS_OK ? actions[i].run(&c, n, argv + 2) : status;
}

const struct command command_store = {
	.name = "store",
	.operands = "keygen|get|put|list|verify|prune [FILE...]",
	.brief = "manage a store of conversions that several hosts share",
	.summary = "Manages a store of conversions that several hosts share:\n\n"
		   "  keygen FILE             make keys: the secret one to FILE, the public one is printed\n"
		   "  get STORE OBJECT        write the conversion of an object file as GSYM\n"
		   "  put STORE OBJECT...     convert object files, and publish the conversions\n"
		   "  list DIR                print key, bytes and age in seconds of each conversion\n"
		   "  verify DIR [KEY...]     check all conversions, or some\n"
		   "  prune DIR               delete what was not used for long, or is too much\n\n"
		   "STORE is a directory DIR, https://HOST/PATH or s3://BUCKET/PREFIX",
	.options = options,
	.examples = "  gsym store keygen sign.key >> trusted.keys\n"
		    "  gsym store put --sign-key=sign.key /mnt/nfs/gsym ./app\n"
		    "  gsym store get --trusted-keys=trusted.keys /mnt/nfs/gsym ./app\n"
		    "  gsym store verify /mnt/nfs/gsym\n"
		    "  gsym store prune --max-size=200G --max-age=60 /mnt/nfs/gsym",
	.run = run_store,
};
