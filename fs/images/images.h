/*
 * images.h - what SOURCE holds: images by id, the files they come from, their base names.
 *
 * An image is an id. Files with that id are its sources; the best of them is converted, together with one
 * that has the code if it has only debug data. An image with its chosen files is a revision: what the kernel
 * is told about a revision stays true, because a source that changes makes a new revision with new inode
 * numbers. Most images are never looked into, so a revision is made when something is asked of it; until then
 * its image knows its version, which is in the inode number of its directory. Images, names and paths are
 * removed when their files are gone, and revisions when another one takes their place.
 *
 * A request that has found a revision or an image uses it without the lock, but from inside images.readers.
 * What keeps one for longer pins it: inodes and open files, until they are gone.
 *
 * Here are the types; what is done with them is in catalogue.h, image_find.h, revision.h and basename.h.
 *
 * Locking: one mutex, images.lock, guards what is declared here but for atomics and @readers; what
 * the headers of fs/convert, background.h, runners.h, remote.h and stream.h say it does; the list of streams
 * in answers.h; and all lists of parked calls. It is never held over a system call that can block, a FUSE
 * reply, or a conversion. Its place in the lock order is in enum lock_rank (mutex.h).
 *
 * Names, paths and the queue have no mutex of their own: a scan adds a file's image, name and path in one
 * step that no lookup may see half done, and a lookup goes from a name or path to image, revision and queue.
 * Whoever held one of these mutexes would take the next.
 */
#ifndef FS_IMAGES_IMAGES_H
#define FS_IMAGES_IMAGES_H

#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include "work/os/mutex.h"
#include "work/types/image_identity.h"
#include "gsym/base/vec.h"
#include "work/cache/cache.h"
#include "gsym/base/list.h"
#include "fs/name/name.h"
#include "fs/images/path_tree.h"
#include "fs/sys/slots.h"
#include "fs/sys/readers.h"
#include "gsym/base/hash_table.h"
#include "gsym/render/listing.h"

struct scan_request;
struct call;

/* A file of SOURCE. */
struct source {
	char *path; /* below SOURCE; absolute if it was fetched */
	dev_t dev;
	ino_t ino;
	uint64_t size;
	int64_t mtime_ns, ctime_ns;
	uid_t uid;
	gid_t gid;
	uint16_t mode; /* read permissions only, for others none if they cannot reach the file */
	uint16_t
		mode_seen; /* the same of all paths that scan @pass has met so far; becomes mode at its end */
	enum richness richness : 8;
	enum image_kind kind : 8;
	bool has_text;        /* the code, which a separate debug file lacks */
	bool has_lost;        /* the file lacks bytes: another of equal content is preferred */
	bool id_is_truncated; /* the file has only the beginning of the build id */
	bool chosen;          /* it is the image's source, */
	bool chosen_binary;   /* or its binary, see struct revision */
	bool fetched;         /* no source has it: it is in the directory of the client of debuginfod */
	uint8_t root;         /* which of several sources has it: the first one wins */
	char arch[16];
	uint8_t htlhash[HTLHASH_SIZE]; /* see struct image_identity */
	char *go_id;                   /* or NULL: none */
	uint32_t pass;                 /* of the scan that saw it last */
};

enum revision_state {
	STATE_COLD,    /* never requested, or closed again */
	STATE_OPENING, /* waits for, or is in, a lookup in the cache */
	STATE_QUEUED,  /* waits for its conversion */
	STATE_CONVERTING,
	STATE_READY,
	STATE_FAILED, /* not retried before @again */
	STATES,
};

enum { FRAGMENTS_MAX = 16 /* of a revision; an image that is asked for more is asked often */ };

/* An image with its chosen files. */
struct revision {
	/* These never change once the revision was exposed or has left STATE_COLD. */
	uint32_t number;
	uint32_t stamp;          /* the generation of its inode numbers */
	uint64_t ino;            /* that of the directory of its image */
	struct table_link table; /* by ino_place() of its inode numbers */
	struct image *image;
	struct source source; /* with its own copy of the path */
	struct source binary; /* likewise: the image's file with the code, when @source is its debug file;
				 else no path */
	struct cache_key key;
	_Atomic uint64_t pins; /* how many there are and, in the upper half, how many there were */

