/*
 * Runs one operation of an engine, for tests against servers.
 *
 *	engine_driver [OPTION...] ADDRESS OPERATION [-- OPERATION...]
 *
 * with the operations get NAME FILE, head NAME, put NAME FILE, delete NAME
 *
 * and the options --absent, --match=ETAG, --max=BYTES, --bearer=FILE, --netrc=FILE,
 * --cert=FILE, --key=FILE, --ca=FILE, limits --connect=MS --stall=MS --whole=MS, and
 * --cancel=MS after which transfers are canceled; --threads=N does all by so many at once. Prints lines
 * "err NAME", "size N", "now N", "modified N", "etag TEXT", "begun N", "text TEXT".
 */
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/client/store_address.h"
#include "store/transfer/engine.h"
#include "gsym/base/vec.h"
#include "work/worker/worker.h"
#include "tests/unit/times_slower.h"

static struct {
	struct store_options options;
	struct transfer_limits limits;
	enum store_condition condition;
	const char *etag;
	uint64_t max;
	unsigned cancel, threads;
} settings = {
	.limits = {60000, 60000, 60000}, /* for a busy machine: tests of a limit set theirs */
	.max = 1 << 20,
	.threads = 1,
};

static atomic_bool canceled;

static void count_begun(const struct transfer *transfer)
{
	unsigned *n = transfer->user;
	(*n)++;
}

static void *cancel_later(void *unused)
{
	(void)unused;
	usleep(settings.cancel * 1000);
	atomic_store(&canceled, true);
	return NULL;
}

enum {
	OPTION_ABSENT = 256,
	OPTION_MATCH,
	OPTION_MAX,
	OPTION_BEARER,
	OPTION_NETRC,
	OPTION_CERT,
	OPTION_KEY,
	OPTION_CA,
	OPTION_CONNECT,
	OPTION_STALL,
	OPTION_WHOLE,
	OPTION_CANCEL,
	OPTION_THREADS,
};
static const struct option long_options[] = {
	{"absent", 0, NULL, OPTION_ABSENT},   {"match", 1, NULL, OPTION_MATCH},
	{"max", 1, NULL, OPTION_MAX},         {"bearer", 1, NULL, OPTION_BEARER},
	{"netrc", 1, NULL, OPTION_NETRC},     {"cert", 1, NULL, OPTION_CERT},
	{"key", 1, NULL, OPTION_KEY},         {"ca", 1, NULL, OPTION_CA},
	{"connect", 1, NULL, OPTION_CONNECT}, {"stall", 1, NULL, OPTION_STALL},
	{"whole", 1, NULL, OPTION_WHOLE},     {"cancel", 1, NULL, OPTION_CANCEL},
	{"threads", 1, NULL, OPTION_THREADS}, {NULL, 0, NULL, 0}};

static void set_limit(int option)
{
	unsigned *const to[] = {&settings.limits.connect, &settings.limits.stall, &settings.limits.whole,
				&settings.cancel, &settings.threads};
	*to[option - OPTION_CONNECT] = (unsigned)strtoul(optarg, NULL, 10);
}

/* An emulator needs more time for the same. */
static void stretch_limits(void)
{
	struct transfer_limits *l = &settings.limits;
	unsigned *const limits[] = {&l->connect, &l->stall, &l->whole};
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		*limits[i] *= times_slower();
}

static void set_file(int option)
{
	const char **const to[] = {&settings.options.bearer_file, &settings.options.netrc_file,
				   &settings.options.cert_file, &settings.options.key_file,
				   &settings.options.ca_file};
	*to[option - OPTION_BEARER] = optarg;
}

