#include "work/os/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

static const struct {
	int priority;
	const char *word;
} levels[] = {
	[LOG_LEVEL_ERROR] = {LOG_ERR, "error: "}, [LOG_LEVEL_WARNING] = {LOG_WARNING, "warning: "},
	[LOG_LEVEL_INFO] = {LOG_INFO, ""},        [LOG_LEVEL_EVENT] = {LOG_DEBUG, ""},
	[LOG_LEVEL_DEBUG] = {LOG_DEBUG, ""},
};

void log_use_syslog(struct log *log)
{
	openlog("gsymfs", LOG_PID, LOG_DAEMON);
	log->to_syslog = true;
}

void log_find_journal(struct log *log)
{
	unsigned long long dev, ino;
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat st;
	log->to_journal = stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
			  fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* Copies @from with all but printable ASCII escaped; returns the length. */
static size_t escape(char *to, size_t size, const char *from)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;
	for (; *from && n + 5 < size; from++) {
		unsigned char c = (unsigned char)*from;
		if (c >= 0x20 && c < 0x7f) {
			to[n++] = (char)c;
			continue;
		}
		to[n++] = '\\';
		to[n++] = 'x';
		to[n++] = digits[c >> 4];
		to[n++] = digits[c & 15];
	}
	to[n] = 0;
	return n;
}

static void say_to_stderr(const struct log *log, enum log_level level, const char *text)
{
	char line[LINE_MAX_BYTES + 64], priority[8] = "";
	if (log->to_journal)
		snprintf(priority, sizeof(priority), "<%d>", levels[level].priority);
	int n = snprintf(line, sizeof(line), "%s%s: %s%s\n", priority, log->program ? log->program : "gsymfs",
			 levels[level].word, text);
	/* One write(2) a line, so that lines of threads do not mix. A closed pipe is ignored. */
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

void log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	if (level > log->most)
		return;
	char text[LINE_MAX_BYTES], clean[LINE_MAX_BYTES];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	escape(clean, sizeof(clean), text);
	if (log->to_syslog)
		syslog(levels[level].priority, "%s%s", levels[level].word, clean);
	else
		say_to_stderr(log, level, clean);
}
