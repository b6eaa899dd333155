/* A store on an HTTP server: in which way conditions are kept, as a probe finds out. */
#include "scripted_server.h"

#include <errno.h>
#include <stdio.h>

#include "tests/lib/unit.h"

#define TEMP(n) n "." RANDOM ".tmp"

static void open_with(const struct store_options *options)
{
	reset_server();
	open_engine(&http_engine, options);
}

static void open_one(void)
{
	open_with(&(const struct store_options){.address = "http://h/s//"});
}

/* ---- What a probe finds out ---- */

#define PUT_PROBE   "PUT " PROBE " <>; If-None-Match: *"
#define MATCH_PROBE "PUT " PROBE " <>; If-Match: \"gsymfs-no-such-etag\""
#define DELETE_PROBE                 \
	{                            \
		"DELETE " PROBE, 204 \
	}
#define PUT_TEMP                              \
	{                                     \
		"PUT " TEMP(PROBE) " <>", 201 \
	}
#define MOVE_TEMP "MOVE " TEMP(PROBE) "; Destination: /s/" PROBE "; Overwrite: F"
#define DELETE_TEMP                        \
	{                                  \
		"DELETE " TEMP(PROBE), 204 \
	}
#define HAS_HEADERS            \
	{PUT_PROBE, 201},      \
	{                      \
		PUT_PROBE, 412 \
	}
#define HAS_MOVE PUT_TEMP, {MOVE_TEMP, 201}, PUT_TEMP, {MOVE_TEMP, 412}, DELETE_TEMP
#define HAS_GUARDS                                                        \
	{"MKCOL " PROBE ".guard/", 201}, {"MKCOL " PROBE ".guard/", 405}, \
	{                                                                 \
		"DELETE " PROBE ".guard/", 204                            \
	}
#define HAS_NO_GUARDS                    \
	{"MKCOL " PROBE ".guard/", 501}, \
	{                                \
		"MKCOL gsymfs1/", 501    \
	}

static const struct scripted
	by_headers[] = {HAS_HEADERS, {MATCH_PROBE, 412}, HAS_NO_GUARDS, DELETE_PROBE, {NULL}},
	by_guarded_headers[] = {HAS_HEADERS, {MATCH_PROBE, 412}, HAS_GUARDS, DELETE_PROBE, {NULL}},
	without_match[] = {HAS_HEADERS, {MATCH_PROBE, 201}, HAS_NO_GUARDS, DELETE_PROBE, {NULL}},
	by_guarded_move[] = {{PUT_PROBE, 201}, {PUT_PROBE, 201}, DELETE_PROBE, HAS_MOVE,
			     HAS_GUARDS,       DELETE_PROBE,     {NULL}},
	by_move[] = {{PUT_PROBE, 501}, DELETE_PROBE, HAS_MOVE, HAS_NO_GUARDS, DELETE_PROBE, {NULL}},
	in_no_way[] = {{PUT_PROBE, 501}, DELETE_PROBE, PUT_TEMP, {MOVE_TEMP, 405},
		       DELETE_TEMP,      DELETE_PROBE, {NULL}};

/* Where If-Match is ignored the tag is looked at before. */
static const struct transfer_row compared_rows[] = {
	{{PUT("a"), MATCH},
	 {{"HEAD a", 200, .etag = "t", .modified = 1}, {"PUT a <abc>", 201, .etag = "n", .now = 50}},
	 {.etag = "n", .now = 50, .modified = 50}},
	{{PUT("a"), MATCH},
	 {{"HEAD a", 200, .etag = "t", .modified = 1},
	  {"PUT a <abc>", 201, .now = 50},
	  {"HEAD a", 200, .etag = "n", .modified = 49}},
	 {.etag = "n", .now = 50, .modified = 49}},
	{{PUT("a"), MATCH}, {{"HEAD a", 200, .etag = "u", .modified = 1}}, {-EEXIST}},
	{{PUT("a"), MATCH}, {{"HEAD a", 200}}, {-EOPNOTSUPP, .text = "the server has no ETag"}},
	{{PUT("a"), MATCH}, {{"HEAD a", 404, .now = 50}}, {-ENOENT, .now = 50}},
	{{PUT("a"), MATCH}, {{"HEAD a", .err = -ETIMEDOUT}}, {-ETIMEDOUT, .text = "no answer"}},
	{{PUT("a"), MATCH},
	 {{"HEAD a", 200, .etag = "t"}, {"PUT a <abc>", 404}, {"PUT a <abc>", 404}},
	 {-ENOENT}},
	{{DEL("a"), MATCH}, {{"HEAD a", 200, .etag = "t", .modified = 1}, {"DELETE a", 204}}, {0}},
	{{DEL("a"), MATCH}, {{"HEAD a", 200, .etag = "u", .modified = 1}}, {-EEXIST}},
	{{DEL("a")}, {{"DELETE a", 204}}, {0}},
	{{PUT("a")}, {{"PUT a <abc>", 201, .etag = "n"}}, {.etag = "n"}},
};

