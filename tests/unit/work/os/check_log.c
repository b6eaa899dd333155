/* Lines of the log: which are written, with which words before them, and that no name can forge one. */
#include "work/os/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static FILE *file; /* in place of standard error */
static char in_syslog[128];

void __wrap_syslog(int priority, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* With _FORTIFY_SOURCE. */
void __wrap___syslog_chk(int priority, int flag, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void __wrap_openlog(const char *ident, int options, int facility)
{
	assert_string_equal(ident, "gsymfs");
	assert_int_equal(options, LOG_PID);
	assert_int_equal(facility, LOG_DAEMON);
}

static void note(int priority, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));

static void note(int priority, const char *fmt, va_list args)
{
	int n = snprintf(in_syslog, sizeof(in_syslog), "<%d>", priority);
	vsnprintf(in_syslog + n, sizeof(in_syslog) - (size_t)n, fmt, args);
}

void __wrap_syslog(int priority, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	note(priority, fmt, args);
	va_end(args);
}

void __wrap___syslog_chk(int priority, int flag, const char *fmt, ...)
{
	va_list args;
	(void)flag;
	va_start(args, fmt);
	note(priority, fmt, args);
	va_end(args);
}

static int set_up(void **state)
{
	(void)state;
	file = tmpfile();
	return file ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return fclose(file);
}

/* What is written for @text. */
static const char *said(const struct log *log, enum log_level level, const char *text)
{
	static char line[8192];
	fflush(stderr);
	int before = dup(STDERR_FILENO);
	assert_true(before >= 0);
	assert_int_equal(ftruncate(fileno(file), 0), 0);
	assert_int_equal(lseek(fileno(file), 0, SEEK_SET), 0);
	dup2(fileno(file), STDERR_FILENO);
	log_say(log, level, "%s", text);
	dup2(before, STDERR_FILENO);
	close(before);
	ssize_t n = pread(fileno(file), line, sizeof(line) - 1, 0);
	assert_in_range(n, 0, sizeof(line) - 1);
	line[n] = 0;
	return line;
}

TEST(levels)
{
	static const char *const words[] = {"error: ", "warning: ", "", "", ""};
	char want[64];
	for (int most = LOG_LEVEL_ERROR; most <= LOG_LEVEL_DEBUG; most++)
		for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
			const struct log log = {.most = (enum log_level)most};
			snprintf(want, sizeof(want), "gsymfs: %sx\n", words[level]);
			assert_string_equal(said(&log, (enum log_level)level, "x"),
					    level <= most ? want : "");
		}
	const struct log log = {.program = "gsym"};
	assert_string_equal(said(&log, LOG_LEVEL_ERROR, "x"), "gsym: error: x\n");
}

TEST(escaped)
{
	const struct log log = {.most = LOG_LEVEL_INFO};
	assert_string_equal(said(&log, LOG_LEVEL_INFO, "a\nb\x1b[1m\x7f\x1f ~\xc3\xa4"),
			    "gsymfs: a\\x0ab\\x1b[1m\\x7f\\x1f ~\\xc3\\xa4\n");
}

/* Cut where a line ends, not within an escape. */
TEST(long_lines)
{
	enum { MOST = 4096 };
	static char text[2 * MOST];
	const struct log log = {.most = LOG_LEVEL_INFO};
	memset(text, 'a', sizeof(text) - 1);
	const char *line = said(&log, LOG_LEVEL_INFO, text);
	size_t n = strlen(line);
	assert_in_range(n, MOST - 16, MOST + 16);
	assert_int_equal(line[n - 1], '\n');
	assert_int_equal(line[n - 2], 'a');
	memset(text, '\n', sizeof(text) - 1);
	line = said(&log, LOG_LEVEL_INFO, text);
	n = strlen(line);
	assert_in_range(n, MOST - 16, MOST + 16);
	assert_string_equal(line + n - 5, "\\x0a\n");
}

/* The journal takes the priority from the beginning of a line. */
TEST(journal)
{
	static const char *const want[] = {"<3>gsymfs: error: x\n", "<4>gsymfs: warning: x\n",
					   "<6>gsymfs: x\n", "<7>gsymfs: x\n", "<7>gsymfs: x\n"};
	struct log log = {.most = LOG_LEVEL_DEBUG, .to_journal = true};
	char stream[64];
	struct stat st;
	for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++)
		assert_string_equal(said(&log, (enum log_level)level, "x"), want[level]);
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
	log.to_journal = false;
	log_find_journal(&log);
	assert_true(log.to_journal);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev + 1,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_find_journal(&log);
	assert_false(log.to_journal);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino + 1);
	setenv("JOURNAL_STREAM", stream, 1);
	log_find_journal(&log);
	assert_false(log.to_journal);
	log.to_journal = true;
	setenv("JOURNAL_STREAM", "none", 1);
	log_find_journal(&log);
	assert_false(log.to_journal);
	unsetenv("JOURNAL_STREAM");
	log.to_journal = true;
	log_find_journal(&log);
	assert_false(log.to_journal);
}

TEST(system_log)
{
	static const char *const want[] = {"<3>error: a\\x0a", "<4>warning: a\\x0a", "<6>a\\x0a", "<7>a\\x0a",
					   "<7>a\\x0a"};
	struct log log = {.most = LOG_LEVEL_DEBUG};
	log_use_syslog(&log);
	for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
		assert_string_equal(said(&log, (enum log_level)level, "a\n"), "");
		assert_string_equal(in_syslog, want[level]);
	}
}

TEST(slashes)
{
	const struct log one = {.from_root = false}, several = {.from_root = true};
	assert_string_equal(log_slash(&one), "");
	assert_string_equal(log_slash(&several), "/");
}

EACH_TEST(set_up, tear_down)
