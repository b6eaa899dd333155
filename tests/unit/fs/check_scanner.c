/*
 * The thread that scans: at which times it walks over SOURCE or looks at what has changed. Linked with
 * --wrap.
 */
#include "scanner_fixture.h"

#include "fs/scan/scanner.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Runs until the event STOP. @seconds: between walks. */
static void run(unsigned seconds, bool watching)
{
	size_t before = count_descriptors() - with.no_stdin;
	scanner_prepare();
	scanner.interval = seconds;
	scanner.watching = watching;
	*handled = 0;
	assert_int_equal(scanner_start(&scanner), 0);
	assert_true(scanner.running);
	assert_true(fcntl(scanner.wake_fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(scanner.wake_fd, F_GETFD) & FD_CLOEXEC);
	scanner_stop(&scanner);
	assert_false(scanner.running);
	scanner_stop(&scanner);
	assert_string_equal(handled, "hash digest scan stop-hash stop-digest join stop-hash stop-digest");
	*handled = 0;
	scanner_deinit(&scanner);
	assert_string_equal(handled, "hash digest index watch");
	assert_int_equal(scanner.scan.changes.paths.n, 0);
	assert_null(scanner.scan.changes.paths.v);
	assert_int_equal(count_descriptors(), before);
}

/* What follows each walk, and each look, is left out. */
static void remove_all(const char *word)
{
	for (char *at; (at = strstr(did, word));)
		memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
}

static void run_short(unsigned seconds, bool watching, const char *want)
{
	run(seconds, watching);
	remove_all("load(0,/srv/a) load(1,/srv/b) expect(4711) ");
	remove_all("watch ");
	remove_all(" free digest release");
	remove_all(" free digest");
	remove_all(" free");
	assert_string_equal(did, want);
}

TEST(begins)
{
	scanner_reset();
	EVENTS_ARE({0, STOP});
	run(0, false);
	assert_string_equal(did, "load(0,/srv/a) load(1,/srv/b) expect(4711) 0:walk free digest release");
	scanner_reset();
	EVENTS_ARE({150, ENTRY}, {1500, STOP});
	run(1, true);
	assert_string_equal(did,
			    "load(0,/srv/a) load(1,/srv/b) expect(4711) watch 0:walk free digest release "
			    "250:looka free digest 1000:walk free digest release");
}

TEST(saves)
{
	static const struct {
		size_t unsaved, undigested;
		const char *want;
	} table[] = {{0, 0, "0:walk"}, {1, 0, "0:walk save"}, {0, 1, "0:walk save"}};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		scanner_reset();
		with.unsaved = table[i].unsaved;
		with.undigested = table[i].undigested;
		EVENTS_ARE({0, STOP});
		run_short(0, false, table[i].want);
	}
}

/* ---- Starting ---- */

TEST(cannot_start)
{
	static const struct {
		int eventfd_err, hash_err, digest_err, thread_err, want;
		const char *handled;
	} table[] = {
		{-EMFILE, 0, 0, 0, -EMFILE, ""},
		{0, -EAGAIN, 0, 0, -EAGAIN, "hash"},
		{0, 0, -ENOMEM, 0, -ENOMEM, "hash digest"},
		{0, 0, 0, EAGAIN, -EAGAIN, "hash digest scan"},
	};
	size_t before = count_descriptors();
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		scanner_reset();
		with.eventfd_err = table[i].eventfd_err;
		with.hash_err = table[i].hash_err;
		with.digest_err = table[i].digest_err;
		with.thread_err = table[i].thread_err;
		scanner_prepare();
		assert_string_equal(handled, "init-hash init-digest");
		*handled = 0;
		assert_int_equal(scanner_start(&scanner), table[i].want);
		assert_string_equal(handled, table[i].handled);
		assert_false(scanner.running);
		*handled = 0;
		scanner_stop(&scanner); /* of those that run */
		assert_string_equal(handled, "stop-hash stop-digest");
		scanner_deinit(&scanner);
		assert_int_equal(count_descriptors(), before);
	}
}

/* ---- Walks ---- */

TEST(at_intervals)
{
	scanner_reset();
	EVENTS_ARE({1999, STOP});
	run_short(1, false, "0:walk 1000:walk");
	/* None but the first, however long it takes. */
	scanner_reset();
	EVENTS_ARE({5LL * INT_MAX, STOP});
	run_short(0, false, "0:walk");
	scanner_reset();
	EVENTS_ARE({5LL * INT_MAX, STOP});
	run_short(0, true, "0:walk");
	scanner_reset();
	with.interrupts = 3;
	EVENTS_ARE({1500, STOP});
	run_short(1, true, "0:walk 1000:walk");
	scanner_reset();
	with.no_watch = true;
	EVENTS_ARE({100, ENTRY}, {1500, STOP});
	run_short(1, true, "0:walk 1000:walk");
}