static const struct transfer_row header_rows[] = {
	{{PUT("a.lease"), ABSENT},
	 {{"PUT a.lease <abc>; If-None-Match: *", 201, .etag = "n"}},
	 {.etag = "n"}},
	{{PUT("a.lease"), MATCH}, {{"PUT a.lease <abc>; If-Match: t", 201, .etag = "n"}}, {.etag = "n"}},
	{{DEL("a"), MATCH}, {{"DELETE a; If-Match: t", 204}}, {0}},
};

static const struct transfer_row absent_rows[] = {
	{{PUT("a.lease"), ABSENT},
	 {{"PUT a.lease <abc>; If-None-Match: *", 201, .etag = "n"}},
	 {.etag = "n"}},
};

#define GUARD "MKCOL a.lease.guard/"
#define TAKE_GUARD         \
	{                  \
		GUARD, 201 \
	}
#define DROP_GUARD                           \
	{                                    \
		"DELETE a.lease.guard/", 204 \
	}

/* Conditional writes of leases take a guard; no other write does. */
static const struct transfer_row guarded_rows[] = {
	{{PUT("a.lease"), ABSENT},
	 {TAKE_GUARD, {"PUT a.lease <abc>; If-None-Match: *", 201, .etag = "n"}, DROP_GUARD},
	 {.etag = "n"}},
	{{PUT("a.lease"), MATCH},
	 {TAKE_GUARD, {"PUT a.lease <abc>; If-Match: t", 412}, DROP_GUARD},
	 {-EEXIST}},
	{{PUT("a.lease"), MATCH}, {{GUARD, 507}, {GUARD, 507}}, {-EREMOTEIO, .text = "HTTP 507"}},
	{{PUT("a.lease")}, {{"PUT a.lease <abc>", 201, .etag = "n"}}, {.etag = "n"}},
	{{PUT("a"), ABSENT}, {{"PUT a <abc>; If-None-Match: *", 201, .etag = "n"}}, {.etag = "n"}},
	{{PUT("a"), MATCH}, {{"PUT a <abc>; If-Match: t", 201, .etag = "n"}}, {.etag = "n"}},
	{{DEL("a.lease"), MATCH}, {TAKE_GUARD, {"DELETE a.lease; If-Match: t", 204}, DROP_GUARD}, {0}},
	{{DEL("a.lease"), MATCH}, {TAKE_GUARD, {"DELETE a.lease; If-Match: t", 412}, DROP_GUARD}, {-EEXIST}},
	{{DEL("a.lease"), MATCH}, {{GUARD, 507}, {GUARD, 507}}, {-EREMOTEIO, .text = "HTTP 507"}},
	{{DEL("a.lease")}, {{"DELETE a.lease", 204}}, {0}},
};

#define MOVE(n) "MOVE " TEMP(n) "; Destination: /s/" n "; Overwrite: F"

