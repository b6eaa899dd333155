/*
 * "gsym worker": the daemon's helper, which reads object files so that the daemon need not.
 *
 * The protocol is work/worker/worker.h. A worker limits itself and enters its sandbox before it looks at
 * the first byte of a file, and reaches files only through descriptors: it requests them from its client,
 * which decides, opens them and passes the descriptor.
 */
#include "cli/command/commands.h"
#include "cli/command/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "convert/convert.h"
#include "convert/object/object_file.h"
#include "convert/identity/identity.h"
#include "work/os/monotonic.h"
#include "work/os/mutex.h"
#include "work/types/memory_limit.h"
#include "work/worker/fork_loop.h"
#include "work/worker/worker.h"
#include "gsym/base/sanitizer.h"
#include "store/transfer/store_child.h"
#include "cli/worker/worker_commands.h"
#include "work/sandbox/sandbox.h"
#include "work/types/packed_name.h"

enum {
	PROGRESS_INTERVAL_MS = 100,
	THREAD_STACK = 8 << 20, /* counted by RLIMIT_DATA, once a thread */
	IDENTIFY_MEMORY = 1 << 30,
	DEBUG_DIRS_MAX = 64,
};

/* Stands for the name of the file in diagnostics of identification. */
static const char unnamed[] = "file";

static pid_t client;

/* Copies a diagnosis without the path it begins with: the client knows it. */
static void copy_text(char *to, size_t size, const char *text, const char *path)
{
	size_t n = strlen(path);
	if (strncmp(text, path, n) == 0 && strncmp(text + n, ": ", 2) == 0)
		text += n + 2;
	snprintf(to, size, "%.*s", (int)size - 1, text);
}

struct progress_message {
	uint64_t serial;
	int64_t last_ms;
};

/* Reports bytes where they are known: units differ much in size. */
static int send_progress(void *user, const struct convert_progress *progress)
{
	struct progress_message *p = user;
	uint64_t total = progress->bytes_total ? progress->bytes_total : progress->total;
	uint64_t done = progress->bytes_total ? progress->bytes_done : progress->done;
	int64_t now = monotonic_ms();
	if (now - p->last_ms < PROGRESS_INTERVAL_MS)
		return 0;
	p->last_ms = now;
	struct worker_progress m = {
		.head.serial = p->serial,
		.phase = progress->phase,
		.done = done < total ? done : total,
		.total = total,
	};
	return worker_send(WORKER_SOCKET_FD, &m.head, WORKER_PROGRESS, -1);
}

/* @text: what it was; where that is empty, as without memory for more, the error's own description. */
static int send_failed(uint64_t serial, int err, const char *text, const char *path)
{
	struct worker_failed m = {
		.head.serial = serial,
		.error = -err,
		.at_limit = err == -ENOMEM && memory_limit_is_reached(),
	};
	copy_text(m.text, sizeof(m.text), *text ? text : strerror(-err), path);
	return worker_send(WORKER_SOCKET_FD, &m.head, WORKER_FAILED, -1);
}

static int send_warnings(uint64_t serial, const struct convert_summary *s)
{
	int err = 0;
	for (size_t i = 0; i < s->n_warnings && !err; i++) {
		struct worker_warning m = {.head.serial = serial, .count = s->warnings[i].count};
		snprintf(m.kind, sizeof(m.kind), "%s", s->warnings[i].kind);
		snprintf(m.effect, sizeof(m.effect), "%s", s->warnings[i].effect);
		snprintf(m.first, sizeof(m.first), "%s", s->warnings[i].first);
		err = worker_send(WORKER_SOCKET_FD, &m.head, WORKER_WARNING, -1);
	}
	return err;
}

static int send_missing(uint64_t serial, const struct convert_summary *s)
{
	int err = 0;
	for (size_t at = 0; at < s->missing_size && !err; at += strlen(s->missing + at) + 1) {
		struct worker_missing m = {.head.serial = serial};
		snprintf(m.name, sizeof(m.name), "%s", s->missing + at);
		err = worker_send(WORKER_SOCKET_FD, &m.head, WORKER_MISSING, -1);
	}
	return err;
}

