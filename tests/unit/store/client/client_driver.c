/*
 * Runs requests by the client of a store and its real process, for tests against servers: what it takes and
 * prints is that of engine_driver.c, and the gsym program is $GSYM_PROGRAM. There are no limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work/os/monotonic.h"
#include "store/client/store.h"
#include "gsym/base/vec.h"

enum { HANG_MS = 500000 };

static struct {
	struct store_options options;
	enum store_condition condition;
	const char *etag;
	uint64_t max;
} settings = {.max = 1 << 20};

static const struct option long_options[] = {
	{"absent", 0, NULL, 'a'}, {"match", 1, NULL, 'm'}, {"max", 1, NULL, 'x'},
	{"bearer", 1, NULL, 'b'}, {"netrc", 1, NULL, 'n'}, {"cert", 1, NULL, 'c'},
	{"key", 1, NULL, 'k'},    {"ca", 1, NULL, 'C'},    {NULL, 0, NULL, 0},
};

static void parse(int argc, char **argv)
{
	int option;
	while ((option = getopt_long(argc, argv, "+", long_options, NULL)) != -1) {
		switch (option) {
		case 'a': settings.condition = STORE_IF_ABSENT; break;
		case 'm': settings.condition = STORE_IF_MATCH, settings.etag = optarg; break;
		case 'x': settings.max = strtoull(optarg, NULL, 10); break;
		case 'b': settings.options.bearer_file = optarg; break;
		case 'n': settings.options.netrc_file = optarg; break;
		case 'c': settings.options.cert_file = optarg; break;
		case 'k': settings.options.key_file = optarg; break;
		case 'C': settings.options.ca_file = optarg; break;
		default: exit(2);
		}
	}
}

static enum store_operation find_operation(const char *name)
{
	static const char *const names[] = {"get", "head", "put", "delete"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (enum store_operation)i;
	exit(2);
}

static void print_reply(const struct store_reply *reply, bool begun)
{
	printf("err %s\nsize %llu\nnow %lld\nmodified %lld\netag %s\nbegun %d\ntext %s\n",
	       reply->err ? strerrorname_np(-reply->err) : "0", (unsigned long long)reply->size,
	       (long long)reply->now, (long long)reply->modified, reply->etag, begun, reply->text);
}

static void set_file(struct store_request *request, const char *path)
{
	struct stat st;
	const bool is_put = request->operation == STORE_PUT;
	request->fd = open(path, is_put ? O_RDONLY : O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (request->fd < 0 || fstat(request->fd, &st))
		exit(2);
	request->size = is_put ? (uint64_t)st.st_size : settings.max;
}

static void run_once(struct store *store, char **args)
{
	struct store_request request = {.condition = settings.condition, .etag = settings.etag, .fd = -1};
	struct store_reply reply = {.err = 0};
	request.operation = find_operation(args[0]);
	request.name = args[1];
	if (args[2])
		set_file(&request, args[2]);
	struct store_call *call = store_start(store, &request, &reply.err);
	if (call && !store_wait(call, monotonic_ms() + HANG_MS, &reply))
		reply.err = -ECANCELED;
	print_reply(&reply, !reply.err && request.operation == STORE_GET);
	store_call_end(call);
	if (request.fd >= 0)
		close(request.fd);
}

int main(int argc, char **argv)
{
	const struct log log = {.most = LOG_LEVEL_ERROR};
	static struct store_counters counters;
	struct gsym_diag diag = {""};
	struct store *store;
	parse(argc, argv);
	if (argc - optind < 2)
		return 2;
	settings.options.address = argv[optind];
	const char *program = getenv("GSYM_PROGRAM");
	int err =
		store_open(&settings.options, program ? program : "gsym", -1, &log, &counters, &store, &diag);
	if (err) {
		printf("open %s\ntext %s\n", strerrorname_np(-err), diag.text);
		return 1;
	}
	for (char **args = argv + optind + 1, **end; *args; args = end) {
		for (end = args; *end && strcmp(*end, "--") != 0;)
			end++;
		char **next = *end ? end + 1 : end;
		*end = NULL;
		run_once(store, args);
		end = next;
	}
	store_close(store);
	return 0;
}