static const struct transfer_row move_rows[] = {
	/* The tag of the temporary name is not that of the object. */
	{{PUT("a"), ABSENT},
	 {{"PUT " TEMP("a") " <abc>", 201, .etag = "x"},
	  {MOVE("a"), 201, .now = 50},
	  {"HEAD a", 200, .etag = "n", .modified = 40}},
	 {.etag = "n", .now = 50, .modified = 40}},
	{{PUT("a"), ABSENT},
	 {{"PUT " TEMP("a") " <abc>", 201, .etag = "x"}, {MOVE("a"), 204, .etag = "n"}},
	 {.etag = "n"}},
	{{PUT("b/a"), ABSENT},
	 {{"PUT " TEMP("b/a") " <abc>", 409},
	  {"MKCOL b/", 201},
	  {"PUT " TEMP("b/a") " <abc>", 201},
	  {MOVE("b/a"), 412, .now = 50},
	  {"DELETE " TEMP("b/a"), 204}},
	 {-EEXIST, .now = 50}},
	{{PUT("a"), ABSENT},
	 {{"PUT " TEMP("a") " <abc>", 201, .etag = "x"},
	  {MOVE("a"), 404},
	  {"DELETE " TEMP("a"), .err = -ETIMEDOUT}},
	 {-EREMOTEIO, .text = "HTTP 404, cannot be written"}},
	{{PUT("a"), ABSENT},
	 {{"PUT " TEMP("a") " <abc>", 201}, {MOVE("a"), .err = -ETIMEDOUT}, {"DELETE " TEMP("a"), 204}},
	 {-ETIMEDOUT, .text = "no answer"}},
	{{PUT("a"), ABSENT},
	 {{"PUT " TEMP("a") " <abc>", 403}},
	 {-EACCES, .text = "HTTP 403, not permitted"}},
};

static const struct transfer_row no_way_rows[] = {
	{{PUT("a"), ABSENT}, {{NULL}}, {-EOPNOTSUPP, .text = "the server has no conditions"}},
	{{PUT("a.lease"), ABSENT}, {{NULL}}, {-EOPNOTSUPP, .text = "the server has no conditions"}},
	{{PUT("a")}, {{"PUT a <abc>", 201, .etag = "n"}}, {.etag = "n"}},
};

static const struct transfer_row guarded_move_rows[] = {
	{{PUT("a.lease"), ABSENT},
	 {TAKE_GUARD,
	  {"PUT " TEMP("a.lease") " <abc>", 201},
	  {MOVE("a.lease"), 201, .etag = "n"},
	  DROP_GUARD},
	 {.etag = "n"}},
	{{DEL("a.lease"), MATCH},
	 {TAKE_GUARD,
	  {"HEAD a.lease; Cache-Control: no-cache", 200, .etag = "t"},
	  {"DELETE a.lease", 204},
	  DROP_GUARD},
	 {0}},
};

TEST(ways)
{
	open_one();
	probe_engine(by_headers, 1);
	RUN_ROWS(header_rows);
	probe_engine(by_guarded_headers, 1);
	RUN_ROWS(guarded_rows);
	probe_engine(without_match, 1);
	RUN_ROWS(compared_rows);
	RUN_ROWS(absent_rows);
	probe_engine(by_guarded_move, 1);
	RUN_ROWS(guarded_move_rows);
	probe_engine(in_no_way, 0);
	RUN_ROWS(no_way_rows);
	RUN_ROWS(compared_rows);
	probe_engine(by_move, 1);
	RUN_ROWS(move_rows);
	RUN_ROWS(compared_rows);
	probe_engine(by_headers, 1);
	RUN_ROWS(header_rows);
	close_engine();
}

/* Ways that are none, and how that shows. */
TEST(other_probes)
{
	static const struct scripted
		there_already[] = {{PUT_PROBE, 412}, DELETE_PROBE, HAS_MOVE,
				   HAS_NO_GUARDS,    DELETE_PROBE, {NULL}},
		unknown_match[] = {HAS_HEADERS, {MATCH_PROBE, 501}, HAS_NO_GUARDS, DELETE_PROBE, {NULL}},
		unknown_again[] = {{PUT_PROBE, 201}, {PUT_PROBE, 501}, DELETE_PROBE, {NULL}},
		no_move[] = {{PUT_PROBE, 501}, DELETE_PROBE, PUT_TEMP, {MOVE_TEMP, 501},
			     DELETE_TEMP,      DELETE_PROBE, {NULL}},
		bad_move[] = {{PUT_PROBE, 501}, DELETE_PROBE, PUT_TEMP, {MOVE_TEMP, 400},
			      DELETE_TEMP,      DELETE_PROBE, {NULL}},
		overwrites[] = {{PUT_PROBE, 501}, DELETE_PROBE,     PUT_TEMP,     {MOVE_TEMP, 201},
				PUT_TEMP,         {MOVE_TEMP, 201}, DELETE_PROBE, {NULL}};
	open_one();
	probe_engine(there_already, 1);
	RUN_ROWS(move_rows);
	probe_engine(unknown_match, 1);
	RUN_ROWS(compared_rows);
	RUN_ROWS(absent_rows);
	probe_engine(unknown_again, -EOPNOTSUPP);
	RUN_ROWS(compared_rows);
	probe_engine(no_move, 0);
	RUN_ROWS(no_way_rows);
	probe_engine(by_headers, 1);
	probe_engine(bad_move, 0);
	RUN_ROWS(no_way_rows);
	probe_engine(by_headers, 1);
	probe_engine(overwrites, 0);
	RUN_ROWS(no_way_rows);
	close_engine();
}