static void parse(int argc, char **argv)
{
	int option;
	while ((option = getopt_long(argc, argv, "+", long_options, NULL)) != -1) {
		if (option == OPTION_ABSENT)
			settings.condition = STORE_IF_ABSENT;
		else if (option == OPTION_MAX)
			settings.max = strtoull(optarg, NULL, 10);
		else if (option >= OPTION_CONNECT)
			set_limit(option);
		else if (option >= OPTION_BEARER)
			set_file(option);
		else if (option == OPTION_MATCH)
			settings.condition = STORE_IF_MATCH, settings.etag = optarg;
		else
			exit(2);
	}
	stretch_limits();
}

static const char *error_name(int err)
{
	return err == 0 ? "0" : strerrorname_np(-err);
}

static enum store_operation find_operation(const char *name)
{
	static const char *const names[] = {"get", "head", "put", "delete"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (enum store_operation)i;
	exit(2);
}

static void print_reply(const struct store_reply *reply, int err, unsigned n_begun)
{
	printf("err %s\nsize %llu\nnow %lld\nmodified %lld\netag %s\nbegun %u\ntext %s\n", error_name(err),
	       (unsigned long long)reply->size, (long long)reply->now, (long long)reply->modified,
	       reply->etag, n_begun, reply->text);
	if (err != reply->err)
		puts("the reply has another error");
}

static void set_file_of(struct transfer *transfer, const char *path)
{
	struct stat st;
	const bool is_put = transfer->operation == STORE_PUT;
	transfer->fd = open(path, is_put ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (transfer->fd < 0 || fstat(transfer->fd, &st))
		exit(2);
	transfer->size = is_put ? (uint64_t)st.st_size : settings.max;
}

struct work {
	const struct engine_type *type;
	void *engine;
	char **args; /* after the address, of several operations with "--" between them */
	atomic_uint n_threads;
};

static void run_once(const struct work *work, unsigned slot, char **args)
{
	unsigned n_begun = 0;
	struct transfer transfer = {.condition = settings.condition,
				    .etag = settings.etag,
				    .fd = -1,
				    .limits = settings.limits,
				    .canceled = &canceled,
				    .begun = count_begun,
				    .user = &n_begun,
				    .slot = slot};
	transfer.operation = find_operation(args[0]);
	transfer.name = args[1];
	if (args[2])
		set_file_of(&transfer, args[2]);
	int err = work->type->run(work->engine, &transfer);
	print_reply(&transfer.reply, err, n_begun);
	if (transfer.fd >= 0)
		close(transfer.fd);
}

static void *run_all(void *user)
{
	struct work *work = user;
	const unsigned slot = atomic_fetch_add(&work->n_threads, 1);
	for (char **args = work->args; *args;) {
		char *operation[4] = {NULL};
		size_t n = 0;
		for (; *args && strcmp(*args, "--") != 0; args++)
			if (n < 3)
				operation[n++] = *args;
		run_once(work, slot, operation);
		args += *args != NULL;
	}
	return NULL;
}

static void run_threads(struct work *work)
{
	pthread_t threads[WORKER_STORE_TRANSFERS];
	unsigned n = 0;
	while (n < settings.threads && n < ARRAY_SIZE(threads) &&
	       pthread_create(&threads[n], NULL, run_all, work) == 0)
		n++;
	while (n > 0)
		pthread_join(threads[--n], NULL);
}

int main(int argc, char **argv)
{
	struct gsym_diag diag = {0};
	void *engine = NULL;
	pthread_t thread;
	parse(argc, argv);
	if (argc - optind < 2)
		return 2;
	settings.options.address = argv[optind];
	const struct engine_type *type =
		strncmp(settings.options.address, "s3:", 3) == 0 ? &s3_engine : &http_engine;
	int err = store_options_check(&settings.options, &diag); /* as the client does */
	if (!err)
		err = type->open(&settings.options, &engine, &diag);
	if (err) {
		printf("open %s\ntext %s\n", error_name(err), diag.text);
		return 1;
	}
	if (settings.cancel && pthread_create(&thread, NULL, cancel_later, NULL) == 0)
		pthread_detach(thread);
	run_threads(&(struct work){type, engine, argv + optind + 1, 0});
	type->close(engine);
	return 0;
}
