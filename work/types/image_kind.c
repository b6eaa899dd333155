#include "work/types/image_kind.h"

#include <stddef.h>

const struct image_traits image_traits[IMAGE_KINDS_END] = {[IMAGE_OTHER] = {.word = "other"},
#define KIND_TRAITS(kind, reader, word, richness, ending) [IMAGE_##kind] = {word, ending, richness},
							   IMAGE_KINDS(KIND_TRAITS)
#undef KIND_TRAITS
};

const char *const richness_words[] = {
#define RICHNESS_WORD(name, word) [SOURCE_##name] = word,
	SOURCE_RICHNESS(RICHNESS_WORD)
#undef RICHNESS_WORD
};
