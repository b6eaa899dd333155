/* temp_directory.h - removes the directory of a test. */
#ifndef TESTS_UNIT_TEMP_DIRECTORY_H
#define TESTS_UNIT_TEMP_DIRECTORY_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *place)
{
	(void)st, (void)kind, (void)place;
	return remove(path);
}

/* Removes @path with all that is in it; 0 if it is gone. */
static inline int remove_tree(const char *path)
{
	return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
