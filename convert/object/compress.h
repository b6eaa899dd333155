/*
 * compress.h - the libraries that decompress sections, as far as their users have to know of them. Sections
 * are decompressed by section_load() and section_reserve() of object_file.h, which compress.c defines.
 */
#ifndef CONVERT_OBJECT_COMPRESS_H
#define CONVERT_OBJECT_COMPRESS_H

/*
 * Has them find out which instructions this processor has, for which they may open files: in a sandbox they
 * could not, and would do without the fast ones.
 */
void compression_prepare(void);

#endif
