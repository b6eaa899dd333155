#include "fs/images/image_facts.h"

#include <string.h>
#include <sys/stat.h>

#include "fs/images/revision.h"
#include "work/cache/handle.h"

bool source_is_known(const struct source *of, const struct source *source)
{
	bool same_owner = source->uid == of->uid && source->gid == of->gid;
	return (source->mode & S_IROTH) ||
	       (!(of->mode & S_IROTH) && same_owner && !(of->mode & ~source->mode));
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* @rev: the revision of @source and @binary; NULL: there is none yet. @binary: NULL for none. */
static struct image_facts facts_of(const struct image *image, const struct revision *rev,
				   const struct source *source, const struct source *binary)
{
	bool has_name = binary && source_is_known(source, binary);
	return (struct image_facts){
		.id = image->id,
		.kind = image_traits[source->kind].word,
		.arch = source->arch,
		.name = last_part(has_name ? binary->path : source->path),
		.path = source->path,
		.state = rev ? rev->state : STATE_COLD,
		.functions = rev && rev->state == STATE_READY
				     ? gsym_reader_info(rev->handle->reader)->num_addresses
				     : 0,
	};
}

struct image_facts image_facts(const struct images *images, const struct image *image,
			       const struct caller *caller)
{
	const struct source *source = image_source(image);
	mutex_assert_held(&images->lock);
	struct image_facts facts = facts_of(image, image->revision, source, image_binary(image));
	facts.readable = caller && caller_may_read(caller, source);
	return facts;
}

struct image_facts revision_facts(const struct images *images, const struct revision *rev)
{
	mutex_assert_held(&images->lock);
	return facts_of(rev->image, rev, &rev->source, rev->binary.path ? &rev->binary : NULL);
}
