/*
 * convert_run.h - one image from its object file into the cache, by a worker process.
 */
#ifndef WORK_RUN_CONVERT_RUN_H
#define WORK_RUN_CONVERT_RUN_H

#include "work/run/converter.h"

/*
 * Looks for the converted file, or for the memory of a failure. False when there is neither, and the request
 * is to be run. @is_known: clients have seen what the image was made of, so that they must be told of a
 * change with VERDICT_OUTDATED; else it is just made again.
 */
bool convert_from_cache(const struct converter *converter, const struct convert_request *request,
			bool is_known, struct outcome *ret);

/* Converts. Blocks until it is done, has failed or is told to stop. */
void convert_run(const struct converter *converter, const struct convert_request *request,
		 struct outcome *ret);

#endif
