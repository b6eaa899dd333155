/* log_file.h - the file log: any log is written, and read back with its addresses explained. */
#ifndef FS_ANSWER_LOG_FILE_H
#define FS_ANSWER_LOG_FILE_H

#include "fs/answer/requester.h"
#include "fs/answer/stream.h"

/* One that was opened. Takes over @caller. NULL without memory. */
struct stream *log_file_new(struct answers *answers, struct caller caller);

#endif
