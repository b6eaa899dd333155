# Call sites that a file lists: dumped as they were written, in its order.
$ printf '# every key\nfunctions:\n  - name: work\n    callsites:\n      - return_offset: 0x3\n        match_regex: ["^f[0-9]+$", '\''it'\'''\''s'\'', plain]\n        flags: [InternalCall, ExternalCall]\n      - match_regex: []\n        return_offset: 2\n        flags: [ExternalCall]\n  - {name: main, callsites: [{return_offset: 1, match_regex: [work, ""], flags: }]}\n  - name: main\n    callsites:\n  - callsites: [{return_offset: 0x01, match_regex: [again], flags: [InternalCall]}]\n    name: main\n' > sites.yaml
$ gsym convert --quiet --callsites-yaml-file=sites.yaml -o a.gsym "$ELF" && gsym dump a.gsym | grep "Flags\|^Func.*\(work\|main\)" | sed 's/.*) "/"/' | awk '/^"/ { f = $0; next } { print f $0 }' | sort -s -k 1,1
"main"  0x0001 Flags[None] MatchRegex[work;]
"main"  0x0001 Flags[InternalCall] MatchRegex[again]
"work"  0x0003 Flags[InternalCall | ExternalCall] MatchRegex[^f[0-9]+$;it's;plain]
"work"  0x0002 Flags[ExternalCall]
# JSON is YAML. It has no hexadecimal numbers, so they may be quoted.
$ printf '{\n\t"functions": [\n\t\t{"name": "work", "callsites": [{"return_offset": "0x3", "match_regex": ["\\\\[.* sel\\\\]", "a\\/b"]}]},\n\t\t{"name": "main"}\n\t]\n}\n' > sites.json
$ gsym convert --quiet --callsites-yaml-file=sites.json -o b.gsym "$ELF" && gsym dump b.gsym | grep 'Flags'
  0x0003 Flags[None] MatchRegex[\[.* sel\];a/b]
# A file that lists nothing changes nothing.
$ gsym convert --quiet -o c.gsym "$ELF"; echo 'functions: []' > y && gsym convert --quiet --callsites-yaml-file=y -o d.gsym "$ELF" && cmp c.gsym d.gsym
# What is not of the schema.
$ ln -s "$ELF" in; printf 'try() { printf -- "$1" > y; gsym convert --quiet --callsites-yaml-file=y -o no.gsym in; }\n' > try.sh
$ . ./try.sh; try ''
gsym convert: in: y:1:1: empty file: start it with 'functions:'
[1]
$ . ./try.sh; try 'other: 1\n'
gsym convert: in: y:1:1: unknown key 'other': use one of functions
[1]
$ . ./try.sh; try '- functions\n'
gsym convert: in: y:1:1: expected a mapping with the keys functions
[1]
$ . ./try.sh; try 'functions: work\n'
gsym convert: in: y:1:12: functions must be a list: write [...] or lines that begin with '- '
[1]
$ . ./try.sh; try 'functions: [work]\n'
gsym convert: in: y:1:13: expected a mapping with the keys name, callsites
[1]
$ . ./try.sh; try 'functions: []\nfunctions: []\n'
gsym convert: in: y:2:1: duplicate key 'functions': keep one of them
[1]
$ . ./try.sh; try 'functions: [\n'
gsym convert: in: y:2:1: not YAML: did not find expected node content
[1]
$ . ./try.sh; try 'functions:\n\t- name: work\n'
gsym convert: in: y:2:1: not YAML: found character that cannot start any token
[1]
$ . ./try.sh; try 'functions: [{callsites: []}]\n'
gsym convert: in: y:1:13: missing key 'name': add it
[1]
$ . ./try.sh; try 'functions: [{name: }]\n'
gsym convert: in: y:1:20: empty function name: write the name in the symbol table
[1]
$ . ./try.sh; try 'functions: [{name: [a]}]\n'
gsym convert: in: y:1:20: a function name must be a string, not a list or a mapping
[1]
$ . ./try.sh; try 'functions: [{name: "work\\0"}]\n'
gsym convert: in: y:1:20: a function name contains a NUL byte
[1]
$ . ./try.sh; try 'functions: [{name: nope, callsites: []}]\n'
gsym convert: in: y:1:20: no function 'nope' in the input: write its mangled name as in the symbol table
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n'
gsym convert: in: y:4:5: missing key 'match_regex': add it
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 010\n    match_regex: []\n'
gsym convert: in: y:4:20: invalid offset '010': write a number below 2^64, such as 24 or 0x18
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: -1\n    match_regex: []\n'
gsym convert: in: y:4:20: invalid offset '-1': write a number below 2^64, such as 24 or 0x18
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 0x\n    match_regex: []\n'
gsym convert: in: y:4:20: invalid offset '0x': write a number below 2^64, such as 24 or 0x18
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 18446744073709551616\n    match_regex: []\n'
gsym convert: in: y:4:20: invalid offset '18446744073709551616': write a number below 2^64, such as 24 or 0x18
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1e3\n    match_regex: []\n'
gsym convert: in: y:4:20: invalid offset '1e3': write a number below 2^64, such as 24 or 0x18
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 0x1000\n    match_regex: []\n' 2>&1 | sed 's/0x[0-9a-f]* bytes/N bytes/'
gsym convert: in: y:4:5: return_offset 0x1000 is past the end of the function, which has N bytes: count from the start of the function
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: a\n'
gsym convert: in: y:5:18: match_regex must be a list: write [...] or lines that begin with '- '
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: [a]\n    match_regex: [b]\n'
gsym convert: in: y:6:5: duplicate key 'match_regex': keep one of them
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: [[a]]\n'
gsym convert: in: y:5:19: a pattern must be a string, not a list or a mapping
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex:\n    -\n'
gsym convert: in: y:6:6: missing pattern: an empty one would match every name
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: ["a\\0b"]\n'
gsym convert: in: y:5:19: a pattern contains a NUL byte
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: []\n    flags: InternalCall\n'
gsym convert: in: y:6:12: flags must be a list: write [...] or lines that begin with '- '
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: []\n    flags: [None]\n'
gsym convert: in: y:6:13: unknown flag 'None': use InternalCall or ExternalCall
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: []\n    1: 2\n'
gsym convert: in: y:6:5: unknown key '1': use one of return_offset, match_regex, flags
[1]
$ . ./try.sh; try 'functions: &a []\n'
gsym convert: in: y:1:12: anchors are not supported: remove it
[1]
$ . ./try.sh; try 'functions: [{name: *a}]\n'
gsym convert: in: y:1:20: aliases are not supported: repeat the value
[1]
$ . ./try.sh; try 'functions: [{name: !!str work}]\n'
gsym convert: in: y:1:20: tags are not supported: remove it
[1]
$ . ./try.sh; try '%%YAML 1.1\n---\nfunctions: []\n'
gsym convert: in: y:1:1: directives are not supported: remove the line
[1]
$ . ./try.sh; try 'functions: []\n---\nfunctions: []\n'
gsym convert: in: y:2:1: more than one document: put all functions into one list
[1]
$ . ./try.sh; try 'functions: [{name: w\377ork}]\n'
gsym convert: in: y: invalid UTF-8 at byte 20: invalid leading UTF-8 octet
[1]
$ . ./try.sh; try 'functions: [[[[[[[[[[[[[[[[\n'
gsym convert: in: y:1:13: expected a mapping with the keys name, callsites
[1]
$ . ./try.sh; try '? {a: b}\n: c\n'
gsym convert: in: y:1:3: a key must be a string, not a list or a mapping
[1]
$ gsym convert --quiet --callsites-yaml-file=missing -o no.gsym in
gsym convert: in: missing: cannot open: No such file or directory
[1]
$ gsym convert --quiet --callsites-yaml-file=/ -o no.gsym in
gsym convert: in: /: Is a directory
[1]
# Limits: 64 MiB a file, 1 MiB a name.
$ yes '#' | head -c 70000000 > y; gsym convert --quiet --callsites-yaml-file=y -o no.gsym in
gsym convert: in: y: larger than 64 MiB: list only calls that DWARF does not describe
[1]
$ { printf 'functions: [{name: '; head -c 2000000 /dev/zero | tr '\0' a; echo '}]'; } > y; gsym convert --quiet --callsites-yaml-file=y -o no.gsym in
gsym convert: in: y:1:20: a function name of 2000000 bytes is too long: at most 1048576 are allowed
[1]
$ ls no.gsym
ls: cannot access 'no.gsym': No such file or directory
[2]
