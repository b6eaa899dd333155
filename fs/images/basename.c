#include "fs/images/basename.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fs/name/node.h"
#include "gsym/base/invariant.h"

enum { FEW_MEMBERS = 4 };

struct basename *images_find_basename(const struct images *images, const char *name)
{
	return TABLE_FIND(struct basename, b, &images->by_basename, XXH3_64bits(name, strlen(name)),
			  strcmp(b->name, name) == 0);
}

static uint64_t member_hash(const struct basename *name, const struct image *image)
{
	uint64_t pair = (uint64_t)name->number << 32 | image->number;
	return XXH3_64bits(&pair, sizeof(pair));
}

/* Most names have one member, which is found sooner here than in the table. */
static struct name_member *find_among_few(const struct basename *name, const struct image *image)
{
	for (size_t i = 0; i < name->members.n; i++)
		if (name->members.v[i]->image == image)
			return name->members.v[i];
	return NULL;
}

static struct name_member *find_any_member(const struct images *images, const struct basename *name,
					   const struct image *image) REQUIRES(&images->lock)
{
	if (!name->hashed)
		return find_among_few(name, image);
	return TABLE_FIND(struct name_member, m, &images->by_member, member_hash(name, image),
			  m->basename == name && m->image == image);
}

struct name_member *images_find_member(const struct images *images, const struct basename *name,
				       const struct image *image)
{
	struct name_member *m = find_any_member(images, name, image);
	return m && !m->gone ? m : NULL;
}

static void member_free(struct name_member *m)
{
	if (m->basename && m == &m->basename->first)
		*m = (struct name_member){.basename = NULL};
	else
		free(m);
}

static void list_free(struct basename *b)
{
	if (b->members.v != &b->only)
		free(b->members.v);
}

/* Makes room for one more. 0 or -ENOMEM. */
static int list_reserve(struct basename *b)
{
	uint32_t cap = b->members.cap;
	if (!cap) {
		b->members.v = &b->only;
		b->members.cap = 1;
	}
	if (b->members.n < b->members.cap)
		return 0;
	struct name_member **old = cap > 1 ? b->members.v : NULL;
	struct name_member **v = cap > UINT32_MAX / 2 ? NULL : realloc(old, 2 * (size_t)cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	if (!old)
		*v = b->only;
	b->members.v = v;
	b->members.cap = 2 * cap;
	return 0;
}

/* From a few members on, they are found in the table. 0 or -ENOMEM. */
static int hash_members(struct images *images, struct basename *b) REQUIRES(&images->lock)
{
	if (b->hashed || b->members.n < FEW_MEMBERS)
		return 0;
	if (table_reserve(&images->by_member, images->by_member.n + b->members.n))
		return -ENOMEM;
	for (size_t i = 0; i < b->members.n; i++) {
		struct name_member *m = b->members.v[i];
		table_add(&images->by_member, &m->table, member_hash(b, m->image));
	}
	b->hashed = true;
	return 0;
}

static void basename_free(struct basename *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->members.n; i++)
		member_free(b->members.v[i]);
	list_free(b);
	free(b);
}

static struct basename *add_name(struct images *images, const char *name) REQUIRES(&images->lock)
{
	size_t size = strlen(name) + 1;
	struct basename *b = calloc(1, sizeof(*b) + size);
	if (b)
		memcpy(b->name, name, size);
	if (!b || slots_add(&images->names, b, &b->number)) {
		basename_free(b);
		return NULL;
	}
	uint64_t hash = XXH3_64bits(name, strlen(name));
	b->odd = inode_key_is_taken(&images->by_basename, hash);
	if (table_add(&images->by_basename, &b->table, hash)) {
		slots_remove(&images->names, b->number);
		basename_free(b);
		return NULL;
	}
	images_note_change(images);
	return b;
}