static int send_sections(uint64_t serial, const struct convert_summary *s)
{
	int err = 0;
	for (size_t i = 0; i < s->n_sections && !err; i++) {
		struct worker_section m = {
			.head.serial = serial, .addr = s->sections[i].addr, .size = s->sections[i].size};
		snprintf(m.name, sizeof(m.name), "%s", s->sections[i].name);
		err = worker_send(WORKER_SOCKET_FD, &m.head, WORKER_SECTION, -1);
	}
	return err;
}

static int send_segments(uint64_t serial, const struct convert_summary *s)
{
	int err = 0;
	for (size_t i = 0; i < s->n_segments && !err; i++) {
		const struct convert_segment *from = &s->segments[i];
		struct worker_segment m = {
			.head.serial = serial, .off = from->off, .addr = from->addr, .size = from->size};
		err = worker_send(WORKER_SOCKET_FD, &m.head, WORKER_SEGMENT, -1);
	}
	return err;
}

static int send_done(uint64_t serial, const struct convert_summary *s)
{
	struct worker_done m = {
		.head.serial = serial,
		.output_size = s->output_size,
		.functions = s->functions,
		.functions_dwarf = s->functions_dwarf + s->functions_go + s->functions_pdb +
				   s->functions_text + s->functions_gsym,
		.functions_symbols = s->functions_symbols,
		.units = s->units,
		.image_base = s->image_base,
		.has_ada = s->has_ada,
		.is_relative = s->is_relative,
	};
	snprintf(m.arch, sizeof(m.arch), "%s", s->arch);
	snprintf(m.bounded_by, sizeof(m.bounded_by), "%s", s->bounded_by ? s->bounded_by : "");
	return worker_send(WORKER_SOCKET_FD, &m.head, WORKER_DONE, -1);
}

/* ---- What is asked first, and its answers: fragments ---- */

struct asked {
	struct convert_asked list; /* for struct convert_options */
	struct convert_address addresses[WORKER_ASKED_MAX];
	struct detail_question question;
	uint64_t serial;
};

static void take_asked(struct asked *asked, const struct worker_address *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		asked->addresses[i] =
			(struct convert_address){from[i].value, (enum address_origin)from[i].origin};
	asked->list.n = n;
}

static int send_fragment(void *user, const struct convert_fragment *fragment)
{
	const struct asked *asked = user;
	struct worker_fragment m = {
		.head.serial = asked->serial,
		.output_size = fragment->output_size,
		.image_base = fragment->image_base,
		.has_ada = fragment->has_ada,
		.n_segments = (uint32_t)fragment->n_segments,
	};
	for (size_t i = 0; i < fragment->n_segments; i++) {
		const struct convert_segment *s = &fragment->segments[i];
		m.segments[i] = (struct worker_map){s->off, s->addr, s->size};
	}
	return worker_send(WORKER_SOCKET_FD, &m.head, WORKER_FRAGMENT, -1);
}

/* No request to open a file is under way: its thread waits here. */
static int receive_next(void *user)
{
	struct asked *asked = user;
	union worker_message msg;
	int got = worker_receive(WORKER_SOCKET_FD, &msg, NULL);
	if (got != 1 || msg.head.type != WORKER_ASK)
		return got < 0 ? got : -ECANCELED;
	take_asked(asked, msg.ask.asked, msg.ask.n_asked);
	asked->question = (struct detail_question){.addr = asked->addresses[0].value,
						   .line = msg.ask.line,
						   .is_data = msg.ask.is_data,
						   .n_source = msg.ask.n_source};
	return 0;
}

/*
 * Sets up @ret with the addresses of @order. If it is for fragments only, others are received from the
 * client.
 */
static void asked_init(struct asked *ret, const struct worker_convert *order)
{
	ret->serial = order->head.serial;
	ret->list = (struct convert_asked){
		.v = ret->addresses,
		.fd = WORKER_FRAGMENT_FD,
		.ready = send_fragment,
		.next = order->purpose == WORKER_FRAGMENTS ? receive_next : NULL,
		.user = ret,
	};
	take_asked(ret, order->asked, order->n_asked);
}

/* ---- Details ---- */

static int receive_question(void *user, struct detail_question *ret)
{
	struct asked *asked = user;
	int err = receive_next(asked);
	*ret = asked->question;
	return err;
}

