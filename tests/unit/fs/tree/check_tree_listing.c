/* Listings of a small tree: what is in them for whom, and where one goes on after a reply that was full. */
#include "tests/lib/root_names.h"
#include "tests/lib/unit.h"
#include "tests/unit/fs/tree/tree_lookup_fixture.h"

#include "fs/tree/ops.h"

#define WORD(name) name " "
#define ROOT       ROOT_NAMES(WORD)
/* An image that is not open has these. */
#define CLOSED "status info.json q approximate base off ra rva sym why "

TEST(listings)
{
	uint32_t top = t.f->top;
	lists(INO_ROOT, ". .. " ROOT);
	lists(INO_BY_NAME, ". .. ");
	lists(INO_BY_PATH, ". .. ");
	put_new(t.f, debug_file());
	put_two();
	enter_dir("sub", top, 0555);
	put_as(t.f, SIMILAR, called("similar", 50));
	scan_over();
	lists(INO_ROOT, ". .. " ROOT ID " " OTHER_ID " " SIMILAR " ");
	lists(INO_BY_NAME, ". .. debug fat similar ");
	lists(found(INO_BY_NAME, "debug"), ". .. " CLOSED ID " ");
	lists(found(INO_BY_NAME, "fat"), ". .. " ID " " OTHER_ID " ");
	lists(INO_BY_PATH, ". .. debug fat sub ");
	lists(found(INO_BY_PATH, "sub"), ". .. similar ");
	lists(found(INO_BY_PATH, "fat"), ". .. " ID " " OTHER_ID " ");
	uint64_t image = found(INO_ROOT, ID);
	lists(image, ". .. " CLOSED);
	open_image(ID);
	lists(image, ". .. status info.json q image.gsym functions.tsv lines.tsv files.tsv "
		     "approximate base off ra rva sym why ");
	lists(found(image, "rva"), ". .. ");
	/* Nothing is listed again from behind the last one. */
	struct shown shown = {.n = 0};
	struct fuse_file_info info = {0};
	ops_readdir(NULL, image, 8192, 1000, &info);
	read_entries(&shown, false);
	assert_int_equal(shown.n, 0);
	ops_readdir(NULL, image, 8192, -1, &info);
	read_entries(&shown, false);
	assert_int_equal(shown.n, 16);
}

/* Positions that clients invent do not begin a listing anew, also where size_t has 32 bits. */
TEST(invented_positions)
{
	static const off_t positions[] = {1000, (off_t)UINT32_MAX + 2, ((off_t)1 << 32) + 3, INT64_MAX};
	put_new(t.f, debug_file());
	scan_over();
	const uint64_t directories[] = {INO_ROOT, INO_BY_NAME, INO_BY_PATH, found(INO_ROOT, ID)};
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		for (size_t k = 0; k < ARRAY_SIZE(positions); k++) {
			struct shown shown = {.n = 0};
			struct fuse_file_info info = {0};
			ops_readdir(NULL, directories[i], 8192, positions[k], &info);
			read_entries(&shown, false);
			assert_int_equal(shown.n, 0);
		}
}

/* A reply that all entries just fit into has them; with attributes it tells the kernel sizes of q and log. */
TEST(exact_replies)
{
	struct fuse_file_info info = {0};
	for (int plus = 0; plus < 2; plus++) {
		void (*list)(fuse_req_t, fuse_ino_t, size_t, off_t, struct fuse_file_info *) =
			plus ? ops_readdirplus : ops_readdir;
		struct shown all = {.n = 0}, less = {.n = 0};
		atomic_store(&t.tree.sizes_told, 0);
		list(NULL, INO_ROOT, 8192, 0, &info);
		assert_int_equal(atomic_load(&t.tree.sizes_told), plus ? 2 : 0);
		size_t size = data_size;
		list(NULL, INO_ROOT, size, 0, &info);
		assert_int_equal(data_size, size);
		read_entries(&all, plus);
		assert_int_equal(all.n, 11);
		list(NULL, INO_ROOT, size - 1, 0, &info);
		read_entries(&less, plus);
		assert_int_equal(less.n, 10);
	}
}

/* What is gone is not listed any more, and what is hidden not for others. */
TEST(changed_listings)
{
	uint32_t top = t.f->top;
	put_new(t.f, debug_file());
	put_two();
	enter_dir("private", top, 0500);
	put_as(t.f, SIMILAR, called("secret", 50));
	scan_over();
	lists(INO_BY_NAME, ". .. debug fat secret ");
	uint64_t secret = found(INO_BY_NAME, "secret"), fat = found(INO_BY_PATH, "fat");
	t.caller = (struct fuse_ctx){.uid = STRANGER, .gid = STRANGER};
	lists(INO_BY_NAME, ". .. debug fat ");
	lists(secret, ". .. ");
	t.caller = (struct fuse_ctx){.uid = OWNER, .gid = GROUP};
	lists(secret, ". .. " CLOSED SIMILAR " ");
	/* The next scan meets one image of two, and not the others. */
	t.f->top = top;
	put_as(t.f, OTHER_ID, called("fat", 60));
	scanned(t.f, 0);
	lists(INO_ROOT, ". .. " ROOT OTHER_ID " ");
	lists(INO_BY_NAME, ". .. fat ");
	lists(INO_BY_PATH, ". .. fat ");
	lists(fat, ". .. " OTHER_ID " ");
	assert_int_equal(ino_kind(found(INO_BY_PATH, "fat")), NODE_PATH_LINK);
	missing(fat, ID);
	missing(INO_BY_PATH, "debug");
	missing(INO_BY_PATH, "private");
}

EACH_TEST(tree_set_up, tree_tear_down)