	/* Guarded by images.lock, which no annotation can name: there is no pointer to it here. */
	/* Another revision has taken its place; read without the lock, too: */
	atomic_bool stale;
	_Atomic int64_t stale_since; /* monotonic_ms() when that happened; 0: it did not */
	struct list retired;         /* in images.retired, then in images.leaving */
	uint64_t pins_seen;          /* in the latter: @pins at the begin of the grace period */
	enum revision_state state;
	struct handle *handle; /* in STATE_READY */
	/* What the image has at addresses that were asked before it was converted, see fragments.h. */
	unsigned n_fragments, fragments_made; /* that there are, and were made so far */
	bool whole;          /* wanted: fragments are not enough, or it is to be converted anyway */
	bool passed_on;      /* in STATE_CONVERTING: a worker of its own makes further fragments, */
	bool served;         /* and there is a thread for that */
	bool hurried;        /* likewise: an answer waits that fragments do not have */
	struct list waiters; /* calls parked until the state settles */
	struct list link;    /* in a queue of @requester, until a thread takes it */
	uid_t requester;     /* the first user who needed it */
	bool ahead;          /* requested ahead of need: no call waits for it yet */
	uint8_t given_up;    /* conversions of an idle host that were, see idle.h */
	int failure;         /* in STATE_FAILED: negative errno */
	int64_t again;       /* in STATE_FAILED: from then on, like @used, it counts as cold; 0: never */
	char *inputs;        /* in STATE_FAILED: what was missing then, see inputs.h; or NULL */
	size_t inputs_size;
	char *reason;       /* message of the last failure, or NULL */
	unsigned passing;   /* failures of the machine in a row, the last one among them; else 0 */
	uint64_t told;      /* outcome.told of the last failure; 0: none since it was ready */
	int64_t complained; /* last words in the log about the open image, like @used */
	unsigned crashes;   /* of workers */
	uint64_t gsym_size; /* size of image.gsym once it was ready, else 0 */
	uint64_t table_sizes[LISTINGS]; /* of the tables that were measured, else 0 */
	double seconds;                 /* the last conversion took */
	int64_t used;                   /* last lookup, seconds of CLOCK_REALTIME_COARSE */
	bool fresh;                     /* in STATE_READY: not used yet */

	atomic_uint progress; /* per cent, while converting */
	_Atomic pid_t worker; /* that converts it, 0 = none */
	/* In STATE_CONVERTING: another host has the lease, as far as is known, and no worker was started. */
	atomic_bool elsewhere;
};

struct image {
	struct table_link table;
	uint32_t number;
	uint32_t version;           /* of its chosen files, in inode numbers; see stable.h: */
	uint32_t versions;          /* counted ones that there were */
	uint32_t versions_used;     /* bit set of parts of choices: those that a version was made of */
	unsigned conversions;       /* started since the mount */
	uint32_t paths;             /* in by-path that lead to it */
	uint32_t members;           /* in by-name */
	uint32_t pins;              /* revisions that there are, and open files */
	bool kept;                  /* pointers to it may be used without the lock */
	bool leaving;               /* in images.leaving_images */
	bool touched;               /* pinned since the grace period began */
	bool odd;                   /* its key is its number, see node.h */
	bool titled;                /* it has had a name of its own, see basename_add_title() */
	VEC(struct source) sources; /* none: it is gone */
	uint64_t choice;            /* fingerprint of the chosen files; 0: none */
	struct revision *revision;  /* NULL: nothing was asked of it yet */
	struct cache_count count;   /* of its file in the cache, when that was looked at last */
	char id[];
};

static inline bool image_is_there(const struct image *image)
{
	return image->sources.n != 0;
}

/* An image in by-name/<basename>. */
struct name_member {
	struct table_link table;
	struct basename *basename;
	struct image *image;
	uint32_t position; /* in listings */
	uint32_t pass;     /* of the scan that saw a file of that name last */
	uint32_t files;    /* in by-path: the first plus one, see path_file.like; 0: none */
	/* A name of the image's own: the directory, plus one, of a file that tells it, and of which scan. */
	uint32_t title_dir, title_pass;
	bool gone; /* until its files are removed, too */
};