static struct name_member *add_member(struct images *images, struct basename *b, struct image *image,
				      uint32_t pass) REQUIRES(&images->lock)
{
	struct name_member *m = b->first.basename ? calloc(1, sizeof(*m)) : &b->first;
	if (!m)
		return NULL;
	m->basename = b;
	if (list_reserve(b) || hash_members(images, b) ||
	    (b->hashed && table_add(&images->by_member, &m->table, member_hash(b, image)))) {
		member_free(m);
		return NULL;
	}
	m->image = image;
	m->pass = pass;
	m->position = b->next_position++;
	b->members.v[b->members.n++] = m;
	b->alive++;
	image->members++;
	return m;
}

int basename_add(struct images *images, const char *name, struct image *image, uint32_t pass,
		 struct name_member **ret)
{
	struct basename *b = images_find_basename(images, name);
	if (!b)
		b = add_name(images, name);
	struct name_member *m = b ? find_any_member(images, b, image) : NULL;
	if (m && m->gone)
		b->alive++;
	if (b && !m)
		m = add_member(images, b, image, pass);
	if (!m)
		return -ENOMEM;
	m->gone = false;
	m->pass = pass;
	*ret = m;
	return 0;
}

int basename_add_title(struct images *images, const char *name, struct image *image, uint32_t dir,
		       uint32_t pass)
{
	struct name_member *m;
	int err = dir == PATH_NONE ? 0 : basename_add(images, name, image, pass, &m);
	if (err || dir == PATH_NONE)
		return err;
	/* Of several directories one that every user may search tells it to most. */
	if (m->title_pass != pass || caller_reaches(NULL, &images->paths, dir, false))
		m->title_dir = dir + 1;
	m->title_pass = pass;
	image->titled = true;
	return 0;
}

/* ---- Who may know of it ---- */

bool name_member_is_visible(const struct images *images, const struct name_member *member,
			    const struct caller *caller, bool listed)
{
	const struct path_file *file;
	if (member->gone)
		return false;
	if (caller && caller_sees_all(caller))
		return !member->title_dir || image_is_there(member->image);
	if (member->title_dir && image_is_there(member->image) &&
	    caller_reaches(caller, &images->paths, member->title_dir - 1, listed))
		return true;
	for (uint32_t next = member->files; next; next = file->like) {
		file = path_tree_file(&images->paths, next - 1);
		if (file->pass && caller_reaches(caller, &images->paths, file->dir, listed))
			return true;
	}
	return false;
}

enum { BUILDS_MAX = 64 }; /* of one name that are compared with a path */

/* Returns whether by-path has the file as @path, which is from the root. */
static bool is_file_at(const struct images *images, const struct path_file *file, const char *path)
	REQUIRES(&images->lock)
{
	const char *end = strrchr(path, '/'); /* of what is left to compare */
	const struct path_dir *dir = path_tree_dir(&images->paths, file->dir);
	for (; dir && dir->parent != PATH_NONE; dir = path_tree_dir(&images->paths, dir->parent)) {
		size_t size = strlen(dir->name);
		if ((size_t)(end - path) <= size || memcmp(end - size, dir->name, size) != 0 ||
		    end[-(ptrdiff_t)size - 1] != '/')
			return false;
		end -= size + 1;
	}
	return dir && end == path;
}

/* Returns whether @caller may know of the member as @path. */
static bool is_member_at(const struct images *images, const struct name_member *member,
			 const struct caller *caller, const char *path) REQUIRES(&images->lock)
{
	const struct path_file *file;
	for (uint32_t next = *path == '/' ? member->files : 0; next; next = file->like) {
		file = path_tree_file(&images->paths, next - 1);
		if (file->pass && is_file_at(images, file, path) &&
		    (caller_sees_all(caller) || caller_reaches(caller, &images->paths, file->dir, false)))
			return true;
	}
	return false;
}