/* What is known stays if nothing can be found out now, and the object of the probe does not. */
TEST(failed_probes)
{
	static const struct {
		struct scripted script[SCRIPT_MAX];
		int want;
	} table[] = {
		{{{PUT_PROBE, .err = -ETIMEDOUT}, DELETE_PROBE}, -ETIMEDOUT},
		{{{PUT_PROBE, 403}, DELETE_PROBE}, -EACCES},
		{{{PUT_PROBE, 201}, {PUT_PROBE, .err = -ETIMEDOUT}, DELETE_PROBE}, -ETIMEDOUT},
		{{HAS_HEADERS, {MATCH_PROBE, .err = -EHOSTUNREACH}, DELETE_PROBE}, -EHOSTUNREACH},
		{{{PUT_PROBE, 501},
		  DELETE_PROBE,
		  {"PUT " TEMP(PROBE) " <>", .err = -ETIMEDOUT},
		  DELETE_PROBE},
		 -ETIMEDOUT},
		{{{PUT_PROBE, 501},
		  DELETE_PROBE,
		  PUT_TEMP,
		  {MOVE_TEMP, .err = -EHOSTUNREACH},
		  DELETE_TEMP,
		  DELETE_PROBE},
		 -EHOSTUNREACH},
		{{HAS_HEADERS,
		  {MATCH_PROBE, 412},
		  {"MKCOL " PROBE ".guard/", .err = -ETIMEDOUT},
		  DELETE_PROBE},
		 -ETIMEDOUT},
	};
	open_one();
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		probe_engine(by_guarded_move, 1);
		probe_engine(table[i].script, table[i].want);
		assert_string_equal(probed.text,
				    table[i].want == -EACCES ? "HTTP 403, not permitted" : "no answer");
		RUN_ROWS(guarded_move_rows);
	}
	has_no_random = true;
	probe_engine(NULL, -ENOSYS);
	run_row(&(const struct transfer_row){{PUT("a"), ABSENT}, {{NULL}}, {-ENOSYS}});
	has_no_random = false;
	close_engine();
}

/* A name that is too long for a temporary one is not cut. */
TEST(long_names)
{
	enum { LONGEST = STORE_NAME_SIZE - sizeof("." RANDOM ".tmp") };
	char name[LONGEST + 2], put[2 * STORE_NAME_SIZE], move[3 * STORE_NAME_SIZE];
	open_one();
	probe_engine(by_move, 1);
	snprintf(name, sizeof(name), "%0*d", LONGEST, 7);
	snprintf(put, sizeof(put), "PUT %s." RANDOM ".tmp <abc>", name);
	snprintf(move, sizeof(move), "MOVE %s." RANDOM ".tmp; Destination: /s/%s; Overwrite: F", name, name);
	run_row(&(const struct transfer_row){
		{PUT(name), ABSENT}, {{put, 201}, {move, 201, .etag = "n"}}, {.etag = "n"}});
	snprintf(name, sizeof(name), "%0*d", LONGEST + 1, 7);
	run_row(&(const struct transfer_row){{PUT(name), ABSENT}, {{NULL}}, {-EINVAL}});
	close_engine();
}

/* A cache of Bazel's has neither leases nor names for a probe. */
TEST(bazel)
{
	open_with(&(const struct store_options){.address = "http://h/s", .bazel = true});
	probe_engine(NULL, 0);
	RUN_ROWS(absent_rows);
	close_engine();
}
