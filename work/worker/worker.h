/*
 * worker.h - the protocol between a client, such as the daemon, and its worker processes.
 *
 * Clients never parse object files themselves. A client starts the gsym program as "gsym worker MODE PID"
 * (PID is its own) with a SOCK_SEQPACKET socket as descriptor 3 and the descriptors that the mode needs.
 * Every worker first sends WORKER_READY. Then, by mode:
 *
 * convert: one conversion, then exit.
 *   Descriptors: 4, the output, and 5, the fragment, both empty and writable; 6, the object file; 7, if the
 * order says so, another file of the same image, with its code. In: WORKER_CONVERT. Out: any number of
 * WORKER_PROGRESS; then any number of WORKER_WARNING, WORKER_MISSING, WORKER_SECTION and WORKER_SEGMENT and
 * one WORKER_DONE, or one WORKER_FAILED. Before that, at most one WORKER_FRAGMENT, after which the worker
 * leaves the fragment alone; and one request at a time: WORKER_OPEN for a file that the object file refers
 * to, or, if the order allows it, WORKER_FETCH for one from servers; each is answered with WORKER_OPENED,
 * with the file attached.
 *   If addresses are asked, a WORKER_FRAGMENT is always sent unless the worker fails first. The order may be
 * for fragments only: then nothing is written to the output, and after the fragment, WORKER_ASK may follow
 * with other addresses, which is answered with WORKER_FRAGMENT again, and so on until the socket is closed.
 *   Or it is for details only: a WORKER_DETAIL without a frame says that all files are open, and each
 * WORKER_ASK after it, of one link-time address, is answered with one WORKER_DETAIL for each frame there.
 *
 * scan: identifies any number of files, until the socket is closed.
 *   In: WORKER_IDENTIFY with the open file attached.
 *   Out: for each file, in order, one WORKER_BEGUN before it is looked at: if the worker ends earlier, the
 *   file is not the cause. Then one WORKER_IDENTITY, or one for each of its images; or one that says how much
 *   must be hashed to identify it.
 *
 * fetch: one debug file from debuginfod servers, then exit.
 *   In: WORKER_DOWNLOAD.
 *   Out: WORKER_OPENED with the file attached.
 *
 * zygote: any number of workers of mode convert, until the socket is closed; see fork_loop.h.
 *   In: WORKER_FORK with the worker's socket attached, on which the descriptors 4 and following come as
 * WORKER_OPENED.
 *   Out, on that socket: WORKER_READY, or WORKER_FAILED if there is no worker.
 *
 * store: requests to a store that several hosts share (store/client/store.h), until the socket is closed.
 *   In: one WORKER_STORE. Then any number of WORKER_REQUEST, at most WORKER_STORE_TRANSFERS of them not yet
 * answered, with the file attached that is read or written if there is one; and WORKER_CANCEL with the serial
 * number of a request.
 *   Out: to WORKER_STORE, one WORKER_REPLY with its serial number when the store can be used, or cannot. For
 * each request, in any order and with its serial number, at most one WORKER_BEGUN, and one WORKER_REPLY, also
 * if it was cancelled.
 *
 * swift: demangles Swift's names, until the socket is closed.
 *   In: the path of the library that does it, then one name at a time, each a packet without terminator of
 * at most WORKER_NAME_MAX bytes.
 *   Out: the path again when the library is loaded. For each name its text, WORKER_TEXT_MAX bytes at most, or
 * the name itself; the worker ends at a name that takes too long.
 *
 * A message of the other modes is one packet and one of the structs below, in the byte order and layout of
 * this machine. All fields have a fixed width. A worker that a hostile file has compromised may send
 * anything: the receiver calls worker_message_check(), after which sizes match, text is terminated and
 * enumerators are known.
 */
#ifndef WORK_WORKER_WORKER_H
#define WORK_WORKER_WORKER_H

#include <stddef.h>
#include <stdint.h>

enum {
	WORKER_SOCKET_FD = 3,
	WORKER_OUTPUT_FD = 4,   /* convert */
	WORKER_FRAGMENT_FD = 5, /* convert */
	WORKER_INPUT_FD = 6,    /* convert */
	WORKER_BINARY_FD = 7,   /* convert */
	WORKER_FDS_MAX = WORKER_BINARY_FD - WORKER_SOCKET_FD,
};

