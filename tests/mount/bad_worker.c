/*
 * A worker taken over by a hostile file. It scans like the real one, by becoming it, and does the harm that
 * the environment variable BAD_WORKER_ACT names when it should convert.
 *
 * As a zygote, it forks such workers; or workers that are ended, or stopped, before their client knows of
 * them, while the zygote lives, is ended as well, or is stopped. Those that the client then starts are real.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work/worker/fork_loop.h"
#include "work/worker/worker.h"
#include "gsym/base/vec.h"

static void send_raw(const void *data, size_t size)
{
	if (send(WORKER_SOCKET_FD, data, size, MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void write_output(const char *text, size_t size)
{
	if (write(WORKER_OUTPUT_FD, text, size) < 0)
		_exit(1);
}

static void send_done(uint64_t size)
{
	struct worker_done m = {.output_size = size};
	worker_send(WORKER_SOCKET_FD, &m.head, WORKER_DONE, -1);
}

static void send_failed(int err, const char *text)
{
	struct worker_failed m = {.error = err};
	snprintf(m.text, sizeof(m.text), "%s", text);
	worker_send(WORKER_SOCKET_FD, &m.head, WORKER_FAILED, -1);
}

static void nothing(void)
{
}

static void status_3(void)
{
	_exit(3);
}

static void crash(void)
{
	signal(SIGSEGV, SIG_DFL); /* past the handler of a sanitizer */
	raise(SIGSEGV);
}

static void hang(void)
{
	for (;;)
		pause();
}