int images_find_only(const struct images *images, const char *path, const struct caller *caller,
		     struct image **ret)
{
	const char *slash = strrchr(path, '/');
	const struct basename *b =
		images->complete ? images_find_basename(images, slash ? slash + 1 : path) : NULL;
	struct image *only = NULL, *there = NULL; /* of the name; of the path */
	unsigned n = 0, n_there = 0;
	for (size_t i = 0; b && i < b->members.n; i++) {
		const struct name_member *m = b->members.v[i];
		if (!name_member_is_visible(images, m, caller, false))
			continue;
		if (++n > (*path == '/' ? BUILDS_MAX : 1))
			return -ENOTUNIQ;
		only = m->image;
		if (!is_member_at(images, m, caller, path))
			continue;
		n_there++;
		there = m->image;
	}
	if ((n_there ? n_there : n) > 1)
		return -ENOTUNIQ;
	only = n_there ? there : only;
	if (!only || !image_is_there(only))
		return -ENOENT;
	*ret = only;
	return 0;
}

bool basename_is_visible(const struct images *images, const struct basename *name,
			 const struct caller *caller, bool listed)
{
	for (size_t i = 0; i < name->members.n; i++)
		if (name_member_is_visible(images, name->members.v[i], caller, listed))
			return true;
	return false;
}

static void hide_member(struct name_member *m)
{
	invariant(m->basename->alive > 0);
	m->gone = true;
	m->basename->alive--;
}

static void remove_name(struct images *images, struct basename *b) REQUIRES(&images->lock)
{
	images_note_change(images);
	table_remove(&images->by_basename, &b->table);
	slots_remove(&images->names, b->number);
	basename_free(b);
}

/* Removes the member if nothing needs it any more, and its name likewise. */
static void release_member(struct images *images, struct name_member *m) REQUIRES(&images->lock)
{
	struct basename *b = m->basename;
	size_t i = 0;
	if (!m->gone || m->files)
		return;
	while (b->members.v[i] != m)
		i++;
	b->members.n--;
	memmove(b->members.v + i, b->members.v + i + 1, (b->members.n - i) * sizeof(*b->members.v));
	if (b->hashed)
		table_remove(&images->by_member, &m->table);
	m->image->members--;
	member_free(m);
	if (!b->members.n)
		remove_name(images, b);
}

void basename_remove_file(struct images *images, const struct path_file *file, const struct image *image)
{
	const struct basename *b = images_find_basename(images, file->name);
	struct name_member *m = b ? find_any_member(images, b, image) : NULL;
	invariant(m);
	path_tree_remove(&images->paths, file, &m->files);
	release_member(images, m);
}

static bool has_files(const struct images *images, const struct name_member *m) REQUIRES(&images->lock)
{
	const struct path_file *file;
	for (uint32_t next = m->files; next; next = file->like) {
		file = path_tree_file(&images->paths, next - 1);
		if (file->pass)
			return true;
	}
	return false;
}

void basename_forget(struct images *images, const char *name, const struct image *image)
{
	const struct basename *b = images_find_basename(images, name);
	struct name_member *m = b ? images_find_member(images, b, image) : NULL;
	if (m && !has_files(images, m))
		hide_member(m);
}

static void sweep_members(struct images *images, struct basename *b, uint32_t pass) REQUIRES(&images->lock)
{
	for (size_t i = b->members.n; i > 0; i--) {
		struct name_member *m = b->members.v[i - 1];
		if (!m->gone && m->pass != pass)
			hide_member(m);
		if (m->title_pass != pass)
			m->title_dir = 0;
		release_member(images, m); /* with the last one its name is gone */
	}
}

void basenames_sweep(struct images *images, uint32_t pass)
{
	struct basename *b;
	for (uint32_t i = 0; (b = slots_from(&images->names, &i)); i++)
		sweep_members(images, b, pass);
}

void basenames_free(struct images *images) NOT_ANALYZED
{
	struct basename *b;
	for (uint32_t i = 0; (b = slots_from(&images->names, &i)); i++)
		basename_free(b);
	slots_deinit(&images->names);
	table_deinit(&images->by_basename);
	table_deinit(&images->by_member);
}