/* Incremented with every change of this file: client and worker may be of different installations. */
enum {
	WORKER_PROTOCOL = 22,
	WORKER_PATH_MAX = 4096,
	WORKER_ASKED_MAX = 64, /* addresses */
	WORKER_SEGMENTS_MAX = 64,
	WORKER_STORE_PATH = 2048,   /* of what the options of a store name */
	WORKER_STORE_NAME = 256,    /* of an object */
	WORKER_STORE_ETAG = 128,    /* of its tag */
	WORKER_STORE_TRANSFERS = 8, /* at once */
	WORKER_NAME_MAX = 4096,     /* of a name of Swift; the longest of a large program has 847 */
	WORKER_TEXT_MAX = 16384,
};

enum worker_type {
	WORKER_CONVERT = 1, /* client to worker */
	WORKER_IDENTIFY,    /* client to worker, with one descriptor */
	WORKER_PROGRESS,
	WORKER_WARNING,
	WORKER_DONE,
	WORKER_FAILED,
	WORKER_IDENTITY,
	WORKER_READY,
	WORKER_MISSING,
	WORKER_SECTION,
	WORKER_OPEN, /* worker to client */
	WORKER_SEGMENT,
	/* the answer to a request, in either direction; with one descriptor unless it failed */
	WORKER_OPENED,
	WORKER_FETCH,    /* worker to client */
	WORKER_DOWNLOAD, /* client to worker */
	WORKER_FRAGMENT, /* worker to client */
	WORKER_FORK,     /* client to worker, with one descriptor */
	WORKER_ASK,      /* client to worker */
	WORKER_STORE,    /* client to worker */
	WORKER_REQUEST,  /* client to worker, with one descriptor unless it is of a kind that needs none */
	WORKER_CANCEL,   /* client to worker */
	WORKER_BEGUN,    /* worker to client */
	WORKER_REPLY,    /* worker to client */
	WORKER_DETAIL,   /* worker to client */
};

/* A worker's task with an object file. */
enum worker_purpose {
	WORKER_WHOLE,     /* to convert it */
	WORKER_FRAGMENTS, /* to convert what is asked for */
	WORKER_DETAILS,   /* to answer what GSYM does not hold */
	WORKER_PURPOSES,
};

/* The head of every message. @serial is copied from a request into its answers. */
struct worker_header {
	uint32_t type; /* enum worker_type */
	uint32_t size; /* bytes of the whole message */
	uint64_t serial;
};

/* An address that is waited for. */
struct worker_address {
	uint64_t value;
	uint64_t origin; /* enum address_origin */
};

/* What to convert, and the limits. */
struct worker_convert {
	struct worker_header head;
	uint32_t threads;     /* at least 1 */
	uint32_t version;     /* as in struct convert_options */
	uint64_t memory;      /* bytes of private memory, thread stacks not counted */
	uint64_t cpu_seconds; /* of all threads together */
	uint64_t output_size; /* largest output in bytes */
	uint32_t has_binary;  /* 0 or 1: WORKER_BINARY_FD is passed; the object file is its debug file */
	uint32_t merged;      /* 0 or 1: keep all functions that share a range */
	uint32_t id_size;     /* of id; 0: none */
	uint32_t fetch;       /* 0 or 1: WORKER_FETCH is allowed */
	char arch[16];        /* which image of the file, */
	uint8_t id[64];       /* and its id, if several are of that architecture */
	char input[WORKER_PATH_MAX]; /* paths of the files, to find others relative to them */
	char binary[WORKER_PATH_MAX];
	char debug_dirs[WORKER_PATH_MAX]; /* each terminated; an empty one ends the list */
	uint32_t n_asked;                 /* at most WORKER_ASKED_MAX */
	uint32_t purpose;                 /* enum worker_purpose */
	struct worker_address asked[WORKER_ASKED_MAX];
};

/* More addresses, of the image that was ordered for fragments or details only. */
struct worker_ask {
	struct worker_header head;
	uint32_t n_asked;  /* 1 to WORKER_ASKED_MAX */
	uint32_t line;     /* for details: of the innermost frame, as GSYM has it */
	uint32_t is_data;  /* 0 or 1: for details, of the variable that begins there */
	uint32_t n_source; /* for details: lines of embedded source around each line */
	struct worker_address asked[WORKER_ASKED_MAX];
};

/* A segment, as in struct convert_segment. */
struct worker_map {
	uint64_t off, addr, size;
};

/*
 * WORKER_FRAGMENT_FD holds GSYM with some functions of the image, exactly as the whole output will have them.
 */