/* Prints as many whole lines as there is room for. */
static void put_source(struct worker_detail *m, const struct frame_detail *f)
{
	size_t n = f->source_size;
	if (n > sizeof(m->source)) {
		const char *end = memrchr(f->source, '\n', sizeof(m->source));
		n = end ? (size_t)(end + 1 - f->source) : 0;
	}
	m->source_size = (uint32_t)n;
	if (n)
		memcpy(m->source, f->source, n);
}

static int send_details(void *user, const struct frame_detail *frames, size_t n)
{
	const struct asked *asked = user;
	struct worker_detail m = {.head.serial = asked->serial};
	int err = n ? 0 : worker_send(WORKER_SOCKET_FD, &m.head, WORKER_DETAIL, -1);
	for (size_t i = 0; i < n && !err; i++) {
		const struct frame_detail *f = &frames[i];
		m.has_frame = 1;
		m.more = i + 1 < n;
		m.line = f->line;
		m.column = f->column;
		m.discriminator = f->discriminator;
		m.start_line = f->start_line;
		m.start = f->start;
		m.has_start = f->has_start;
		m.comp_size = f->comp_size;
		m.start_comp_size = f->start_comp_size;
		put_source(&m, f);
		if (strlen(f->start_dir) < sizeof(m.start_dir) &&
		    strlen(f->start_base) < sizeof(m.start_base)) {
			strcpy(m.start_dir, f->start_dir);
			strcpy(m.start_base, f->start_base);
		} else {
			m.start_dir[0] = m.start_base[0] = 0;
		}
		err = worker_send(WORKER_SOCKET_FD, &m.head, WORKER_DETAIL, -1);
	}
	return err;
}

/* ---- Files that the client opens ---- */

struct file_requests {
	const struct worker_convert *order; /* its own files are open already */
	/* Held from a request to its reply, so that one is under way at a time; guards no field. */
	struct mutex lock;
};

static int duplicate_fd(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return copy < 0 ? -errno : copy;
}

