/*
 * root_names.h - the names in the root of a mount beside images, in the order of listings; mount_harness.py
 * reads it, too.
 */
#ifndef TESTS_LIB_ROOT_NAMES_H
#define TESTS_LIB_ROOT_NAMES_H

#define ROOT_NAMES(X)   \
	X("by-name")    \
	X("why")        \
	X("q")          \
	X("log")        \
	X("metrics")    \
	X("status")     \
	X("images.tsv") \
	X("README")     \
	X("by-path")

#endif