struct worker_fragment {
	struct worker_header head;
	uint64_t output_size; /* 0: nothing is certain at the addresses; there is none */
	uint64_t image_base;
	uint32_t has_ada; /* 0 or 1 */
	uint32_t n_segments;
	struct worker_map segments[WORKER_SEGMENTS_MAX]; /* of the image */
};

/* struct frame_detail of a frame, the innermost first. */
struct worker_detail {
	struct worker_header head;
	uint64_t start;
	uint32_t has_start; /* 0 or 1 */
	uint32_t has_frame; /* 0 or 1: there is none at the address, and all else is 0 */
	uint32_t more;      /* 1: another message follows for the same address, else 0 */
	uint32_t line, column, discriminator, start_line;
	uint32_t comp_size, start_comp_size;
	uint32_t source_size;            /* of @source */
	char start_dir[WORKER_PATH_MAX]; /* "" if it is not known, or too long */
	char start_base[WORKER_PATH_MAX];
	char source[WORKER_PATH_MAX]; /* whole lines, as many as it holds; not terminated */
};

struct worker_identify {
	struct worker_header head;
	uint64_t hash_max; /* bytes to hash at most for a file without an id */
};

struct worker_progress {
	struct worker_header head;
	uint32_t phase; /* enum convert_phase */
	uint32_t pad;
	uint64_t done; /* at most total */
	uint64_t total;
};

/* One kind of warning in the input, as in struct convert_warning. */
struct worker_warning {
	struct worker_header head;
	uint64_t count;
	char kind[160];
	char effect[64];
	char first[160];
};

/* A missing file with more debug information, as the input refers to it. */
struct worker_missing {
	struct worker_header head;
	char name[512];
};

/* A section of a relocatable file, as in struct convert_section. */
struct worker_section {
	struct worker_header head;
	uint64_t addr;
	uint64_t size;
	char name[128];
};

/* A segment of the image, as in struct convert_segment. */
struct worker_segment {
	struct worker_header head;
	uint64_t off, addr, size;
};

/*
 * A path that the converter derived from an object file, perhaps with PACKED before it (packed_name.h); the
 * client decides whether to open it.
 */
struct worker_open {
	struct worker_header head;
	char path[WORKER_PATH_MAX];
};

/* Requests the debug file of a build id. */
struct worker_fetch {
	struct worker_header head;
	uint32_t id_size; /* 1 to sizeof(id) */
	uint32_t pad;
	uint8_t id[64];
};

struct worker_download {
	struct worker_header head;
	uint32_t id_size; /* 1 to sizeof(id) */
	uint32_t seconds; /* limit of the download */
	uint64_t size;    /* limit of the file in bytes */
	/* Seconds that servers may send nothing, unless $DEBUGINFOD_TIMEOUT is set; 0: the client's limit */
	uint32_t silence;
	uint32_t partial; /* 0 or 1: there are other servers, so that a file may be there that these lack */
	uint8_t id[64];
	char directory[WORKER_PATH_MAX]; /* cache of the debuginfod client; an absolute path */
	char urls[WORKER_PATH_MAX];      /* of the servers to ask, with spaces between them */
};

struct worker_opened {
	struct worker_header head;
	int32_t error;   /* 0, or a positive errno value */
	uint32_t failed; /* to WORKER_DOWNLOAD: bit N for the server N, from 0, of its list that failed */
};

struct worker_done {
	struct worker_header head;
	uint64_t output_size;
	uint64_t functions;
	uint64_t functions_dwarf;
	uint64_t functions_symbols;
	uint64_t units;
	uint64_t image_base;
	uint32_t has_ada;
	uint32_t is_relative;
	char arch[16];
	char bounded_by[24]; /* "": no table but that of symbols */
};

struct worker_failed {
	struct worker_header head;
	int32_t error;     /* a positive errno value */
	uint32_t at_limit; /* 0 or 1: of ENOMEM, that it was at the limit of its order */
	char text[512];    /* diagnosis with section and offset, without the name of the file */
};