static int receive_file(void)
{
	union worker_message msg;
	int fd = -1, got = worker_receive(WORKER_SOCKET_FD, &msg, &fd);
	if (got == 1 && msg.head.type == WORKER_OPENED && !msg.opened.error && fd >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return got == 1 && msg.head.type == WORKER_OPENED && msg.opened.error ? -msg.opened.error : -EPROTO;
}

static int send_request(struct file_requests *requests, struct worker_header *request, uint32_t type)
{
	request->serial = requests->order->head.serial;
	mutex_lock(&requests->lock);
	int fd = worker_send(WORKER_SOCKET_FD, request, type, -1);
	if (!fd)
		fd = receive_file();
	mutex_unlock(&requests->lock);
	return fd;
}

static int request_path(struct file_requests *requests, const char *path, bool packed)
{
	struct worker_open request = {.path = ""};
	int n = snprintf(request.path, sizeof(request.path), "%s%s", packed ? PACKED : "", path);
	if (n < 0 || (size_t)n >= sizeof(request.path))
		return -ENAMETOOLONG;
	return send_request(requests, &request.head, WORKER_OPEN);
}

static int fetch_for_converter(void *user, const uint8_t *id, size_t size)
{
	struct worker_fetch request = {.id_size = (uint32_t)size};
	if (size > sizeof(request.id))
		return -EINVAL;
	memcpy(request.id, id, size);
	return send_request(user, &request.head, WORKER_FETCH);
}

static int open_for_converter(void *user, const char *path, bool packed)
{
	struct file_requests *requests = user;
	if (strcmp(path, requests->order->input) == 0)
		return duplicate_fd(WORKER_INPUT_FD);
	if (requests->order->has_binary && strcmp(path, requests->order->binary) == 0)
		return duplicate_fd(WORKER_BINARY_FD);
	return request_path(requests, path, packed);
}

/* Sets up @requests for @order, which is borrowed, and @ret, which refers to it. */
static void file_requests_init(struct file_requests *requests, const struct worker_convert *order,
			       struct convert_opener *ret)
{
	requests->order = order;
	mutex_init(&requests->lock, LOCK_ASK);
	*ret = (struct convert_opener){
		.open = open_for_converter,
		.fetch = order->fetch ? fetch_for_converter : NULL,
		.user = requests,
	};
}

/* ---- Conversions ---- */

static void list_dirs(const struct worker_convert *order, const char *dirs[static DEBUG_DIRS_MAX + 1])
{
	size_t n = 0;
	for (const char *at = order->debug_dirs; *at && n < DEBUG_DIRS_MAX; at += strlen(at) + 1)
		dirs[n++] = at;
	dirs[n] = NULL;
}

static int convert_and_report(const struct worker_convert *order)
{
	struct progress_message progress = {.serial = order->head.serial, .last_ms = monotonic_ms()};
	struct convert_opener opener;
	struct file_requests requests;
	const char *dirs[DEBUG_DIRS_MAX + 1];
	struct asked asked;
	file_requests_init(&requests, order, &opener);
	asked_init(&asked, order);
	list_dirs(order, dirs);
	const struct convert_details details = {receive_question, send_details, &asked};
	struct convert_options options = {
		.threads = order->threads,
		.version = (uint16_t)order->version,
		.merged = order->merged,
		.debug_dirs = dirs,
		.arch = *order->arch ? order->arch : NULL,
		.id = order->id,
		.id_size = order->id_size,
		.debug_file = order->has_binary ? order->input : NULL,
		.debug_by_id = true,
		.dwarf_first = true,
		.opener = &opener,
		.asked = order->purpose == WORKER_DETAILS ? NULL : &asked.list,
		.details = order->purpose == WORKER_DETAILS ? &details : NULL,
		.progress = send_progress,
		.progress_user = &progress,
	};
	struct convert_summary summary = {0};
	struct gsym_diag diag = {""};
	const char *path = order->has_binary ? order->binary : order->input;
	int err = convert_file(path, &options, WORKER_OUTPUT_FD, &summary, &diag);
	if (err)
		return send_failed(order->head.serial, err, diag.text, path);
	err = send_warnings(order->head.serial, &summary);
	if (!err)
		err = send_missing(order->head.serial, &summary);
	if (!err)
		err = send_sections(order->head.serial, &summary);
	if (!err)
		err = send_segments(order->head.serial, &summary);
	if (!err)
		err = send_done(order->head.serial, &summary);
	convert_summary_deinit(&summary);
	return err;
}

/* Receives the only order, enters the sandbox as far as it is not in it, converts. */
static int convert_once(bool is_forked)
{
	union worker_message msg;
	if (worker_receive(WORKER_SOCKET_FD, &msg, NULL) != 1 || msg.head.type != WORKER_CONVERT)
		return 1;
	const struct worker_convert *order = &msg.convert;
	uint64_t stacks = order->threads > 1 ? (uint64_t)order->threads * THREAD_STACK : 0, memory;
	if (__builtin_add_overflow(order->memory, stacks, &memory))
		memory = UINT64_MAX;
	int err = sandbox_limits(memory, order->cpu_seconds, order->output_size);
	if (err)
		return send_failed(order->head.serial, err, "cannot set the limits of the worker", "") ? 1
												       : 0;
	memory_limit_watch();
	if (is_forked)
		sandbox_enter_own();
	else
		sandbox_enter(client);
	return convert_and_report(order) ? 1 : 0;
}

static int work_convert(void)
{
	return convert_once(false);
}

static int work_as_zygote(void)
{
	sandbox_enter_common(client);
	int got = fork_loop_run();
	if (got != 1)
		return got ? 1 : 0;
	sandbox_die_with(client);
	int status = convert_once(true);
	if (!SANITIZER)
		_exit(status); /* without the destructors of libraries, which would copy pages */
	return status;
}

static void fill_identity(struct worker_identity *m, const struct image_identity *id)
{
	static_assert(sizeof(m->id) == sizeof(id->id) && sizeof(m->arch) == sizeof(id->arch) &&
			      sizeof(m->htlhash) == sizeof(id->htlhash) &&
			      sizeof(m->go_id) == sizeof(id->go_id),
		      "one layout");
	m->kind = id->kind;
	m->id_size = (uint32_t)id->id_size;
	memcpy(m->id, id->id, sizeof(m->id));
	m->id_is_hash = id->id_is_hash;
	m->id_is_truncated = id->id_is_truncated;
	m->has_dwarf = id->has_dwarf;
	m->has_symtab = id->has_symtab;
	m->has_gsym = id->has_gsym;
	m->has_go = id->has_go;
	m->has_text = id->has_text;
	m->has_lost = id->has_lost;
	snprintf(m->arch, sizeof(m->arch), "%s", id->arch);
	memcpy(m->htlhash, id->htlhash, sizeof(m->htlhash));
	memcpy(m->go_id, id->go_id, sizeof(m->go_id));
	snprintf(m->name, sizeof(m->name), "%s", id->name);
}

static int identify_and_report(const struct worker_identify *order, int fd)
{
	struct worker_begun begun = {.head.serial = order->head.serial};
	struct worker_identity m = {.head.serial = order->head.serial};
	struct identities found;
	struct gsym_diag diag = {""};
	int err = worker_send(WORKER_SOCKET_FD, &begun.head, WORKER_BEGUN, -1);
	if (err)
		return err;
	err = identify_descriptor(fd, unnamed, order->hash_max, &found, &diag);
	if (err) {
		m.error = -err;
		copy_text(m.text, sizeof(m.text), diag.text, unnamed);
	}
	if (found.to_hash > order->hash_max)
		m.to_hash = found.to_hash;
	if (err || m.to_hash || !found.n)
		return worker_send(WORKER_SOCKET_FD, &m.head, WORKER_IDENTITY, -1);
	copy_text(m.text, sizeof(m.text), found.lost.text, unnamed);
	for (size_t i = 0; i < found.n && !err; i++) {
		fill_identity(&m, &found.list[i]);
		m.more = i + 1 < found.n;
		err = worker_send(WORKER_SOCKET_FD, &m.head, WORKER_IDENTITY, -1);
	}
	return err;
}

static int work_scan(void)
{
	if (sandbox_limits(IDENTIFY_MEMORY, 0, 0))
		return 1;
	sandbox_enter(client);
	union worker_message msg;
	int fd, got;
	while ((got = worker_receive(WORKER_SOCKET_FD, &msg, &fd)) == 1) {
		if (msg.head.type != WORKER_IDENTIFY || fd < 0)
			return 1;
		int err = identify_and_report(&msg.identify, fd);
		close(fd);
		if (err)
			return 1;
	}
	return got == 0 ? 0 : 1;
}

/* Tells what of the sandbox holds, from inside. */
static int work_check(void)
{
	struct worker_ready ready = {.protocol = WORKER_PROTOCOL};
	sandbox_enter(client);
	ready.layers = sandbox_held();
	return worker_send(WORKER_SOCKET_FD, &ready.head, WORKER_READY, -1) ? 1 : 0;
}

static bool has_client(void)
{
	int type = 0;
	socklen_t size = sizeof(type);
	return getsockopt(WORKER_SOCKET_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

static const struct worker_mode {
	const char *name;
	int (*work)(void);
} modes[] = {
	{"convert", work_convert}, {"scan", work_scan},   {"fetch", work_fetch}, {"zygote", work_as_zygote},
	{"store", work_store},     {"swift", work_swift}, {"check", work_check},
};

static const struct worker_mode *find_mode(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strcmp(name, modes[i].name) == 0)
			return &modes[i];
	return NULL;
}

static int run_worker(int argc, char **argv)
{
	const struct worker_mode *mode = argc == 3 ? find_mode(argv[1]) : NULL;
	if (!mode || !has_client()) {
		complain("worker: internal command; it is started by its clients, such as gsymfs");
		return STATUS_USAGE;
	}
	client = (pid_t)strtol(argv[2], NULL, 10);
	sandbox_die_with(client);
	sandbox_die_first();
	struct worker_ready ready = {.protocol = WORKER_PROTOCOL};
	if (worker_send(WORKER_SOCKET_FD, &ready.head, WORKER_READY, -1))
		return STATUS_FAILED;
	compression_prepare();
	return mode->work();
}

const struct command command_worker = {
	.name = "worker",
	.run = run_worker,
};
