/*
 * answer.h - the content of the files of an image.
 */
#ifndef FS_ANSWER_H
#define FS_ANSWER_H

#include "content.h"
#include "gsymfs.h"
#include "handle.h"
#include "name.h"

/*
 * The frames of request->address, as text. -ENOENT when no function covers it (unless unknown=print); -EIO
 * when the converted file is damaged; -ENOMEM.
 */
int answer_make(struct gsymfs *fs, struct revision *rev, struct handle *handle, const struct request *request,
		struct content **ret);

/*
 * The file status: lines of key, tab, value; with @json, info.json: the same as an object. Never starts or waits
 * for anything. NULL without memory.
 */
struct content *status_make(struct gsymfs *fs, struct revision *rev, bool json);

#endif
