/* convert_revision.h - the revision of the converter. */
#ifndef WORK_TYPES_CONVERT_REVISION_H
#define WORK_TYPES_CONVERT_REVISION_H

enum {
	/*
	 * Part of every cache key, of the index and of the names in a shared store. Raise it with every
	 * change of the output for some input, be it a fix.
	 */
	CONVERT_REVISION = 52,
};

#endif
