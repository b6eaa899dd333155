#include "work/types/image_kind.h"

#include <stddef.h>
#include <string.h>

const struct image_traits image_traits[IMAGE_KINDS_END] = {[IMAGE_OTHER] = {.word = "other"},
#define KIND_TRAITS(kind, reader, word, richness, ending, readers) \
	[IMAGE_##kind] = {word, ending, richness, readers},
							   IMAGE_KINDS(KIND_TRAITS)
#undef KIND_TRAITS
};

const char *const richness_words[] = {
#define RICHNESS_WORD(name, word) [SOURCE_##name] = word,
	SOURCE_RICHNESS(RICHNESS_WORD)
#undef RICHNESS_WORD
};

enum image_kind image_kind_single(const uint8_t magic[static 4])
{
	return memcmp(magic, "\177ELF", 4) == 0 ? IMAGE_ELF : IMAGE_OTHER;
}