/* struct image_identity of one image in the file. */
struct worker_identity {
	struct worker_header head;
	/*
	 * 0, or a positive errno value: the file could not be read, and text is the diagnosis. With 0, text
	 * is what the file seems to lack, or empty.
	 */
	int32_t error;
	uint32_t kind;    /* enum image_kind */
	uint32_t id_size; /* at most sizeof(id); 0 only for IMAGE_OTHER or after an error */
	uint32_t more;    /* 1: another message follows for the same file, else 0 */
	uint32_t pad;
	uint64_t to_hash; /* not 0: so much must be hashed first, more than allowed; nothing else is said */
	uint8_t id[64];
	uint8_t id_is_hash; /* this and the next seven: 0 or 1 */
	uint8_t id_is_truncated;
	uint8_t has_dwarf;
	uint8_t has_symtab;
	uint8_t has_text;
	uint8_t has_gsym;
	uint8_t has_go;
	uint8_t has_lost;
	uint8_t htlhash[16];
	char go_id[84]; /* "" or as go_id.h takes it */
	char arch[16];
	char name[256]; /* valid (valid_name.h), or empty */
	char text[512];
};

struct worker_ready {
	struct worker_header head;
	uint32_t protocol; /* WORKER_PROTOCOL */
	int32_t pid;       /* of a worker that was forked, as its client knows it; else 0 */
	uint32_t layers;   /* sandbox_held() of a worker of the mode "check", which says it twice; else 0 */
};

/* The attached descriptor is the socket of the worker to be forked. */
struct worker_fork {
	struct worker_header head;
	uint32_t n_fds; /* at most WORKER_FDS_MAX: so many WORKER_OPENED follow on that socket */
	uint32_t pad;
};

/* Where a store is: struct store_options. Empty text: not set. */
struct worker_store {
	struct worker_header head;
	char address[WORKER_STORE_PATH];
	char bearer_file[WORKER_STORE_PATH];
	char netrc_file[WORKER_STORE_PATH];
	char cert_file[WORKER_STORE_PATH];
	char key_file[WORKER_STORE_PATH];
	char ca_file[WORKER_STORE_PATH];
};

/* The last of enum store_operation and of enum store_condition, of which this room knows nothing. */
enum { WORKER_STORE_DELETE = 3, WORKER_STORE_IF_MATCH = 2 };

/* struct store_request. */
struct worker_request {
	struct worker_header head;
	uint32_t operation; /* enum store_operation */
	uint32_t condition; /* enum store_condition */
	uint64_t size;
	uint32_t object; /* 0 or 1 */
	uint32_t ms;     /* limit of the whole; not 0 */
	/* [0-9a-z./-], relative, no component empty or beginning with '.' */
	char name[WORKER_STORE_NAME];
	char etag[WORKER_STORE_ETAG]; /* printable ASCII; not empty if that is the condition */
};

struct worker_cancel {
	struct worker_header head;
};

/* The first byte of the answer has come; to WORKER_IDENTIFY, that the file has. */
struct worker_begun {
	struct worker_header head;
};

/* struct store_reply. */
struct worker_reply {
	struct worker_header head;
	int32_t error; /* 0, or a positive errno; ESTALE: the process is of no use any more (engine.h) */
	uint32_t pad;
	uint64_t size;
	int64_t now;
	int64_t modified;
	char etag[WORKER_STORE_ETAG]; /* printable ASCII, or empty */
	char text[256];
};

union worker_message {
	struct worker_header head;
	struct worker_convert convert;
	struct worker_identify identify;
	struct worker_progress progress;
	struct worker_warning warning;
	struct worker_done done;
	struct worker_failed failed;
	struct worker_identity identity;
	struct worker_ready ready;
	struct worker_missing missing;
	struct worker_section section;
	struct worker_segment segment;
	struct worker_open open;
	struct worker_opened opened;
	struct worker_fetch fetch;
	struct worker_download download;
	struct worker_fragment fragment;
	struct worker_fork fork;
	struct worker_ask ask;
	struct worker_store store;
	struct worker_request request;
	struct worker_cancel cancel;
	struct worker_begun begun;
	struct worker_reply reply;
	struct worker_detail detail;
};

/* Checks that the @size bytes received are a valid message: 0 or -EPROTO. Pure. */
int worker_message_check(const union worker_message *msg, size_t size);

/*
 * Sends the message that starts at @head; @pass is a descriptor to attach or -1. Sets head->size. 0, or the
 * negative errno of sendmsg(2): -EPIPE if the peer has closed the socket. Never raises SIGPIPE.
 */
int worker_send(int sock, struct worker_header *head, uint32_t type, int pass);

/*
 * Waits for one message and checks it. 1; 0 if the peer has closed the socket; -EPROTO for a message that
 * violates the protocol; or the negative errno of recvmsg(2). With @ret_fd an attached descriptor is stored
 * there
 * (-1: none), close-on-exec and owned by the caller; without, it is refused.
 */
int worker_receive(int sock, union worker_message *ret, int *ret_fd);

#endif