static void burn(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

static void short_message(void)
{
	send_raw("x", 1);
	hang();
}

static void long_message(void)
{
	static const char zeros[100000];
	send_raw(zeros, sizeof(zeros));
	hang();
}

/* Questions without end, and ways out. */
static void ask_much(void)
{
	static const char *const paths[] = {"/etc/shadow", "/proc/self/mem", "../../etc/passwd", "",
					    "/",           "relative"};
	union worker_message got;
	int fd;
	for (unsigned i = 0; i < 20000; i++) {
		struct worker_open m = {0};
		snprintf(m.path, sizeof(m.path), "%s", paths[i % (sizeof(paths) / sizeof(*paths))]);
		if (worker_send(WORKER_SOCKET_FD, &m.head, WORKER_OPEN, -1) ||
		    worker_receive(WORKER_SOCKET_FD, &got, &fd) != 1 || got.head.type != WORKER_OPENED)
			_exit(1);
		if (fd >= 0 || !got.opened.error) {
			send_failed(EIO, "a way out");
			return;
		}
	}
	send_failed(EBADMSG, "no way out");
}

/* Asks servers for one file after the other. */
static void fetch_much(void)
{
	union worker_message got;
	int fd;
	for (unsigned i = 0; i < 5; i++) {
		struct worker_fetch m = {.id_size = 20, .id = {(uint8_t)(i + 1)}};
		if (worker_send(WORKER_SOCKET_FD, &m.head, WORKER_FETCH, -1) ||
		    worker_receive(WORKER_SOCKET_FD, &got, &fd) != 1 || got.head.type != WORKER_OPENED)
			_exit(1);
	}
	send_failed(EBADMSG, "enough");
}

static void unknown_type(void)
{
	struct worker_header m = {.type = 99, .size = sizeof(m)};
	send_raw(&m, sizeof(m));
	hang();
}

static void wrong_size(void)
{
	struct worker_done m = {.head = {.type = WORKER_DONE, .size = 5}};
	send_raw(&m, sizeof(m));
	hang();
}

static void no_end_of_text(void)
{
	struct worker_failed m = {.head = {.type = WORKER_FAILED, .size = sizeof(m)}, .error = EIO};
	memset(m.text, 'A', sizeof(m.text));
	send_raw(&m, sizeof(m));
	hang();
}

static void progress_beyond_end(void)
{
	struct worker_progress m = {.done = 5, .total = 3};
	worker_send(WORKER_SOCKET_FD, &m.head, WORKER_PROGRESS, -1);
	hang();
}

static void twice_done(void)
{
	send_done(0);
	send_done(0);
	hang();
}

static void empty_output(void)
{
	send_done(0);
}

static void size_lie(void)
{
	write_output("GSYM", 4);
	send_done(1000000);
}

static void noise_output(void)
{
	static const char noise[5000] = "GSYM but no more than that";
	write_output(noise, sizeof(noise));
	send_done(sizeof(noise));
}

static void escapes(void)
{
	send_failed(EBADMSG, ".debug_info+0x12: \033[31mred\nforged\tline");
}

static void warnings(void)
{
	struct worker_warning m = {.count = 1, .kind = "odd\nforged\tvalue"};
	for (int i = 0; i < 5000; i++)
		worker_send(WORKER_SOCKET_FD, &m.head, WORKER_WARNING, -1);
	send_failed(ENODATA, "nothing to tell");
}

static void descriptors(void)
{
	struct worker_progress m = {.total = 1};
	for (int i = 0; i < 100; i++)
		worker_send(WORKER_SOCKET_FD, &m.head, WORKER_PROGRESS, 0);
	send_failed(ENODATA, "nothing to tell");
}

static void memory(void)
{
	struct worker_failed m = {.error = ENOMEM, .at_limit = 1, .text = "out of memory"};
	worker_send(WORKER_SOCKET_FD, &m.head, WORKER_FAILED, -1);
}

static void machine_memory(void)
{
	send_failed(ENOMEM, "out of memory");
}

static void disk(void)
{
	send_failed(ENOSPC, "cannot write");
}

static void device(void)
{
	send_failed(ENXIO, "no such device");
}

struct act {
	const char *name;
	void (*run)(void);
};

static const struct act acts[] = {
	{"nothing", nothing},
	{"status-3", status_3},
	{"crash", crash},
	{"hang", hang},
	{"burn", burn},
	{"short-message", short_message},
	{"long-message", long_message},
	{"unknown-type", unknown_type},
	{"wrong-size", wrong_size},
	{"no-end-of-text", no_end_of_text},
	{"progress-beyond-end", progress_beyond_end},
	{"twice-done", twice_done},
	{"empty-output", empty_output},
	{"size-lie", size_lie},
	{"noise-output", noise_output},
	{"escapes", escapes},
	{"ask-much", ask_much},
	{"fetch-much", fetch_much},
	{"warnings", warnings},
	{"descriptors", descriptors},
	{"memory", memory},
	{"machine-memory", machine_memory},
	{"disk", disk},
	{"device", device},
};

/* ---- Zygotes ---- */

/* The worker's end closes the last copy of its socket, unless the zygote keeps its own. */
static void fork_one(int worker_signal)
{
	union worker_message msg;
	int sock;
	if (worker_receive(WORKER_SOCKET_FD, &msg, &sock) != 1)
		_exit(0);
	if (syscall(SYS_clone, (unsigned long)CLONE_PARENT | SIGCHLD, 0UL, 0UL, 0UL, 0UL) == 0)
		raise(worker_signal);
	close(sock);
}

static void fork_dead(void)
{
	for (;;)
		fork_one(SIGKILL);
}

static void fork_dead_and_die(void)
{
	fork_one(SIGKILL);
	raise(SIGKILL);
}

static void fork_stopped(void)
{
	for (;;)
		fork_one(SIGSTOP);
}

static void fork_stopped_and_stop(void)
{
	fork_one(SIGSTOP);
	raise(SIGSTOP);
}

static const struct act zygotes[] = {
	{"fork-dead", fork_dead},
	{"fork-dead-and-die", fork_dead_and_die},
	{"fork-stopped", fork_stopped},
	{"fork-stopped-and-stop", fork_stopped_and_stop},
};

/* NULL if @harm is none of the @n ones. */
static const struct act *find_act(const struct act *list, size_t n, const char *harm)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, harm) == 0)
			return &list[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const char *harm = getenv("BAD_WORKER_ACT"), *gsym = getenv("GSYM");
	if (argc < 3 || !harm || !gsym)
		return 2;
	bool zygote = strcmp(argv[2], "zygote") == 0;
	const struct act *act = find_act(acts, ARRAY_SIZE(acts), harm),
			 *fork_act = find_act(zygotes, ARRAY_SIZE(zygotes), harm);
	if (!zygote && (fork_act || strcmp(argv[2], "convert") != 0)) {
		execv(gsym, argv);
		return 2;
	}
	struct worker_ready ready = {.protocol = WORKER_PROTOCOL};
	union worker_message order;
	worker_send(WORKER_SOCKET_FD, &ready.head, WORKER_READY, -1);
	if (zygote && fork_act)
		fork_act->run();
	if (zygote && fork_loop_run() != 1)
		return 0;
	if (worker_receive(WORKER_SOCKET_FD, &order, NULL) != 1)
		return 1;
	if (act)
		act->run();
	return 0;
}
