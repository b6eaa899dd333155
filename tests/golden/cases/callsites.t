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
gsym: in: y:1:1: the file is empty: it begins with 'functions:'
[1]
$ . ./try.sh; try 'other: 1\n'
gsym: in: y:1:1: unknown key 'other': known here are functions
[1]
$ . ./try.sh; try '- functions\n'
gsym: in: y:1:1: a mapping belongs here, with the keys functions
[1]
$ . ./try.sh; try 'functions: work\n'
gsym: in: y:1:12: functions is a list: write it as [...] or as lines that begin with '- '
[1]
$ . ./try.sh; try 'functions: [work]\n'
gsym: in: y:1:13: a mapping belongs here, with the keys name, callsites
[1]
$ . ./try.sh; try 'functions: []\nfunctions: []\n'
gsym: in: y:2:1: 'functions' is here a second time: keep one of them
[1]
$ . ./try.sh; try 'functions: [\n'
gsym: in: y:2:1: not YAML: did not find expected node content
[1]
$ . ./try.sh; try 'functions:\n\t- name: work\n'
gsym: in: y:2:1: not YAML: found character that cannot start any token
[1]
$ . ./try.sh; try 'functions: [{callsites: []}]\n'
gsym: in: y:1:13: 'name' is missing here: add it
[1]
$ . ./try.sh; try 'functions: [{name: }]\n'
gsym: in: y:1:20: no function has an empty name
[1]
$ . ./try.sh; try 'functions: [{name: [a]}]\n'
gsym: in: y:1:20: the name of a function is a text, not a list or a mapping
[1]
$ . ./try.sh; try 'functions: [{name: "work\\0"}]\n'
gsym: in: y:1:20: the name of a function holds a NUL, which no name does
[1]
$ . ./try.sh; try 'functions: [{name: nope, callsites: []}]\n'
gsym: in: y:1:20: no function 'nope' in the input: names are those of its symbol table, mangled
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n'
gsym: in: y:4:5: 'match_regex' is missing here: add it
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 010\n    match_regex: []\n'
gsym: in: y:4:20: '010' is no offset: write a number below 2^64 as 24 or 0x18
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: -1\n    match_regex: []\n'
gsym: in: y:4:20: '-1' is no offset: write a number below 2^64 as 24 or 0x18
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 0x\n    match_regex: []\n'
gsym: in: y:4:20: '0x' is no offset: write a number below 2^64 as 24 or 0x18
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 18446744073709551616\n    match_regex: []\n'
gsym: in: y:4:20: '18446744073709551616' is no offset: write a number below 2^64 as 24 or 0x18
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1e3\n    match_regex: []\n'
gsym: in: y:4:20: '1e3' is no offset: write a number below 2^64 as 24 or 0x18
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 0x1000\n    match_regex: []\n' 2>&1 | sed 's/0x[0-9a-f]* bytes/N bytes/'
gsym: in: y:4:5: return_offset 0x1000 lies behind the function, which has N bytes: it counts from the function's start
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: a\n'
gsym: in: y:5:18: match_regex is a list: write it as [...] or as lines that begin with '- '
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: [a]\n    match_regex: [b]\n'
gsym: in: y:6:5: 'match_regex' is here a second time: keep one of them
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: [[a]]\n'
gsym: in: y:5:19: a pattern is a text, not a list or a mapping
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex:\n    -\n'
gsym: in: y:6:6: a pattern is missing here: "" would match every name
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: ["a\\0b"]\n'
gsym: in: y:5:19: a pattern holds a NUL, which no name does
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: []\n    flags: InternalCall\n'
gsym: in: y:6:12: flags is a list: write it as [...] or as lines that begin with '- '
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: []\n    flags: [None]\n'
gsym: in: y:6:13: a flag is InternalCall or ExternalCall, not 'None'
[1]
$ . ./try.sh; try 'functions:\n- name: work\n  callsites:\n  - return_offset: 1\n    match_regex: []\n    1: 2\n'
gsym: in: y:6:5: unknown key '1': known here are return_offset, match_regex, flags
[1]
$ . ./try.sh; try 'functions: &a []\n'
gsym: in: y:1:12: anchors are not understood: leave it out
[1]
$ . ./try.sh; try 'functions: [{name: *a}]\n'
gsym: in: y:1:20: aliases are not understood: write the value out
[1]
$ . ./try.sh; try 'functions: [{name: !!str work}]\n'
gsym: in: y:1:20: tags are not understood: leave it out
[1]
$ . ./try.sh; try '%%YAML 1.1\n---\nfunctions: []\n'
gsym: in: y:1:1: directives are not understood: leave the line out
[1]
$ . ./try.sh; try 'functions: []\n---\nfunctions: []\n'
gsym: in: y:2:1: a second document begins here: put all functions into one list
[1]
$ . ./try.sh; try 'functions: [{name: w\377ork}]\n'
gsym: in: y: byte 20 is no text of UTF-8: invalid leading UTF-8 octet
[1]
$ . ./try.sh; try 'functions: [[[[[[[[[[[[[[[[\n'
gsym: in: y:1:13: a mapping belongs here, with the keys name, callsites
[1]
$ . ./try.sh; try '? {a: b}\n: c\n'
gsym: in: y:1:3: a key is a text, not a list or a mapping
[1]
$ gsym convert --quiet --callsites-yaml-file=missing -o no.gsym in
gsym: in: missing: cannot open: No such file or directory
[1]
$ gsym convert --quiet --callsites-yaml-file=/ -o no.gsym in
gsym: in: /: Is a directory
[1]
# Limits: 64 MiB a file, 1 MiB a name.
$ yes '#' | head -c 70000000 > y; gsym convert --quiet --callsites-yaml-file=y -o no.gsym in
gsym: in: y: over 64 MiB: list only the calls that DWARF does not tell
[1]
$ { printf 'functions: [{name: '; head -c 2000000 /dev/zero | tr '\0' a; echo '}]'; } > y; gsym convert --quiet --callsites-yaml-file=y -o no.gsym in
gsym: in: y:1:20: the name of a function of 2000000 bytes: the longest allowed has 1048576
[1]
$ ls no.gsym
ls: cannot access 'no.gsym': No such file or directory
[2]
