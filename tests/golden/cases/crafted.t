# Object files crafted to be answered wrongly; each was once.
# A range list whose base is dropped code must not wrap round to live addresses.
$ gsym convert --quiet "$FOUND/dead-range-list-base" -o a.gsym && gsym dump a.gsym | grep '^FunctionInfo'
FunctionInfo @ 0x0000004c: [0x0000000000001000 - 0x0000000000001400) "live"
$ gsym convert --quiet "$FOUND/dead-base-of-debug-ranges" -o a.gsym && gsym dump a.gsym | grep '^FunctionInfo'
FunctionInfo @ 0x00000064: [0x0000000000001000 - 0x0000000000001020) "f"
FunctionInfo @ 0x00000088: [0x0000000000002000 - 0x0000000000002020) "g"
FunctionInfo @ 0x00000098: [0x0000000000003000 - 0x0000000000003010) "h"
# An inlined call may reach over two parts of a function that touch.
$ gsym convert --quiet "$FOUND/inlined-range-over-two-parts" -o a.gsym && gsym dump a.gsym | sed -n '/^FunctionInfo/,$p'
FunctionInfo @ 0x0000005c: [0x0000000000001000 - 0x0000000000001010) "f"
LineTable:
  0x0000000000001000 a.c:1
  0x0000000000001001 a.c:2
  0x0000000000001002 a.c:3
  0x0000000000001003 a.c:4
  0x0000000000001004 a.c:5
  0x0000000000001005 a.c:6
  0x0000000000001006 a.c:7
  0x0000000000001007 a.c:8
  0x0000000000001008 a.c:9
  0x0000000000001009 a.c:10
  0x000000000000100a a.c:11
  0x000000000000100b a.c:12
  0x000000000000100c a.c:13
  0x000000000000100d a.c:14
  0x000000000000100e a.c:15
  0x000000000000100f a.c:16
InlineInfo:
[0x0000000000001000 - 0x0000000000001010) f
  [0x0000000000001008 - 0x0000000000001010) inl
FunctionInfo @ 0x000000a8: [0x0000000000001010 - 0x0000000000001020) "f"
LineTable:
  0x0000000000001010 a.c:17
  0x0000000000001011 a.c:18
  0x0000000000001012 a.c:19
  0x0000000000001013 a.c:20
  0x0000000000001014 a.c:21
  0x0000000000001015 a.c:22
  0x0000000000001016 a.c:23
  0x0000000000001017 a.c:24
  0x0000000000001018 a.c:25
  0x0000000000001019 a.c:26
  0x000000000000101a a.c:27
  0x000000000000101b a.c:28
  0x000000000000101c a.c:29
  0x000000000000101d a.c:30
  0x000000000000101e a.c:31
  0x000000000000101f a.c:32
InlineInfo:
[0x0000000000001010 - 0x0000000000001020) f
  [0x0000000000001010 - 0x0000000000001018) inl
# A unit that claims to run past its section is read as far as it goes.
$ gsym convert --quiet "$FOUND/last-unit-cut-short" -o a.gsym && gsym dump a.gsym | grep '^FunctionInfo'
FunctionInfo @ 0x0000004c: [0x0000000000001000 - 0x0000000000001400) "live"
# A symbol whose first row lies behind the start of another symbol.
$ gsym convert --quiet "$FOUND/symbol-before-its-rows" -o a.gsym && gsym lookup a.gsym 0x1002 0x1005 0x1012
outer+0x2 at ??:0
inner+0x1 at ??:0
outer at a.c:3
# File indexes past the list: the row or the call is dropped, the function stays.
$ gsym convert --quiet "$FOUND/file-index-past-the-list" -o a.gsym && gsym dump a.gsym | sed -n '/^FunctionInfo/,$p'
FunctionInfo @ 0x00000054: [0x0000000000001000 - 0x0000000000001020) "f"
LineTable:
  0x0000000000001000 a.c:1
  0x0000000000001008 a.c:6
# Endless by construction: a scope that is specified inside itself, a directory format that takes no bytes.
$ gsym convert --quiet "$FOUND/scope-specified-inside-itself" -o a.gsym && gsym dump a.gsym | grep '^FunctionInfo'
FunctionInfo @ 0x00000048: [0x0000000000001000 - 0x0000000000001010) "f"
$ gsym convert --quiet "$FOUND/directory-format-of-no-bytes" -o a.gsym && gsym dump a.gsym | grep '^FunctionInfo'
FunctionInfo @ 0x00000048: [0x0000000000001000 - 0x0000000000001010) "f"
