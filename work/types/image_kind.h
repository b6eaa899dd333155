/*
 * image_kind.h - the kinds of object files, and what others than their readers have to know of each.
 *
 * From a row of IMAGE_KINDS follow the value of enum image_kind, its traits, and in convert/object the
 * declaration of the reader and its place in the order of probing. Code asks for traits: those here, and
 * those of struct source_format in the converter. Only a reader names its kind, which `layers` checks.
 */
#ifndef WORK_TYPES_IMAGE_KIND_H
#define WORK_TYPES_IMAGE_KIND_H

#include <stdint.h>

/* How much a file can tell of an image, and the word for it in `status`. The higher, the better. */
#define SOURCE_RICHNESS(X)                                                         \
	X(BARE, "none")                                                            \
	X(SYMBOLS, "symbols")                                                      \
	/* functions, lines and calls, but only of code that Go's compiler made */ \
	X(GO, "go")                                                                \
	/* lines and calls, but names were demangled by another tool */            \
	X(BREAKPAD, "breakpad")                                                    \
	/* all that lookups need, from another converter */                        \
	X(GSYM, "gsym")                                                            \
	X(DWARF, "dwarf")                                                          \
	/* the program, which completes it, may have DWARF besides */              \
	X(PDB, "pdb")

enum richness {
#define RICHNESS_VALUE(name, word) SOURCE_##name,
	SOURCE_RICHNESS(RICHNESS_VALUE)
#undef RICHNESS_VALUE
};

/* Names the parts of the converter that have a revision each (convert_revision.h). */
enum reader {
	READER_COMMON, /* has a part in all conversions */
	READER_ELF,
	READER_MACHO,
	READER_PE,
	READER_PDB,
	READER_BREAKPAD,
	READER_DWARF,
	READER_GO,
	READERS,
	READS_CODE = 1 << READER_DWARF | 1 << READER_GO, /* have a part in programs of any format */
};

/*
 * X(kind, reader, word, richness, ending, readers)
 *
 * @reader:   convert/object has a struct source_format of this name and "_format"
 * @word:     in the file `status`
 * @richness: of all such files; SOURCE_BARE: what they have tells it
 * @ending:   PROGRAM with this ending is used for PROGRAM in preference to richer files; NULL: none is
 * @readers:  what may have a part in the conversion of such a file, or of one that completes it
 *
 * The index of the scan has the numbers: a new row comes last. No file may begin like one of two kinds.
 */
#define IMAGE_KINDS(X)                                                                    \
	X(ELF, elf, "elf", SOURCE_BARE, NULL, READS_CODE | 1 << READER_ELF)               \
	X(MACHO, macho, "mach-o", SOURCE_BARE, NULL, READS_CODE | 1 << READER_MACHO)      \
	/* text symbols of Breakpad */                                                    \
	X(BREAKPAD, breakpad, "breakpad", SOURCE_BREAKPAD, NULL, 1 << READER_BREAKPAD)    \
	X(GSYM_FILE, gsym, "gsym", SOURCE_BARE, ".gsym", 0)                               \
	/* PE (COFF): Windows and EFI */                                                  \
	X(PE, pe, "pe", SOURCE_BARE, NULL, READS_CODE | 1 << READER_PE | 1 << READER_PDB) \
	/* debug data of a PE file, by Microsoft's linker and others */                   \
	X(PDB, pdb, "pdb", SOURCE_PDB, NULL, READS_CODE | 1 << READER_PE | 1 << READER_PDB)

enum image_kind {
	IMAGE_OTHER, /* not an object file: no error, most files are not */
#define KIND_VALUE(kind, ...) IMAGE_##kind,
	IMAGE_KINDS(KIND_VALUE)
#undef KIND_VALUE
		IMAGE_KINDS_END,
	IMAGE_KIND_LAST = IMAGE_KINDS_END - 1,
};

struct image_traits {
	const char *word, *ending;
	enum richness richness;
	unsigned readers; /* 1 << enum reader each */
};

extern const struct image_traits image_traits[IMAGE_KINDS_END];

/*
 * The kind of a file that begins with @magic, if such files hold one image only; else IMAGE_OTHER: all
 * formats but ELF have containers of several.
 */
enum image_kind image_kind_single(const uint8_t magic[static 4]);

/* The word for each in `status`. */
extern const char *const richness_words[];

#endif