struct basename {
	struct table_link table;
	uint32_t number;
	uint32_t alive; /* members that are not gone */
	uint32_t next_position;
	bool odd;    /* its key is its number, see node.h */
	bool hashed; /* there are, or were, many members, and by_member has them */
	/* Most names have one member: it and the list of it take no memory of their own. */
	struct {
		struct name_member **v;
		uint32_t n, cap;
	} members;
	struct name_member *only;
	struct name_member first; /* one of them, unless it has no basename */
	char name[];
};

struct images {
	struct mutex lock; /* guards what is annotated with it, and more, see above */
	struct table by_id GUARDED_BY(&lock);
	struct table by_other_id GUARDED_BY(&lock);   /* see other_ids.h */
	bool has_other_ids GUARDED_BY(&lock);         /* that table is made */
	struct slots all GUARDED_BY(&lock);           /* image */
	VEC(struct image *) sorted GUARDED_BY(&lock); /* by id, those with numbers below */
	uint32_t sorted_to GUARDED_BY(&lock);
	/* A bit for each hash of an id: such an image was asked for something, and is gone; see stable.h. */
	uint64_t gone[2048] GUARDED_BY(&lock);
	struct slots revisions GUARDED_BY(&lock); /* revision */
	struct table by_place GUARDED_BY(&lock);  /* the same, see struct revision */
	struct list retired GUARDED_BY(&lock);    /* stale revisions */
	struct list leaving GUARDED_BY(&lock);    /* those that can be found no more, see image_release.h */
	VEC(struct image *) leaving_images GUARDED_BY(&lock);
	size_t leaving_begun GUARDED_BY(&lock); /* those of them that the grace period is for */
	struct grace grace GUARDED_BY(&lock);
	struct readers readers; /* threads that use revisions and images without the lock */
	struct table by_basename GUARDED_BY(&lock);
	struct table
		by_member GUARDED_BY(&lock);  /* name_member by base name and image, where there are many */
	struct slots names GUARDED_BY(&lock); /* basename */
	struct path_tree paths GUARDED_BY(&lock);
	VEC(struct revision *) ready GUARDED_BY(&lock); /* those in STATE_READY */
	bool scanned GUARDED_BY(&lock);  /* the first scan is over: no call waits for it any more */
	bool complete GUARDED_BY(&lock); /* a scan has seen all of SOURCE */
	int absent GUARDED_BY(
		&lock); /* errno for what is not there: -ENOENT, or why the last scan does not know */
	bool hashing GUARDED_BY(&lock); /* files without an id are being hashed: more images are to come */
	uint64_t findings GUARDED_BY(&lock); /* calls of images_add() so far */
	_Atomic int64_t
		changed; /* when images or base names came, changed or went last: nanoseconds, 0: never */
	struct list scan_waiters GUARDED_BY(&lock); /* calls parked until it is, or until their id appears */
	VEC(struct scan_request) scan_requests GUARDED_BY(&lock); /* not taken yet */
	uint64_t scan_request_numbers GUARDED_BY(&lock);          /* given out so far */
	atomic_uint n_scan_requests;             /* scan_requests.n, to be read without the lock */
	struct list fragments GUARDED_BY(&lock); /* of all revisions, the oldest first */
	size_t n_fragments GUARDED_BY(&lock), fragment_bytes GUARDED_BY(&lock);
	size_t inputs_bytes GUARDED_BY(&lock); /* of all revisions */
	atomic_uint converting;                /* revisions in STATE_QUEUED or STATE_CONVERTING */
	uint64_t places;                       /* fingerprint of where neighbours may be; set like @merged */
	uint64_t salt;                         /* and of what else decides what answers say; likewise */
	bool merged;        /* all functions that share a range are kept; set before the first file */
	unsigned ready_max; /* revisions in STATE_READY; set likewise */
	/* Parks calls until their revision is open, see struct wait; set before the first request. */
	int (*open)(void *opener, struct call *call);
	void *opener;
	/*
	 * Moves calls that wait elsewhere for the image @id, which was found in SOURCE, to @woken; after a
	 * scan those for any image that is there, however they spelled its id, with @id NULL. With the lock;
	 * set before the first file; NULL: no calls do.
	 */
	void (*found)(void *finder, const char *id, struct list *woken);
	void *finder;
};

/* Listings of the root or of by-name are others from now on. With the lock; it is read without. */
static inline void images_note_change(struct images *images)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	atomic_store(&images->changed, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
}

#endif
