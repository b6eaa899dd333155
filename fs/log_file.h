/* log_file.h - the file log: any log is written, and read back with its addresses explained. */
#ifndef FS_LOG_FILE_H
#define FS_LOG_FILE_H

#include "asker.h"
#include "stream.h"

/* One that was opened. Takes over @caller. NULL without memory. */
struct stream *log_file_new(struct gsymfs *fs, struct caller caller);

#endif