/* Soon, but not within a second of the last one; one walk for all that asked before. */
TEST(on_request)
{
	scanner_reset();
	EVENTS_ARE({100, REQUEST}, {200, REQUEST}, {5000, REQUEST}, {5001, REQUEST}, {7000, STOP});
	run_short(0, false, "0:walk 1000:walk 5000:walk 6000:walk");
	/* While it is due already. */
	scanner_reset();
	EVENTS_ARE({5000, REQUEST}, {11000, STOP});
	run_short(5, false, "0:walk 5000:walk 10000:walk");
	scanner_reset();
	EVENTS_ARE({400, REQUEST}, {30000, STOP});
	run_short(10, false, "0:walk 1000:walk 11000:walk 21000:walk");
}

/* What was unknown is looked for again, ever later. */
TEST(after_failures)
{
	scanner_reset();
	for (size_t i = 0; i < 9; i++)
		with.walk_errs[i] = -EIO;
	EVENTS_ARE({1000000, STOP});
	run_short(0, false,
		  "0:walk 1000:walk 3000:walk 7000:walk 15000:walk 31000:walk 63000:walk 127000:walk "
		  "191000:walk 255000:walk");
	/* From the start after one that was complete, and never later than at the interval. */
	scanner_reset();
	with.walk_errs[0] = with.walk_errs[1] = with.walk_errs[3] = with.walk_errs[4] = -EIO;
	EVENTS_ARE({11999, STOP});
	run_short(3, false, "0:walk 1000:walk 3000:walk 6000:walk 7000:walk 9000:walk");
	scanner_reset();
	with.walk_errs[0] = with.walk_errs[1] = with.walk_errs[2] = -EIO;
	EVENTS_ARE({6000, STOP});
	run_short(2, false, "0:walk 1000:walk 3000:walk 5000:walk");
}

/* A file that was left out is due. */
TEST(at_a_limit)
{
	static const struct {
		int64_t again; /* seconds */
		unsigned interval;
		int err;
		int64_t walk; /* ms, the next one */
	} table[] = {
		{5, 0, 0, 5000},
		{5, 9, 0, 5000},
		{5, 3, 0, 3000},
		{5, 0, -EIO, 1000},
		{1, 0, 0, 1000},
		{-5, 0, 0, 1000},
		{-EPOCH + 1, 0, 0, 1000},
		{9LL * INT_MAX, 0, 0, INT_MAX * 1000LL},
		{INT_MAX, 0, 0, INT_MAX * 1000LL},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char want[64];
		if (table[i].again >= INT_MAX && sizeof(time_t) < sizeof(int64_t))
			continue; /* clocks of 32 bits end before */
		scanner_reset();
		with.again = table[i].again;
		with.walk_errs[0] = table[i].err;
		EVENTS_ARE({table[i].walk + 1, STOP});
		snprintf(want, sizeof(want), "0:walk %lld:walk", (long long)table[i].walk);
		run_short(table[i].interval, false, want);
	}
}

/* ---- Changes ---- */

/* A tenth of a second after the last one, but at most a second after the first. */
TEST(changes)
{
	scanner_reset();
	EVENTS_ARE({50, ENTRY}, {5000, STOP});
	run_short(0, true, "0:walk 150:looka");
	scanner_reset();
	EVENTS_ARE({50, ENTRY}, {100, ENTRY}, {240, ENTRY}, {5000, STOP});
	run_short(0, true, "0:walk 350:lookabc");
	scanner_reset();
	for (int64_t i = 0; i < 12; i++)
		with.events[i] = (struct scan_event){50 + 90 * i, ENTRY};
	with.events[12] = (struct scan_event){5000, STOP};
	run_short(0, true, "0:walk 1050:lookabcdefghijk 1150:looka");
	/* What has nothing to do with files, and a source that is not there. */
	scanner_reset();
	EVENTS_ARE({50, UNRELATED}, {120, ENTRY}, {5000, STOP});
	run_short(0, true, "0:walk 250:looka");
	scanner_reset();
	EVENTS_ARE({50, ENTRY}, {5000, STOP});
	source[strlen(source)] = 'x';
	run_short(0, true, "0:walk 150:looka");
	source[strlen(source) - 1] = 0;
	/* A request has nothing to do with them. */
	scanner_reset();
	EVENTS_ARE({100, REQUEST}, {110, ENTRY}, {1500, STOP});
	run_short(0, true, "0:walk 210:looka 1000:walk");
	/* The end comes first. */
	scanner_reset();
	EVENTS_ARE({50, ENTRY}, {60, STOP});
	run_short(0, true, "0:walk");
	/* Not without being told to. */
	scanner_reset();
	EVENTS_ARE({50, ENTRY}, {5000, STOP});
	run_short(0, false, "0:walk");
}

