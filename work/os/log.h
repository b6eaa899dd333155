/*
 * log.h - the daemon's log: standard error in the foreground, which may be the journal, else syslog.
 *
 * File names are untrusted: all but printable ASCII is escaped as \xNN, so that no file name can forge a line
 * or control a terminal.
 */
#ifndef WORK_OS_LOG_H
#define WORK_OS_LOG_H

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_EVENT, /* one of many, as a conversion: the journal and syslog can leave them out */
	LOG_LEVEL_DEBUG,
};

/* Zero-initialised: errors only, to standard error. */
struct log {
	enum log_level most; /* more verbose messages are dropped */
	bool to_syslog;
	bool to_journal; /* standard error is the journal, which parses priorities at the start of lines */
	const char *program; /* that messages begin with; NULL: gsymfs. Borrowed. */
	bool from_root;      /* paths below SOURCE are relative to "/", see log_slash() */
};

/* What messages put before a path below SOURCE: of several sources it is shown as an absolute one. */
static inline const char *log_slash(const struct log *log)
{
	return log->from_root ? "/" : "";
}

/* Detects whether standard error is connected to the journal of systemd. */
void log_find_journal(struct log *log);

/* Begins to use syslog, as gsymfs and with the process id. */
void log_use_syslog(struct log *log);

void log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define log_error(log, ...)   log_say((log), LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(log, ...) log_say((log), LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(log, ...)    log_say((log), LOG_LEVEL_INFO, __VA_ARGS__)
#define log_event(log, ...)   log_say((log), LOG_LEVEL_EVENT, __VA_ARGS__)
#define log_debug(log, ...)   log_say((log), LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
