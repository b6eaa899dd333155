/*
 * The process that reads and writes a store: its messages, its threads and its end. It is a child of the
 * test, which is its client. Linked with --wrap.
 */
#include "tests/unit/store/transfer/store_child_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/client/store.h"
#include "tests/lib/unit.h"
#include "work/worker/worker.h"

enum {
	SERIAL = 100, /* of transfers that are held, and their number */
	ASKED = 1000, /* of others */
	LIMIT_MS = 4321,
	HUNG_SECONDS = 100,
};

/* ---- A client ---- */

static struct {
	pid_t pid;
	int sock;
} served;

static void start_process(void)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	fflush(NULL);
	served.pid = fork();
	assert_true(served.pid >= 0);
	if (!served.pid) {
		alarm(HUNG_SECONDS);
		close(pair[0]);
		_exit(store_child_serve(pair[1]));
	}
	close(pair[1]);
	served.sock = pair[0];
}

/* Its exit status, or 128 and the signal. */
static int await_end(void)
{
	int status;
	close(served.sock);
	assert_int_equal(waitpid(served.pid, &status, 0), served.pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void expect_end(int status)
{
	assert_int_equal(await_end(), status);
}

/* The process closes the socket, not the client. */
static void expect_end_by_itself(int status)
{
	union worker_message msg;
	int got = worker_receive(served.sock, &msg, NULL);
	assert_true(got == 0 || got == -ECONNRESET);
	expect_end(status);
}

static struct worker_reply receive_reply(uint64_t serial)
{
	union worker_message msg;
	assert_int_equal(worker_receive(served.sock, &msg, NULL), 1);
	assert_int_equal(msg.head.type, WORKER_REPLY);
	assert_int_equal(msg.head.serial, serial);
	return msg.reply;
}

static struct worker_reply open_store(const struct worker_store *config)
{
	struct worker_store m = *config;
	m.head.serial = 7;
	start_process();
	assert_int_equal(worker_send(served.sock, &m.head, WORKER_STORE, -1), 0);
	return receive_reply(7);
}

static const struct worker_store directory = {.address = "/store"};

static int set_up(void **state)
{
	(void)state;
	memset(&with, 0, sizeof(with));
	alarm(HUNG_SECONDS);
	return 0;
}

static void begin(void)
{
	assert_int_equal(open_store(&directory).error, 0);
}

/* A request whose name says what happens, without a file or with @fd. */
static void send_request(uint64_t serial, unsigned operation, const char *name, int fd)
{
	struct worker_request m = {
		.head.serial = serial, .operation = operation, .size = REQUEST_SIZE, .ms = LIMIT_MS};
	snprintf(m.name, sizeof(m.name), "%s", name);
	assert_int_equal(worker_send(served.sock, &m.head, WORKER_REQUEST, fd), 0);
}

static struct worker_reply ask(unsigned operation, const char *name, int fd)
{
	static uint64_t serial = ASKED;
	send_request(++serial, operation, name, fd);
	return receive_reply(serial);
}

static void send_cancel(uint64_t serial, int fd)
{
	struct worker_cancel m = {.head.serial = serial};
	assert_int_equal(worker_send(served.sock, &m.head, WORKER_CANCEL, fd), 0);
}

/* A file of which the test can tell whether the process has closed it; it is readable once it is told. */
static int make_file(int *ret_other)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	*ret_other = pair[0];
	return pair[1];
}

static void expect_closed(int other)
{
	char byte;
	assert_int_equal(recv(other, &byte, 1, MSG_DONTWAIT), 0);
	close(other);
}

/* ---- Starting ---- */

TEST(starting)
{
	static const struct {
		struct worker_store config;
		const char *credentials, *reply, *steps;
	} table[] = {
		{{.address = "/a"}, "c", "/a - - - - -", "limits 1024 0 all directory sandbox of /a"},
		{{.address = "http://h/a", .bearer_file = "b", .ca_file = "a"},
		 "c",
		 "http://h/a b - - - a",
		 "limits 1024 0 all http sandbox with b - - - a -"},
		{{.address = "https://h/a", .netrc_file = "n", .cert_file = "c", .key_file = "k"},
		 NULL,
		 "https://h/a - n c k -",
		 "limits 1024 0 all http sandbox with - n c k - -"},
		{{.address = "s3://bucket/a", .ca_file = "a"},
		 "credentials",
		 "s3://bucket/a - - - - a",
		 "limits 1024 0 all s3 sandbox with - - - - a credentials"},
		{{.address = "s3://bucket/a"},
		 NULL,
		 "s3://bucket/a - - - - -",
		 "limits 1024 0 all s3 sandbox with - - - - - -"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		with.credentials = table[i].credentials;
		struct worker_reply reply = open_store(&table[i].config);
		assert_int_equal(reply.error, 0);
		assert_string_equal(reply.text, table[i].reply);
		assert_string_equal(ask(STORE_HEAD, "steps", -1).text, table[i].steps);
		expect_end(0);
	}
}

/* It says why, and ends. */
TEST(cannot_start)
{
	with.limits_err = -EPERM;
	struct worker_reply reply = open_store(&directory);
	assert_int_equal(reply.error, EPERM);
	assert_string_equal(reply.text, "cannot set the limits of the process");
	expect_end_by_itself(1);
	with.limits_err = 0;
	with.open_err = -ELIBACC;
	reply = open_store(&directory);
	assert_int_equal(reply.error, ELIBACC);
	assert_string_equal(reply.text, "/store - - - - -");
	expect_end_by_itself(1);
	with.open_err = -EBADMSG;
	reply = open_store(&directory);
	assert_int_equal(reply.error, EBADMSG);
	assert_int_equal(strlen(reply.text), sizeof(reply.text) - 1);
	expect_end_by_itself(1);
}

TEST(no_store)
{
	struct worker_store m = directory;
	start_process();
	expect_end(1);
	start_process();
	send_request(SERIAL, STORE_HEAD, "steps", -1);
	expect_end_by_itself(1);
	start_process();
	assert_int_equal(worker_send(served.sock, &m.head, WORKER_STORE, served.sock), 0);
	expect_end_by_itself(1);
}

/* ---- Requests ---- */

#define LIMITS "1000 20000 4321, goes on"

TEST(transfers)
{
	static const struct {
		unsigned operation;
		const char *name;
		bool has_file;
		const char *want;
	} table[] = {
		{STORE_GET, "tell", true, "0 0 'tell' '' file 17, " LIMITS},
		{STORE_HEAD, "tell", false, "1 0 'tell' '' no 17, " LIMITS},
		{STORE_PUT, "tell", true, "2 0 'tell' '' file 17, " LIMITS},
		{STORE_DELETE, "tell", false, "3 0 'tell' '' no 17, " LIMITS},
	};
	begin();
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		int other = -1, fd = table[i].has_file ? make_file(&other) : -1;
		struct worker_reply reply = ask(table[i].operation, table[i].name, fd);
		close(fd);
		assert_string_equal(reply.text, table[i].want);
		assert_int_equal(reply.error, 0);
		if (other >= 0)
			expect_closed(other);
	}
	expect_end(0);
}

TEST(conditions)
{
	struct worker_request m = {.head.serial = SERIAL,
				   .operation = STORE_DELETE,
				   .condition = STORE_IF_MATCH,
				   .ms = 1,
				   .name = "tell",
				   .etag = "\"tag\""};
	begin();
	assert_int_equal(worker_send(served.sock, &m.head, WORKER_REQUEST, -1), 0);
	assert_string_equal(receive_reply(SERIAL).text, "3 2 'tell' '\"tag\"' no 0, 1000 20000 1, goes on");
	expect_end(0);
}

TEST(replies)
{
	union worker_message msg;
	begin();
	struct worker_reply reply = ask(STORE_HEAD, "fails", -1);
	assert_int_equal(reply.error, EREMOTEIO);
	assert_int_equal(reply.size, 3);
	assert_int_equal(strlen(reply.text), 255);
	send_request(SERIAL, STORE_HEAD, "begun", -1);
	assert_int_equal(worker_receive(served.sock, &msg, NULL), 1);
	assert_int_equal(msg.head.type, WORKER_BEGUN);
	assert_int_equal(msg.head.serial, SERIAL);
	reply = receive_reply(SERIAL);
	assert_int_equal(reply.error, 0);
	assert_int_equal(reply.size, 456);
	assert_int_equal(reply.now, 789);
	assert_int_equal(reply.modified, -12);
	assert_string_equal(reply.text, "");
	expect_end(0);
}

/* Only what the client may receive, and send back, is sent. */
TEST(tags)
{
	static const char *const lengths[] = {"long/1", "long/126", "long/127"};
	begin();
	for (unsigned i = 0; known_etags[i]; i++) {
		char name[16];
		snprintf(name, sizeof(name), "etag/%u", i);
		assert_string_equal(ask(STORE_HEAD, name, -1).etag, i < GOOD_ETAGS ? known_etags[i] : "");
	}
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		assert_int_equal(strlen(ask(STORE_HEAD, lengths[i], -1).etag), atoi(lengths[i] + 5));
	assert_string_equal(ask(STORE_HEAD, "long/128", -1).etag, "");
	expect_end(0);
}

/* ---- Several at once ---- */

static int held[WORKER_STORE_TRANSFERS]; /* the other ends of their files */

static void expect_begun(uint64_t serial)
{
	union worker_message msg;
	assert_int_equal(worker_receive(served.sock, &msg, NULL), 1);
	assert_int_equal(msg.head.type, WORKER_BEGUN);
	assert_int_equal(msg.head.serial, serial);
}

/* A transfer with the serial number SERIAL + @i that goes on until it is let go. */
static void begin_held(unsigned i)
{
	int fd = make_file(&held[i]);
	send_request(SERIAL + i, STORE_GET, "hold", fd);
	close(fd);
	expect_begun(SERIAL + i);
}

static void let_go(unsigned i)
{
	assert_int_equal(send(held[i], "x", 1, MSG_NOSIGNAL), 1);
}

static void expect_outcome(unsigned i, int error)
{
	assert_int_equal(receive_reply(SERIAL + i).error, error);
	close(held[i]);
}

/* As many as are allowed; one that ends makes room for another before its reply is there. */
TEST(several)
{
	begin();
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		begin_held(i);
	for (unsigned round = 0; round < 3 * WORKER_STORE_TRANSFERS; round++) {
		unsigned i = round % WORKER_STORE_TRANSFERS;
		let_go(i);
		expect_outcome(i, 0);
		begin_held(i);
	}
	/* A client that sends one more violates the protocol; it is told. */
	int other, fd = make_file(&other);
	struct worker_reply reply = ask(STORE_GET, "tell", fd);
	close(fd);
	expect_closed(other);
	assert_int_equal(reply.error, EBUSY);
	assert_string_equal(reply.text, "cannot start a thread");
	assert_int_equal(ask(STORE_HEAD, "tell", -1).error, EBUSY);
	for (unsigned i = WORKER_STORE_TRANSFERS; i-- > 0;) {
		let_go(i);
		expect_outcome(i, 0);
	}
	expect_end(0);
}

TEST(canceling)
{
	begin();
	for (unsigned i = 0; i < WORKER_STORE_TRANSFERS; i++)
		begin_held(i);
	send_cancel(SERIAL + 99, -1); /* of a transfer that has ended */
	send_cancel(SERIAL + WORKER_STORE_TRANSFERS - 1, -1);
	expect_outcome(WORKER_STORE_TRANSFERS - 1, ECANCELED);
	send_cancel(SERIAL, -1);
	expect_outcome(0, ECANCELED);
	/* The next in its place has nothing to do with that. */
	assert_string_equal(ask(STORE_HEAD, "tell", -1).text, "1 0 'tell' '' no 17, " LIMITS);
	for (unsigned i = 1; i < WORKER_STORE_TRANSFERS - 1; i++) {
		let_go(i);
		expect_outcome(i, 0);
	}
	expect_end(0);
}

TEST(no_thread)
{
	with.fails_at = 2;
	begin();
	begin_held(0);
	int other, fd = make_file(&other);
	struct worker_reply reply = ask(STORE_PUT, "tell", fd);
	close(fd);
	assert_int_equal(reply.error, EBUSY);
	assert_string_equal(reply.text, "cannot start a thread");
	expect_closed(other);
	/* Neither those that run nor the next are concerned. */
	assert_int_equal(ask(STORE_HEAD, "threads", -1).size, 3);
	let_go(0);
	expect_outcome(0, 0);
	expect_end(0);
}

/* ---- The end ---- */

/* The client sends no more: what is under way is cancelled, and answered before the process ends. */
TEST(ends_its_side)
{
	begin();
	for (unsigned i = 0; i < 3; i++)
		begin_held(i);
	let_go(1);
	expect_outcome(1, 0);
	shutdown(served.sock, SHUT_WR);
	bool first_is_0 = true;
	union worker_message msg;
	for (unsigned n = 0; n < 2; n++) {
		assert_int_equal(worker_receive(served.sock, &msg, NULL), 1);
		assert_int_equal(msg.head.type, WORKER_REPLY);
		assert_int_equal(msg.reply.error, ECANCELED);
		first_is_0 = n ? first_is_0 : msg.head.serial == SERIAL;
		assert_int_equal(msg.head.serial, SERIAL + (first_is_0 == !n ? 0 : 2));
	}
	assert_int_equal(worker_receive(served.sock, &msg, NULL), 0);
	close(held[0]);
	close(held[2]);
	expect_end(0);
}

/* The client has gone: nothing can be answered. */
TEST(client_has_gone)
{
	begin();
	begin_held(0);
	expect_end(1);
	close(held[0]);
}

/* The process ends at once: what is under way is not answered. */
TEST(wrong_messages)
{
	struct worker_store store = directory;
	struct worker_ready ready = {.protocol = WORKER_PROTOCOL};
	for (unsigned wrong = 0; wrong < 11; wrong++) {
		with.no_stdin = wrong % 2;
		begin();
		send_request(SERIAL, STORE_DELETE, "hold", -1);
		expect_begun(SERIAL);
		switch (wrong / 2) {
		case 0: send_request(SERIAL, STORE_GET, "tell", -1); break;
		case 1: send_request(SERIAL, STORE_HEAD, "tell", served.sock); break;
		case 2: send_cancel(SERIAL, served.sock); break;
		case 3: worker_send(served.sock, &store.head, WORKER_STORE, -1); break;
		case 4: worker_send(served.sock, &ready.head, WORKER_READY, -1); break;
		default: (void)!write(served.sock, "x", 1);
		}
		expect_end_by_itself(1);
	}
}

/* A file may have any number. */
TEST(first_descriptor)
{
	with.no_stdin = true;
	with.fails_at = 4;
	begin();
	for (unsigned round = 0; round < 2; round++) {
		int other, fd = make_file(&other);
		struct worker_reply reply = ask(STORE_GET, "tell", fd);
		assert_string_equal(reply.text, "0 0 'tell' '' file 17, " LIMITS);
		close(fd);
		expect_closed(other);
	}
	send_request(SERIAL, STORE_DELETE, "hold", -1); /* the third thread */
	expect_begun(SERIAL);
	int other, fd = make_file(&other);
	assert_int_equal(ask(STORE_GET, "tell", fd).error, EBUSY);
	close(fd);
	expect_closed(other);
	send_cancel(SERIAL, -1);
	assert_int_equal(receive_reply(SERIAL).error, ECANCELED);
	expect_end(0);
}

EACH_TEST(set_up, NULL)
