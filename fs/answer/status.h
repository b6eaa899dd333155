/* status.h - the files status and info.json of an image. */
#ifndef FS_ANSWER_STATUS_H
#define FS_ANSWER_STATUS_H

#include "fs/answer/answers.h"
#include "fs/sys/content.h"

/*
 * The file status: lines of key, tab, value; with @json, info.json: the same as an object. Starts no
 * conversion and does not block. NULL when out of memory.
 */
struct content *status_make(const struct answers *answers, struct revision *rev, bool json);

#endif
