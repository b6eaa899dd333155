/* log_file.h - the file log: a log is written, and read back with its addresses symbolized. */
#ifndef FS_ANSWER_LOG_FILE_H
#define FS_ANSWER_LOG_FILE_H

#include "fs/answer/requester.h"
#include "fs/answer/stream.h"

/* Opens the file log. Consumes @caller, on failure too. NULL when out of memory. */
struct stream *log_file_new(struct answers *answers, struct caller caller);

#endif