/* Descriptors may have any number: first that of the eventfd, then that of SOURCE is 0. */
TEST(first_descriptor)
{
	int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	for (int round = 0; round < 2; round++) {
		scanner_reset();
		with.no_stdin = round;
		EVENTS_ARE({50, ENTRY}, {5000, STOP});
		if (round)
			dup2(saved, STDIN_FILENO);
		else
			close(STDIN_FILENO);
		run_short(0, true, "0:walk 150:looka");
		assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	}
	dup2(saved, STDIN_FILENO);
	close(saved);
}

TEST(kinds_of_changes)
{
	static const char begin[] =
		"load(0,/srv/a) load(1,/srv/b) expect(4711) watch 0:walk free digest release ";
	static const struct {
		struct scan_event events[4];
		int look_err;
		const char *want;
	} table[] = {
		{{{50, ENTRY}, {900, STOP}}, 0, "150:looka free digest"},
		{{{50, ENTRY}, {900, STOP}}, -ECANCELED, "150:looka free digest"},
		{{{50, NEIGHBOURS}, {900, STOP}}, 0, "150:look+ free digest"},
		{{{50, EVICTED}, {900, STOP}}, 0, "150:evict free"},
		{{{50, EVICTED}, {51, ENTRY}, {900, STOP}}, 0, "250:evict 250:looka free digest"},
		/* Only a walk can tell. */
		{{{50, ALL}, {900, STOP}}, 0, "free 150:walk free digest release"},
		{{{50, ALL}, {51, ENTRY}, {900, STOP}}, 0, "free 250:walk free digest release"},
		{{{50, ENTRY}, {900, STOP}}, -EAGAIN, "150:looka free digest 150:walk free digest release"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		scanner_reset();
		memcpy(with.events, table[i].events, sizeof(table[i].events));
		with.look_err = table[i].look_err;
		run(0, true);
		assert_memory_equal(did, begin, strlen(begin));
		assert_string_equal(did + strlen(begin), table[i].want);
	}
}

/* A walk sees all changes there are: they are not looked at again. */
TEST(seen_by_walks)
{
	scanner_reset();
	EVENTS_ARE({950, ENTRY}, {1000, ENTRY}, {1500, ENTRY}, {1900, STOP});
	run_short(1, true, "0:walk 1000:walk 1600:looka");
}

/* ---- Rest ---- */

/* Nine times what the last one took, of the processor. */
TEST(rest)
{
	/* Walks, but for the first. */
	scanner_reset();
	with.first_walk = (struct scan_cost){90000000, 0, 0};
	with.walk = (struct scan_cost){100000, 20000, 3000};
	EVENTS_ARE({50, ALL}, {400, ALL}, {2000, STOP});
	run_short(0, true, "0:walk 150:walk 1257:walk");
	/* That long, unless it is due. */
	scanner_reset();
	with.walk = (struct scan_cost){1200000, 2300000, 3400000};
	EVENTS_ARE({50, ALL}, {400, ALL}, {100000, STOP});
	run_short(0, true, "0:walk 150:walk 62250:walk");
	scanner_reset();
	with.walk = (struct scan_cost){1200000, 2300000, 3400000};
	EVENTS_ARE({50, ALL}, {400, ALL}, {40000, STOP});
	run_short(30, true, "0:walk 150:walk 30150:walk");
	/* A request does not make it later. */
	scanner_reset();
	with.walk = (struct scan_cost){50000, 0, 0};
	EVENTS_ARE({50, ALL}, {200, ALL}, {320, REQUEST}, {2000, STOP});
	run_short(0, true, "0:walk 150:walk 600:walk");
	/* Looks. */
	scanner_reset();
	with.look = (struct scan_cost){10000, 20000, 30000};
	EVENTS_ARE({50, ENTRY}, {160, ENTRY}, {5000, STOP});
	run_short(0, true, "0:walk 150:looka 790:looka");
}

int main(void)
{
	strcpy(source, "/tmp/check_scanner.XXXXXX");
	if (!mkdtemp(source))
		return 1;
	int failed = unit_run();
	rmdir(source);
	return failed;
}
