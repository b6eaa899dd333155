# Logs before and after: a sanitizer's report. Offsets count from where the module is loaded, the image base 0x1000.
$ printf '==31==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x5581f7f2a00d bp 0x7ffd0 sp 0x7ffc8\nREAD of size 4 at 0x602000000010 thread T0\n    #0 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: deadbeef00010203)\n    #1 0x5581f7f2a015  (/opt/app/plain+0x15) (BuildId: deadbeef00010203)\n    #2 0x5581f7f2a084  (/opt/app/plain+0x104) (BuildId: deadbeef00010203)\n    #3 0x7f0cc7e45249  (/lib/x86_64-linux-gnu/libc.so.6+0x27249) (BuildId: 0123456789abcdef0123456789abcdef01234567)\n\nSUMMARY: AddressSanitizer: heap-use-after-free (/opt/app/plain+0xc) (BuildId: deadbeef00010203) \n' >log; cat log
==31==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x5581f7f2a00d bp 0x7ffd0 sp 0x7ffc8
READ of size 4 at 0x602000000010 thread T0
    #0 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: deadbeef00010203)
    #1 0x5581f7f2a015  (/opt/app/plain+0x15) (BuildId: deadbeef00010203)
    #2 0x5581f7f2a084  (/opt/app/plain+0x104) (BuildId: deadbeef00010203)
    #3 0x7f0cc7e45249  (/lib/x86_64-linux-gnu/libc.so.6+0x27249) (BuildId: 0123456789abcdef0123456789abcdef01234567)

SUMMARY: AddressSanitizer: heap-use-after-free (/opt/app/plain+0xc) (BuildId: deadbeef00010203) 
$ gsym filter plain.gsym <log
==31==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x5581f7f2a00d bp 0x7ffd0 sp 0x7ffc8
READ of size 4 at 0x602000000010 thread T0
    #0 0x5581f7f2a00c in square /src/app/include/shape.h:3
    #0 0x5581f7f2a00c in Shape::area() const /src/app/include/shape.h:8
    #0 0x5581f7f2a00c in main /src/app/main.cc:11
    #1 0x5581f7f2a015 in main /src/app/main.cc:12
    #2 0x5581f7f2a084 in _start (/opt/app/plain+0x104) (BuildId: deadbeef00010203)
    #3 0x7f0cc7e45249  (/lib/x86_64-linux-gnu/libc.so.6+0x27249) (BuildId: 0123456789abcdef0123456789abcdef01234567)

SUMMARY: AddressSanitizer: heap-use-after-free /src/app/include/shape.h:3 in square 
gsym filter: 4 of 5 frames explained
gsym filter: /lib/x86_64-linux-gnu/libc.so.6 (0123456789abcdef0123456789abcdef01234567): 1 frame not explained: no FILE has this id; give the GSYM file of that build, or --mount
# An Apple crash report. The binary images come last.
$ printf 'Process:               plain [4711]\nException Type:  EXC_BAD_ACCESS (SIGSEGV)\n\nThread 0 Crashed:\n0   plain                         0x0000000104a7800c 0x104a78000 + 12\n1   plain                         0x0000000104a78015 0x104a78000 + 21\n2   plain                         0x0000000104a78104 _start + 4\n3   dyld                          0x00000001b0a7bf50 0x1b0a70000 + 48976\n\nThread 0 crashed with ARM Thread State (64-bit):\n    x0: 0x0000000000000000   x1: 0x0000000000000000\n\nBinary Images:\n       0x104a78000 -        0x104a7bfff plain arm64  <deadbeef00010203> /Applications/plain\n       0x1b0a70000 -        0x1b0aeffff dyld arm64e  <0123456789abcdef0123456789abcdef> /usr/lib/dyld\n' >log; cat log
Process:               plain [4711]
Exception Type:  EXC_BAD_ACCESS (SIGSEGV)

Thread 0 Crashed:
0   plain                         0x0000000104a7800c 0x104a78000 + 12
1   plain                         0x0000000104a78015 0x104a78000 + 21
2   plain                         0x0000000104a78104 _start + 4
3   dyld                          0x00000001b0a7bf50 0x1b0a70000 + 48976

Thread 0 crashed with ARM Thread State (64-bit):
    x0: 0x0000000000000000   x1: 0x0000000000000000

Binary Images:
       0x104a78000 -        0x104a7bfff plain arm64  <deadbeef00010203> /Applications/plain
       0x1b0a70000 -        0x1b0aeffff dyld arm64e  <0123456789abcdef0123456789abcdef> /usr/lib/dyld
$ gsym filter plain.gsym <log
Process:               plain [4711]
Exception Type:  EXC_BAD_ACCESS (SIGSEGV)

Thread 0 Crashed:
0   plain                         0x0000000104a7800c square (in plain) (shape.h:3) [inlined]
0   plain                         0x0000000104a7800c Shape::area() const (in plain) (shape.h:8) [inlined]
0   plain                         0x0000000104a7800c main (in plain) (main.cc:11)
1   plain                         0x0000000104a78015 main (in plain) (main.cc:12)
2   plain                         0x0000000104a78104 _start (in plain) + 4
3   dyld                          0x00000001b0a7bf50 0x1b0a70000 + 48976

Thread 0 crashed with ARM Thread State (64-bit):
    x0: 0x0000000000000000   x1: 0x0000000000000000

Binary Images:
       0x104a78000 -        0x104a7bfff plain arm64  <deadbeef00010203> /Applications/plain
       0x1b0a70000 -        0x1b0aeffff dyld arm64e  <0123456789abcdef0123456789abcdef> /usr/lib/dyld
gsym filter: 3 of 4 frames explained
gsym filter: dyld (0123456789abcdef0123456789abcdef): 1 frame not explained: no FILE has this id; give the GSYM file of that build, or --mount
# Quoted, from Rosetta: the first frame is in no image. The frames of the exception are a list of addresses.
$ printf '> Last Exception Backtrace:\n> (0x1b0a7bf50 0x104a78015)\n>\n> Thread 0 Crashed:\n> 0   ???                           0x7ff8a42b0fcc ???\n> 1   plain                         0x0000000104a78015 0x104a78000 + 21\n>\n> Binary Images\n>        0x104a78000 -        0x104a7bfff plain x86_64  <deadbeef00010203> /Applications/plain\n' >log; cat log
> Last Exception Backtrace:
> (0x1b0a7bf50 0x104a78015)
>
> Thread 0 Crashed:
> 0   ???                           0x7ff8a42b0fcc ???
> 1   plain                         0x0000000104a78015 0x104a78000 + 21
>
> Binary Images
>        0x104a78000 -        0x104a7bfff plain x86_64  <deadbeef00010203> /Applications/plain
$ gsym filter plain.gsym <log
> Last Exception Backtrace:
> 0   ???                            0x00000001b0a7bf50 0x0 + 7258750800
> 1   plain                          0x0000000104a78015 main (in plain) (main.cc:12)
>
> Thread 0 Crashed:
> 0   ???                           0x7ff8a42b0fcc ???
> 1   plain                         0x0000000104a78015 main (in plain) (main.cc:12)
>
> Binary Images
>        0x104a78000 -        0x104a7bfff plain x86_64  <deadbeef00010203> /Applications/plain
gsym filter: 2 of 3 frames explained
gsym filter: addresses: 1 frame not explained: nothing tells what was there in memory; give --maps, --pid, --core or --base
# The same in JSON. Frames get more members, and inlined calls become frames.
$ printf '{"app_name":"plain","timestamp":"2026-11-21 12:00:00.00 +0000","bug_type":"309","incident_id":"00000000-0000-0000-0000-000000000000"}\n{\n  "pid" : 4711,\n  "threads" : [{"triggered":true,"frames":[{"imageOffset":12,"imageIndex":0},{"imageOffset":21,"imageIndex":0},{"imageOffset":48976,"symbol":"start","symbolLocation":16,"imageIndex":1}]}],\n  "usedImages" : [\n  {\n    "arch" : "arm64",\n    "base" : 4372004864,\n    "size" : 16384,\n    "uuid" : "deadbeef00010203",\n    "name" : "plain"\n  },\n  {\n    "base" : 7258701824,\n    "uuid" : "01234567-89ab-cdef-0123-456789abcdef",\n    "name" : "dyld"\n  }\n]\n}\n' >log; cat log
{"app_name":"plain","timestamp":"2026-11-21 12:00:00.00 +0000","bug_type":"309","incident_id":"00000000-0000-0000-0000-000000000000"}
{
  "pid" : 4711,
  "threads" : [{"triggered":true,"frames":[{"imageOffset":12,"imageIndex":0},{"imageOffset":21,"imageIndex":0},{"imageOffset":48976,"symbol":"start","symbolLocation":16,"imageIndex":1}]}],
  "usedImages" : [
  {
    "arch" : "arm64",
    "base" : 4372004864,
    "size" : 16384,
    "uuid" : "deadbeef00010203",
    "name" : "plain"
  },
  {
    "base" : 7258701824,
    "uuid" : "01234567-89ab-cdef-0123-456789abcdef",
    "name" : "dyld"
  }
]
}
$ gsym filter plain.gsym <log
{"app_name":"plain","timestamp":"2026-11-21 12:00:00.00 +0000","bug_type":"309","incident_id":"00000000-0000-0000-0000-000000000000"}
{
  "pid" : 4711,
  "threads" : [{"triggered":true,"frames":[{"imageOffset":12,"imageIndex":0,"symbol":"square","symbolLocation":0,"sourceFile":"shape.h","sourceLine":3,"inline":true},{"imageOffset":12,"imageIndex":0,"symbol":"Shape::area() const","symbolLocation":8,"sourceFile":"shape.h","sourceLine":8,"inline":true},{"imageOffset":12,"imageIndex":0,"symbol":"main","symbolLocation":12,"sourceFile":"main.cc","sourceLine":11},{"imageOffset":21,"imageIndex":0,"symbol":"main","symbolLocation":21,"sourceFile":"main.cc","sourceLine":12},{"imageOffset":48976,"symbol":"start","symbolLocation":16,"imageIndex":1}]}],
  "usedImages" : [
  {
    "arch" : "arm64",
    "base" : 4372004864,
    "size" : 16384,
    "uuid" : "deadbeef00010203",
    "name" : "plain"
  },
  {
    "base" : 7258701824,
    "uuid" : "01234567-89ab-cdef-0123-456789abcdef",
    "name" : "dyld"
  }
]
}
gsym filter: 2 of 2 frames explained; of 1 more the log has all that is known
# The kernel: the file is that of the only image at hand. Symbols tell where code is; '?' marks what is no caller.
$ printf '[   12.345678] BUG: kernel NULL pointer dereference, address: 0000000000000010\n[   12.345684] CPU: 1 PID: 230 Comm: insmod Not tainted 6.1.0-13-amd64 #1  Debian 6.1.55-1\n[   12.345690] RIP: 0010:main+0xc/0x20\n[   12.345701] Call Trace:\n[   12.345703]  <TASK>\n[   12.345705]  ? _start+0x4/0x10\n[   12.345707]  main+0x15/0x20\n[   12.345709]  do_one_initcall+0x56/0x230\n[   12.345711]  fold_a+0x4/0x10 [other]\n[   12.345713]  </TASK>\n' >log; cat log
[   12.345678] BUG: kernel NULL pointer dereference, address: 0000000000000010
[   12.345684] CPU: 1 PID: 230 Comm: insmod Not tainted 6.1.0-13-amd64 #1  Debian 6.1.55-1
[   12.345690] RIP: 0010:main+0xc/0x20
[   12.345701] Call Trace:
[   12.345703]  <TASK>
[   12.345705]  ? _start+0x4/0x10
[   12.345707]  main+0x15/0x20
[   12.345709]  do_one_initcall+0x56/0x230
[   12.345711]  fold_a+0x4/0x10 [other]
[   12.345713]  </TASK>
$ gsym filter plain.gsym <log
[   12.345678] BUG: kernel NULL pointer dereference, address: 0000000000000010
[   12.345684] CPU: 1 PID: 230 Comm: insmod Not tainted 6.1.0-13-amd64 #1  Debian 6.1.55-1
[   12.345690] RIP: 0010:square (include/shape.h:3) [inlined]
[   12.345690] RIP: 0010:Shape::area() const (include/shape.h:8) [inlined]
[   12.345690] RIP: 0010:main (main.cc:11)
[   12.345701] Call Trace:
[   12.345703]  <TASK>
[   12.345705]  ? _start+0x4/0x10
[   12.345707]  main (main.cc:12)
[   12.345709]  do_one_initcall+0x56/0x230
[   12.345711]  fold_a+0x4/0x10 [other]
[   12.345713]  </TASK>
gsym filter: 2 of 4 frames explained; of 1 more the log has all that is known
gsym filter: kernel: 1 frame not explained: give vmlinux of 6.1.0-13-amd64
gsym filter: other: 1 frame not explained: the log has no id, and no FILE has this name; give that object file or its GSYM file
# With build ids (CONFIG_STACKTRACE_BUILD_ID): that of the kernel is in the line with its version, that of a module behind its name.
$ printf '[    4.200000] CPU: 1 PID: 230 Comm: insmod Tainted: G            E      6.1.0-13-amd64 #1 0123456789abcdef0123456789abcdef01234567\n[    4.200001]  main+0x15/0x20 [plain deadbeef00010203]\n[    4.200002]  main+0x15/0x20\n' >log; cat log
[    4.200000] CPU: 1 PID: 230 Comm: insmod Tainted: G            E      6.1.0-13-amd64 #1 0123456789abcdef0123456789abcdef01234567
[    4.200001]  main+0x15/0x20 [plain deadbeef00010203]
[    4.200002]  main+0x15/0x20
$ gsym filter plain.gsym <log
[    4.200000] CPU: 1 PID: 230 Comm: insmod Tainted: G            E      6.1.0-13-amd64 #1 0123456789abcdef0123456789abcdef01234567
[    4.200001]  main (main.cc:12) [plain deadbeef00010203]
[    4.200002]  main+0x15/0x20
gsym filter: 1 of 2 frames explained
gsym filter: kernel (0123456789abcdef0123456789abcdef01234567): 1 frame not explained: give vmlinux with this id
# A function that is larger there, and code after its end: another build, and no other function's answer.
$ printf ' main+0x15/0x100\n main+0xf4/0x100\n main+0x15/0x20\n' | gsym filter plain.gsym
gsym filter: vmlinux: the log seems to be of another build: main has 0x100 bytes there, 0x20 in the image; such frames are left as they are
 main+0x15/0x100
 main+0xf4/0x100
 main (main.cc:12)
gsym filter: 1 of 3 frames explained
gsym filter: vmlinux: 2 frames not explained: of another build: the function's size differs
# Two such functions: the size that is equal is so by chance.
$ printf ' main+0x15/0x20\n\n main+0x15/0x20\n _start+0x4/0x100\n fold_a+0x4/0x90\n\n main+0x15/0x20\n' | gsym filter plain.gsym
gsym filter: vmlinux: the log seems to be of another build: _start has 0x100 bytes there, 0x10 in the image; such frames are left as they are
gsym filter: vmlinux: the log is of another build: fold_a, too, has 0x90 bytes there, 0x8 in the image; all its frames from here on are left as they are
 main (main.cc:12)

 main+0x15/0x20
 _start+0x4/0x100
 fold_a+0x4/0x90

 main+0x15/0x20
gsym filter: 1 of 5 frames explained
gsym filter: vmlinux: 2 frames not explained: of another build: the function's size differs
gsym filter: vmlinux: 2 frames not explained: of another build: the sizes of other functions differ
# A tombstone. Addresses are those of the file.
$ printf '      #00 pc 000000000000100c  /system/lib64/libplain.so (BuildId: deadbeef00010203)\n      #01 pc 0000000000001014  /system/lib64/libplain.so (main+20) (BuildId: deadbeef00010203)\n      #02 pc 0000000000001104  /system/lib64/libplain.so (BuildId: deadbeef00010203)\n      #03 pc 00000000000a1b2c  /apex/com.android.runtime/lib64/bionic/libc.so (__libc_init+100) (BuildId: 0123456789abcdef0123456789abcdef)\n' >log; cat log
      #00 pc 000000000000100c  /system/lib64/libplain.so (BuildId: deadbeef00010203)
      #01 pc 0000000000001014  /system/lib64/libplain.so (main+20) (BuildId: deadbeef00010203)
      #02 pc 0000000000001104  /system/lib64/libplain.so (BuildId: deadbeef00010203)
      #03 pc 00000000000a1b2c  /apex/com.android.runtime/lib64/bionic/libc.so (__libc_init+100) (BuildId: 0123456789abcdef0123456789abcdef)
$ gsym filter plain.gsym <log
      #00 pc 000000000000100c  /system/lib64/libplain.so (square /src/app/include/shape.h:3)
      #00 pc 000000000000100c  /system/lib64/libplain.so (Shape::area() const /src/app/include/shape.h:8)
      #00 pc 000000000000100c  /system/lib64/libplain.so (main /src/app/main.cc:11) (BuildId: deadbeef00010203)
      #01 pc 0000000000001014  /system/lib64/libplain.so (main /src/app/main.cc:12) (BuildId: deadbeef00010203)
      #02 pc 0000000000001104  /system/lib64/libplain.so (_start+4) (BuildId: deadbeef00010203)
      #03 pc 00000000000a1b2c  /apex/com.android.runtime/lib64/bionic/libc.so (__libc_init+100) (BuildId: 0123456789abcdef0123456789abcdef)
gsym filter: 3 of 4 frames explained
gsym filter: /apex/com.android.runtime/lib64/bionic/libc.so (0123456789abcdef0123456789abcdef): 1 frame not explained: no FILE has this id; give the GSYM file of that build, or --mount
# systemd-coredump. Build ids come first; a module without one goes by its name.
$ printf 'Process 4711 (plain) of user 1000 dumped core.\n\nModule libplain.so.1 with build-id deadbeef00010203\nModule libc.so.6 with build-id 0123456789abcdef0123456789abcdef01234567\nStack trace of thread 4711:\n                #0  0x00007f3a1c00000c n/a (libplain.so.1 + 0xc)\n                #1  0x00007f3a1c000015 n/a (libplain.so.1 + 0x15)\n                #2  0x00007f3a1c000104 n/a (/usr/bin/plain + 0x104)\n                #3  0x00007f3a1be27249 n/a (libc.so.6 + 0x27249)\nELF object binary architecture: AMD x86-64\n' >log; cat log
Process 4711 (plain) of user 1000 dumped core.

Module libplain.so.1 with build-id deadbeef00010203
Module libc.so.6 with build-id 0123456789abcdef0123456789abcdef01234567
Stack trace of thread 4711:
                #0  0x00007f3a1c00000c n/a (libplain.so.1 + 0xc)
                #1  0x00007f3a1c000015 n/a (libplain.so.1 + 0x15)
                #2  0x00007f3a1c000104 n/a (/usr/bin/plain + 0x104)
                #3  0x00007f3a1be27249 n/a (libc.so.6 + 0x27249)
ELF object binary architecture: AMD x86-64
$ gsym filter plain.gsym <log
Process 4711 (plain) of user 1000 dumped core.

Module libplain.so.1 with build-id deadbeef00010203
Module libc.so.6 with build-id 0123456789abcdef0123456789abcdef01234567
Stack trace of thread 4711:
                #0  0x00007f3a1c00000c square at /src/app/include/shape.h:3
                #0  0x00007f3a1c00000c Shape::area() const at /src/app/include/shape.h:8
                #0  0x00007f3a1c00000c main at /src/app/main.cc:11 (libplain.so.1 + 0xc)
                #1  0x00007f3a1c000015 main at /src/app/main.cc:12 (libplain.so.1 + 0x15)
                #2  0x00007f3a1c000104 _start (/usr/bin/plain + 0x104)
                #3  0x00007f3a1be27249 n/a (libc.so.6 + 0x27249)
ELF object binary architecture: AMD x86-64
gsym filter: 3 of 4 frames explained
gsym filter: libc.so.6 (0123456789abcdef0123456789abcdef01234567): 1 frame not explained: no FILE has this id; give the GSYM file of that build, or --mount
# LLVM's symbolizer markup. What declares modules stays.
$ printf '[17.1] {{{reset}}}\n[17.1] {{{module:0:plain:elf:deadbeef00010203}}}\n[17.1] {{{mmap:0x7f3a1c000000:0x4000:load:0:rx:0x1000}}}\n[17.1] {{{bt:0:0x7f3a1c00000c:pc}}}\n[17.1] {{{bt:1:0x7f3a1c000015}}}\n[17.1] {{{bt:2:0x7f3a1c000104}}}\n[17.2] called {{{symbol:_ZNK5Shape4areaEv}}} at {{{pc:0x7f3a1c00000c}}}, not {{{pc:0x10}}}\n' >log; cat log
[17.1] {{{reset}}}
[17.1] {{{module:0:plain:elf:deadbeef00010203}}}
[17.1] {{{mmap:0x7f3a1c000000:0x4000:load:0:rx:0x1000}}}
[17.1] {{{bt:0:0x7f3a1c00000c:pc}}}
[17.1] {{{bt:1:0x7f3a1c000015}}}
[17.1] {{{bt:2:0x7f3a1c000104}}}
[17.2] called {{{symbol:_ZNK5Shape4areaEv}}} at {{{pc:0x7f3a1c00000c}}}, not {{{pc:0x10}}}
$ gsym filter plain.gsym <log
[17.1] {{{reset}}}
[17.1] {{{module:0:plain:elf:deadbeef00010203}}}
[17.1] {{{mmap:0x7f3a1c000000:0x4000:load:0:rx:0x1000}}}
[17.1]     #0.1  0x00007f3a1c00000c square /src/app/include/shape.h:3 (plain+0x100c)
[17.1]     #0.2  0x00007f3a1c00000c Shape::area() const /src/app/include/shape.h:8 (plain+0x100c)
[17.1]     #0    0x00007f3a1c00000c main /src/app/main.cc:11 (plain+0x100c)
[17.1]     #1    0x00007f3a1c000014 main /src/app/main.cc:12 (plain+0x1014)
[17.1]     #2    0x00007f3a1c000103 _start (plain+0x1103)
[17.2] called Shape::area() const at square[/src/app/include/shape.h:3], not {{{pc:0x10}}}
gsym filter: 4 of 4 frames explained
# An id and an offset, or an address of the file, anywhere.
$ printf 'panic at deadbeef00010203+0xc, after DEADBEEF-0001-0203 0x1020; deadbeef00010203+0x4000 is nowhere, deadbeef00010203+zz is nothing\n0: deadbeef00010203 0x100c\n1: deadbeef00010203 0x1014\n2: deadbeef00010203 0x1104\n' >log; cat log
panic at deadbeef00010203+0xc, after DEADBEEF-0001-0203 0x1020; deadbeef00010203+0x4000 is nowhere, deadbeef00010203+zz is nothing
0: deadbeef00010203 0x100c
1: deadbeef00010203 0x1014
2: deadbeef00010203 0x1104
$ gsym filter plain.gsym <log
panic at deadbeef00010203+0xc square at /src/app/include/shape.h:3 (inlined by) Shape::area() const at /src/app/include/shape.h:8 (inlined by) main at /src/app/main.cc:11, after DEADBEEF-0001-0203 0x1020 Shape::move(std::vector<Shape, std::allocator<Shape>> const&) at shape.cc:20; deadbeef00010203+0x4000 is nowhere, deadbeef00010203+zz is nothing
0: deadbeef00010203 0x100c square at /src/app/include/shape.h:3 (inlined by) Shape::area() const at /src/app/include/shape.h:8 (inlined by) main at /src/app/main.cc:11
1: deadbeef00010203 0x1014 square at /src/app/include/shape.h:3 (inlined by) Shape::area() const at /src/app/include/shape.h:8 (inlined by) main at /src/app/main.cc:11
2: deadbeef00010203 0x1104 _start+0x4
gsym filter: 5 of 6 frames explained
gsym filter: deadbeef00010203: 1 frame not explained: not in a function of the image; another build may have written the log
# Names as they are stored.
$ gsym filter --no-demangle plain.gsym <log
panic at deadbeef00010203+0xc square at /src/app/include/shape.h:3 (inlined by) _ZNK5Shape4areaEv at /src/app/include/shape.h:8 (inlined by) main at /src/app/main.cc:11, after DEADBEEF-0001-0203 0x1020 _ZN5Shape4moveERKSt6vectorIS_SaIS_EE at shape.cc:20; deadbeef00010203+0x4000 is nowhere, deadbeef00010203+zz is nothing
0: deadbeef00010203 0x100c square at /src/app/include/shape.h:3 (inlined by) _ZNK5Shape4areaEv at /src/app/include/shape.h:8 (inlined by) main at /src/app/main.cc:11
1: deadbeef00010203 0x1014 square at /src/app/include/shape.h:3 (inlined by) _ZNK5Shape4areaEv at /src/app/include/shape.h:8 (inlined by) main at /src/app/main.cc:11
2: deadbeef00010203 0x1104 _start+0x4
gsym filter: 5 of 6 frames explained
gsym filter: deadbeef00010203: 1 frame not explained: not in a function of the image; another build may have written the log
# Directories left out of paths, whole ones.
$ printf '%s\n' 'deadbeef00010203+0xc' >log; gsym filter --strip-prefix=/elsewhere --strip-prefix=/src/app/ plain.gsym <log
deadbeef00010203+0xc square at include/shape.h:3 (inlined by) Shape::area() const at include/shape.h:8 (inlined by) main at main.cc:11
gsym filter: 1 of 1 frames explained
$ gsym filter --strip-prefix=/src/ap plain.gsym <log
deadbeef00010203+0xc square at /src/app/include/shape.h:3 (inlined by) Shape::area() const at /src/app/include/shape.h:8 (inlined by) main at /src/app/main.cc:11
gsym filter: 1 of 1 frames explained
# Those that all sources of the image share.
$ gsym filter --strip-prefix=auto plain.gsym <log
deadbeef00010203+0xc square at include/shape.h:3 (inlined by) Shape::area() const at include/shape.h:8 (inlined by) main at main.cc:11
gsym filter: 1 of 1 frames explained
$ gsym filter --strip-prefix=/src/app/include --strip-prefix=auto plain.gsym <log
deadbeef00010203+0xc square at shape.h:3 (inlined by) Shape::area() const at shape.h:8 (inlined by) main at main.cc:11
gsym filter: 1 of 1 frames explained
# A kernel that was built reproducibly: relative paths of C files, absolute ones of assembler files, one tree. Its Code: is left.
$ printf '%s\n' 'MODULE Linux x86_64 000000000000000000000000000000010 vmlinux' 'FILE 0 debian/build/b/init/main.c' 'FILE 1 debian/build/b/arch/x86/lib/a.c' 'FILE 2 /build/linux/arch/x86/lib/memcpy.S' 'FILE 3 debian/build/b/mm/a.c' 'FUNC 1000 20 0 start_kernel' '1000 20 5 0' 'FUNC 1100 20 0 memcpy' '1100 20 9 2' 'FUNC 1200 20 0 in_a' '1200 10 3 1' '1210 10 4 3' >roots.sym; gsym convert --quiet roots.sym -o vmlinux.gsym
$ printf '%s\n' 'Code: 00 00 <0f> 0b' ' start_kernel+0x8/0x20' ' memcpy+0x8/0x20' >log; gsym filter --quiet vmlinux.gsym <log
Code: 00 00 <0f> 0b
 start_kernel (init/main.c:5)
 memcpy (arch/x86/lib/memcpy.S:9)
$ gsym filter --quiet --strip-prefix=none vmlinux.gsym <log
Code: 00 00 <0f> 0b
 start_kernel (debian/build/b/init/main.c:5)
 memcpy (/build/linux/arch/x86/lib/memcpy.S:9)
$ gsym filter --quiet --strip-prefix=/build/linux vmlinux.gsym <log
Code: 00 00 <0f> 0b
 start_kernel (debian/build/b/init/main.c:5)
 memcpy (arch/x86/lib/memcpy.S:9)
$ printf '[vmlinux+0x1005]\n[vmlinux+0x1105]\n' | gsym filter --quiet vmlinux.gsym
[vmlinux+0x1005] start_kernel at debian/build/b/init/main.c:5
[vmlinux+0x1105] memcpy at /build/linux/arch/x86/lib/memcpy.S:9
$ printf '[vmlinux+0x1005]\n[vmlinux+0x1105]\n' | gsym filter --quiet --strip-prefix=auto vmlinux.gsym
[vmlinux+0x1005] start_kernel at init/main.c:5
[vmlinux+0x1105] memcpy at arch/x86/lib/memcpy.S:9
$ rm vmlinux.gsym roots.sym
# As on a terminal: what was added is coloured, long names are folded, and inlined calls in the middle of a line are counted.
$ printf '%s\n' 'MODULE Linux x86_64 000000000000000000000000000000010 names' 'FUNC 1000 10 0 ns::sort<std::vector<int, std::allocator<int> >, ns::less<int> >::operator<<(std::map<int, int>) const' 'FUNC 1010 10 0 short<int>()' 'FUNC 1020 10 0 <alloc::vec::Vec<T,A> as core::clone::Clone>::clone_into_a_target::<core::iter::Map<A> >' 'FUNC 1030 10 0 ns::f_whose_name_is_long_enough_to_be_folded_but_is_damaged<int' 'FUNC 1040 10 0 std::function<void ()>::operator->() const [with a long tail of words]' >names.sym; gsym convert --quiet names.sym -o names.gsym
$ printf '[names+0x10%s8]\n' 0 1 2 3 4 >log; gsym filter --quiet --color=always names.gsym <log | tr '\033' E
[names+0x1008]E[36m ns::sort<...>::operator<<(std::map<...>) const+0x8E[39m
[names+0x1018]E[36m short<int>()+0x8E[39m
[names+0x1028]E[36m <alloc::vec::Vec<...> as core::clone::Clone>::clone_into_a_target::<...>+0x8E[39m
[names+0x1038]E[36m ns::f_whose_name_is_long_enough_to_be_folded_but_is_damaged<int+0x8E[39m
[names+0x1048]E[36m std::function<...>::operator->() const [with a long tail of words]+0x8E[39m
$ gsym filter --quiet --color=always --full-names names.gsym <log | tr '\033' E | head -1
[names+0x1008]E[36m ns::sort<std::vector<int, std::allocator<int> >, ns::less<int> >::operator<<(std::map<int, int>) const+0x8E[39m
$ gsym filter --quiet names.gsym <log | head -1
[names+0x1008] ns::sort<std::vector<int, std::allocator<int> >, ns::less<int> >::operator<<(std::map<int, int>) const+0x8
$ printf '%s\n' 'at deadbeef00010203+0xc.' '    #1 0x5581f7f2a00c  (/opt/plain+0xc)' ' main+0xc/0x20' ' other+0xc/0x20' '{"a":"deadbeef00010203+0xc"}' >log; gsym filter --quiet --color=always plain.gsym <log | tr '\033' E
at deadbeef00010203+0xcE[36m main at /src/app/main.cc:11 (2 inlined)E[39m.
    #1 0x5581f7f2a00cE[36m in square /src/app/include/shape.h:3E[39m
    #1 0x5581f7f2a00cE[36m in Shape::area() const /src/app/include/shape.h:8E[39m
    #1 0x5581f7f2a00cE[36m in main /src/app/main.cc:11E[39m
 E[36mShape::area() const (include/shape.h:7) [inlined]E[39m
 E[36mmain (main.cc:11)E[39m
 other+0xc/0x20
{"a":"deadbeef00010203+0xc square at /src/app/include/shape.h:3 (inlined by) Shape::area() const at /src/app/include/shape.h:8 (inlined by) main at /src/app/main.cc:11"}
$ gsym filter --quiet --color=always --full-names plain.gsym <log | tr '\033' E | head -1
at deadbeef00010203+0xcE[36m square at /src/app/include/shape.h:3 (inlined by) Shape::area() const at /src/app/include/shape.h:8 (inlined by) main at /src/app/main.cc:11E[39m.
$ script -qec 'gsym filter --quiet plain.gsym <log' /dev/null | tr -d '\r' | tr '\033' E | head -1; NO_COLOR=1 script -qec 'gsym filter --quiet plain.gsym <log' /dev/null | tr -d '\r' | head -1; script -qec 'gsym filter --quiet --color=never plain.gsym <log' /dev/null | tr -d '\r' | head -1
at deadbeef00010203+0xcE[36m main at /src/app/main.cc:11 (2 inlined)E[39m.
at deadbeef00010203+0xc main at /src/app/main.cc:11 (2 inlined).
at deadbeef00010203+0xc main at /src/app/main.cc:11 (2 inlined).
$ gsym filter --quiet --color=always --format=json names.gsym <log | grep -c "$(printf '\033')"
0
[1]
$ printf '[names+0x1000] 3\n' | gsym filter --quiet --color=always --style=folded names.gsym
ns::sort<std::vector<int, std::allocator<int> >, ns::less<int> >::operator<<(std::map<int, int>) const 3
$ rm names.gsym names.sym
# ThreadSanitizer has no addresses, and an arm64 kernel repeats where the processor was.
$ printf '    #0 <null> <null> (plain+0xc) (BuildId: deadbeef00010203)\n    #1 <null> <null> (plain+0x15) (BuildId: deadbeef00010203)\n\npc : main+0xc/0x20\nlr : _start+0x4/0x10\nCall trace:\n main+0xc/0x20\n main+0x15/0x20\n' >log; cat log
    #0 <null> <null> (plain+0xc) (BuildId: deadbeef00010203)
    #1 <null> <null> (plain+0x15) (BuildId: deadbeef00010203)

pc : main+0xc/0x20
lr : _start+0x4/0x10
Call trace:
 main+0xc/0x20
 main+0x15/0x20
$ gsym filter --strip-prefix=/src/app plain.gsym <log
    #0 square include/shape.h:3
    #0 Shape::area() const include/shape.h:8
    #0 main main.cc:11 (plain+0xc) (BuildId: deadbeef00010203)
    #1 main main.cc:12 (plain+0x15) (BuildId: deadbeef00010203)

pc : square (include/shape.h:3) [inlined]
pc : Shape::area() const (include/shape.h:8) [inlined]
pc : main (main.cc:11)
lr : _start+0x4/0x10
Call trace:
 square (include/shape.h:3) [inlined]
 Shape::area() const (include/shape.h:8) [inlined]
 main (main.cc:11)
 main (main.cc:12)
gsym filter: 5 of 5 frames explained; of 1 more the log has all that is known
# backtrace_symbols() of the C library, and strace -k: offsets in a module, or from a symbol.
$ printf '%b' "./plain(+0x1015)[0x565153841015]\n./plain(main+0x15) [0x565153841015]\n/lib/x86_64-linux-gnu/libc.so.6(+0x2724a)[0x7f646fff924a]\nwrite(1, \"hi\\\\n\", 3) = 3\n > /opt/app/plain(main+0xc) [0x100c]\n > /opt/app/plain(_start+0x4) [0x1104]\n > /opt/app/plain() [0x1015]\n" >log; cat log
./plain(+0x1015)[0x565153841015]
./plain(main+0x15) [0x565153841015]
/lib/x86_64-linux-gnu/libc.so.6(+0x2724a)[0x7f646fff924a]
write(1, "hi\n", 3) = 3
 > /opt/app/plain(main+0xc) [0x100c]
 > /opt/app/plain(_start+0x4) [0x1104]
 > /opt/app/plain() [0x1015]
$ gsym filter --strip-prefix=/src/app plain.gsym <log
./plain(+0x1015)[0x565153841015] main at main.cc:12
./plain(main+0x15) [0x565153841015] main at main.cc:12
/lib/x86_64-linux-gnu/libc.so.6(+0x2724a)[0x7f646fff924a]
write(1, "hi\n", 3) = 3
 > /opt/app/plain(main+0xc) [0x100c] Shape::area() const at include/shape.h:7 (inlined by) main at main.cc:11
 > /opt/app/plain(_start+0x4) [0x1104]
 > /opt/app/plain() [0x1015]
gsym filter: 3 of 5 frames explained; of 1 more the log has all that is known
gsym filter: /lib/x86_64-linux-gnu/libc.so.6: 1 frame not explained: the log has no id, and no FILE has this name; give that object file or its GSYM file
gsym filter: /opt/app/plain: 1 frame not explained: the log has offsets in the file, which GSYM alone cannot translate; give the program or --mount
# Java, Wine, LLDB, WinDbg, sample and spindump.
$ printf '%b' "C  [plain+0xc]\nC  [plain+0x15]  main+0x15\n=>0 0x7bc0000c in plain (+0xc) (0x0032fe28)\n  1 0x7bc00015 in plain (+0x15) (0x0032fe98)\n  * frame #0: 0x000055555555500c plain\`main + 12\n    frame #1: 0x0000555555555104 plain\`_start + 4 at start.S:1\nplain!main+0xc\n  +   2 ??? (in plain)  load address 0x104a78000 + 0xc  [0x104a7800c]\n  12  ??? (plain + 12) [0x104a7800c]\n    12  ??? (<DEADBEEF-0001-0203> + 21) [0x104a78015]\n" >log; cat log
C  [plain+0xc]
C  [plain+0x15]  main+0x15
=>0 0x7bc0000c in plain (+0xc) (0x0032fe28)
  1 0x7bc00015 in plain (+0x15) (0x0032fe98)
  * frame #0: 0x000055555555500c plain`main + 12
    frame #1: 0x0000555555555104 plain`_start + 4 at start.S:1
plain!main+0xc
  +   2 ??? (in plain)  load address 0x104a78000 + 0xc  [0x104a7800c]
  12  ??? (plain + 12) [0x104a7800c]
    12  ??? (<DEADBEEF-0001-0203> + 21) [0x104a78015]
$ gsym filter --strip-prefix=/src/app plain.gsym <log
C  [plain+0xc] square at include/shape.h:3 (inlined by) Shape::area() const at include/shape.h:8 (inlined by) main at main.cc:11
C  [plain+0x15] main at main.cc:12  main+0x15
=>0 0x7bc0000c in plain (+0xc) Shape::area() const at include/shape.h:7 (inlined by) main at main.cc:11 (0x0032fe28)
  1 0x7bc00015 in plain (+0x15) main at main.cc:12 (0x0032fe98)
  * frame #0: 0x000055555555500c plain`main + 12 square at include/shape.h:3 (inlined by) Shape::area() const at include/shape.h:8 (inlined by) main at main.cc:11
    frame #1: 0x0000555555555104 plain`_start + 4 at start.S:1
plain!main+0xc square at include/shape.h:3 (inlined by) Shape::area() const at include/shape.h:8 (inlined by) main at main.cc:11
  +   2 ??? (in plain)  load address 0x104a78000 + 0xc  [0x104a7800c] Shape::area() const at include/shape.h:7 (inlined by) main at main.cc:11
  12  ??? (plain + 12) [0x104a7800c] Shape::area() const at include/shape.h:7 (inlined by) main at main.cc:11
    12  ??? (<DEADBEEF-0001-0203> + 21) [0x104a78015] main at main.cc:12
gsym filter: 9 of 9 frames explained; of 1 more the log has all that is known
# Names of Windows' modules: without their ending, in any case, with '_' for other characters. The kind counts if both have it.
$ cp plain.gsym App.exe.gsym; cp plain.gsym libstdc++-6.dll.gsym; printf '%b' "app!main+0x15\n\nAPP.EXE!main+0x15\n\napp.dll!main+0x15\n\nlibstdc___6!main+0x15\n\nFaulting module name: LIBSTDC++-6.DLL, version: 1\nFault offset: 0x15\n" >log; gsym filter --strip-prefix=/src/app App.exe.gsym libstdc++-6.dll.gsym <log
app!main+0x15 main at main.cc:12

APP.EXE!main+0x15 main at main.cc:12

app.dll!main+0x15

libstdc___6!main+0x15 main at main.cc:12

Faulting module name: LIBSTDC++-6.DLL, version: 1
Fault offset: 0x15 main at main.cc:12
gsym filter: 4 of 5 frames explained
gsym filter: app.dll: 1 frame not explained: the log has no id, and no FILE has this name; give that object file or its GSYM file
# minidump_stackwalk, as text and with -m.
$ printf '%b' " 0  plain + 0xc\n    rip = 0x0000000000400010\n 1  plain + 0x15\n 2  libc.so.6 + 0x27249\nModule|plain|1.0|plain|DEADBEEF00010203|0x400000|0x400fff|1\n0|0|plain||||0xc\n0|1|plain||||0x14\n0|2|libc.so.6||||0x27249\n0|3|plain|known|known.c|7|0x4\n" >log; cat log
 0  plain + 0xc
    rip = 0x0000000000400010
 1  plain + 0x15
 2  libc.so.6 + 0x27249
Module|plain|1.0|plain|DEADBEEF00010203|0x400000|0x400fff|1
0|0|plain||||0xc
0|1|plain||||0x14
0|2|libc.so.6||||0x27249
0|3|plain|known|known.c|7|0x4
$ gsym filter --strip-prefix=/src/app plain.gsym <log
 0  plain + 0xc square at include/shape.h:3 (inlined by) Shape::area() const at include/shape.h:8 (inlined by) main at main.cc:11
    rip = 0x0000000000400010
 1  plain + 0x15 main at main.cc:12
 2  libc.so.6 + 0x27249
Module|plain|1.0|plain|DEADBEEF00010203|0x400000|0x400fff|1
0|0|plain|square|include/shape.h|3|0xc
0|0|plain|Shape::area() const|include/shape.h|8|0xc
0|0|plain|main|main.cc|11|0xc
0|1|plain|main|main.cc|12|0x14
0|2|libc.so.6||||0x27249
0|3|plain|known|known.c|7|0x4
gsym filter: 4 of 6 frames explained
gsym filter: libc.so.6: 2 frames not explained: the log has no id, and no FILE has this name; give that object file or its GSYM file
# Symbols of the kernel without a size, as bpftrace, ftrace, perf and crash print them.
$ printf '%b' "@[\n    main+12\n    main+21\n]: 3\n => main+0x15\n\tffffffff81000015 main+0x15 ([kernel.kallsyms])\n\t    55a6236dd015 main+0x15 (/opt/app/plain)\n\t    7f60b8199015 [unknown] (/usr/lib/libother.so)\n    [exception RIP: main+12]\n #5 [ffffc90000013e58] main+21 at ffffffff81000015\n" >log; cat log
@[
    main+12
    main+21
]: 3
 => main+0x15
	ffffffff81000015 main+0x15 ([kernel.kallsyms])
	    55a6236dd015 main+0x15 (/opt/app/plain)
	    7f60b8199015 [unknown] (/usr/lib/libother.so)
    [exception RIP: main+12]
 #5 [ffffc90000013e58] main+21 at ffffffff81000015
$ gsym filter --strip-prefix=/src/app plain.gsym <log
@[
    square (include/shape.h:3) [inlined]
    Shape::area() const (include/shape.h:8) [inlined]
    main (main.cc:11)
    main (main.cc:12)
]: 3
 => main (main.cc:12)
	ffffffff81000015 main (main.cc:12) ([kernel.kallsyms])
	    55a6236dd015 main at main.cc:12 (/opt/app/plain)
	    7f60b8199015 [unknown] (/usr/lib/libother.so)
    [exception RIP: square (include/shape.h:3) [inlined]
    [exception RIP: Shape::area() const (include/shape.h:8) [inlined]
    [exception RIP: main (main.cc:11)]
 #5 [ffffc90000013e58] main (main.cc:12) at ffffffff81000015
gsym filter: 7 of 8 frames explained
gsym filter: /usr/lib/libother.so: 1 frame not explained: nothing tells what was there in memory; give --maps, --pid, --core or --base
# perf knows functions by aliases, clones and the names of parts, too: then one that is called alike starts where its address says. A sample beside its event is no return address.
$ printf '%b' "\t            1015 __GI_main+0x15 (/opt/plain)\n\t            1016 __GI_main+0x15 (/opt/plain)\n\t            1015 other+0x15 (/opt/plain)\n   a 11 0.1: 250 cycles: 1015 main+0x15 (/opt/plain)\n   a 11 0.2: 250 cycles: 1000 main+0x0 (/opt/plain)\n" >log; cat log
	            1015 __GI_main+0x15 (/opt/plain)
	            1016 __GI_main+0x15 (/opt/plain)
	            1015 other+0x15 (/opt/plain)
   a 11 0.1: 250 cycles: 1015 main+0x15 (/opt/plain)
   a 11 0.2: 250 cycles: 1000 main+0x0 (/opt/plain)
$ gsym filter --strip-prefix=/src/app plain.gsym <log
	            1015 main at main.cc:12 (/opt/plain)
	            1016 __GI_main+0x15 (/opt/plain)
	            1015 other+0x15 (/opt/plain)
   a 11 0.1: 250 cycles: 1015 main at main.cc:12 (/opt/plain)
   a 11 0.2: 250 cycles: 1000 main at main.cc:10 (/opt/plain)
gsym filter: 3 of 5 frames explained
gsym filter: /opt/plain: 2 frames not explained: no function of the image has the name in the log; another build may have written it
# A handler returns to the first byte of a function that no call is before, and what the signal interrupted called nothing.
$ printf 'MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 app\nFILE 0 a.c\nFUNC 1000 10 0 before\n1000 10 3 0\nFUNC 1010 10 0 crash\n1010 10 7 0\nFUNC 2000 9 0 __restore_rt\n2000 9 1 0\n' >app.sym; printf '%s\n' './app(+0x1008)[0x561008]' './app(+0x2000)[0x562000]' './app(+0x1010)[0x561010]' './app(+0x1010)[0x561010]' | gsym filter app.sym
./app(+0x1008)[0x561008] before at a.c:3
./app(+0x2000)[0x562000] __restore_rt at a.c:1
./app(+0x1010)[0x561010] crash at a.c:7
./app(+0x1010)[0x561010] before at a.c:3
gsym filter: 4 of 4 frames explained
# An offset in the file is not one in memory; the segments tell, which GSYM does not have. Without an id another name is another module.
$ printf '%b' "plain[4711]: segfault at 0 ip 00007f51c000100c sp 00007ffc90be4eb0 error 4 in plain[100c,7f51c0000000+1000] likely on CPU 0\nlibplain.so+0xc /opt/app/plain+0xc plain+0xc at main.cc:11\n" >log; cat log
plain[4711]: segfault at 0 ip 00007f51c000100c sp 00007ffc90be4eb0 error 4 in plain[100c,7f51c0000000+1000] likely on CPU 0
libplain.so+0xc /opt/app/plain+0xc plain+0xc at main.cc:11
$ gsym filter --strip-prefix=/src/app plain.gsym <log
plain[4711]: segfault at 0 ip 00007f51c000100c sp 00007ffc90be4eb0 error 4 in plain[100c,7f51c0000000+1000] likely on CPU 0
libplain.so+0xc /opt/app/plain+0xc plain+0xc at main.cc:11
gsym filter: 0 of 2 frames explained; of 1 more the log has all that is known
gsym filter: plain: 1 frame not explained: the log has offsets in the file, which GSYM alone cannot translate; give the program or --mount
gsym filter: libplain.so: 1 frame not explained: the log has no id, and no FILE has this name; give that object file or its GSYM file
# Addresses in memory: of mappings in the log, of a file of mappings, and of what the user knows.
$ printf '%b' "7f51c0001000-7f51c0002000 r-xp 00000000 fe:00 1 /opt/app/plain\n7f51c0002000-7f51c0003000 rw-p 00001000 fe:00 1 /opt/app/plain\n" >maps; printf '%b' "  #0  0x00007f51c000100c in ?? ()\n  #1  0x00007f51c0001015 in ?? ()\n  1:     0x7f51c0001015 - <unknown>\n    @     0x7f51c0001015 (unknown)\n==9==    by 0x7F51C0001014: ??? (in /opt/app/plain)\nrip 0x7f51c0001104\n" >log; cat log
  #0  0x00007f51c000100c in ?? ()
  #1  0x00007f51c0001015 in ?? ()
  1:     0x7f51c0001015 - <unknown>
    @     0x7f51c0001015 (unknown)
==9==    by 0x7F51C0001014: ??? (in /opt/app/plain)
rip 0x7f51c0001104
$ gsym filter --strip-prefix=/src/app plain.gsym <log
  #0  0x00007f51c000100c in ?? ()
  #1  0x00007f51c0001015 in ?? ()
  1:     0x7f51c0001015 - <unknown>
    @     0x7f51c0001015 (unknown)
==9==    by 0x7F51C0001014: ??? (in /opt/app/plain)
rip 0x7f51c0001104
gsym filter: 0 of 5 frames explained
gsym filter: addresses: 5 frames not explained: nothing tells what was there in memory; give --maps, --pid, --core or --base
$ cat maps log | gsym filter --strip-prefix=/src/app plain.gsym
7f51c0001000-7f51c0002000 r-xp 00000000 fe:00 1 /opt/app/plain
7f51c0002000-7f51c0003000 rw-p 00001000 fe:00 1 /opt/app/plain
  #0  0x00007f51c000100c in square at include/shape.h:3
  #0  0x00007f51c000100c in Shape::area() const at include/shape.h:8
  #0  0x00007f51c000100c in main at main.cc:11
  #1  0x00007f51c0001015 in main at main.cc:12
  1:     0x7f51c0001015 - main at main.cc:12
    @     0x7f51c0001015 main at main.cc:12
==9==    by 0x7F51C0001014: main at main.cc:12 (in /opt/app/plain)
rip 0x7f51c0001104 _start+0x4
gsym filter: 6 of 6 frames explained
$ gsym filter --maps=maps --strip-prefix=/src/app plain.gsym <log
  #0  0x00007f51c000100c in square at include/shape.h:3
  #0  0x00007f51c000100c in Shape::area() const at include/shape.h:8
  #0  0x00007f51c000100c in main at main.cc:11
  #1  0x00007f51c0001015 in main at main.cc:12
  1:     0x7f51c0001015 - main at main.cc:12
    @     0x7f51c0001015 main at main.cc:12
==9==    by 0x7F51C0001014: main at main.cc:12 (in /opt/app/plain)
rip 0x7f51c0001104 _start+0x4
gsym filter: 6 of 6 frames explained
$ gsym filter --base=plain=0x7f51c0001000 --strip-prefix=/src/app plain.gsym <log
  #0  0x00007f51c000100c in square at include/shape.h:3
  #0  0x00007f51c000100c in Shape::area() const at include/shape.h:8
  #0  0x00007f51c000100c in main at main.cc:11
  #1  0x00007f51c0001015 in main at main.cc:12
  1:     0x7f51c0001015 - main at main.cc:12
    @     0x7f51c0001015 main at main.cc:12
==9==    by 0x7F51C0001014: main at main.cc:12 (in /opt/app/plain)
rip 0x7f51c0001104 _start+0x4
gsym filter: 6 of 6 frames explained
$ gsym filter --slide=7f51c0000000 --strip-prefix=/src/app plain.gsym <log
  #0  0x00007f51c000100c in square at include/shape.h:3
  #0  0x00007f51c000100c in Shape::area() const at include/shape.h:8
  #0  0x00007f51c000100c in main at main.cc:11
  #1  0x00007f51c0001015 in main at main.cc:12
  1:     0x7f51c0001015 - main at main.cc:12
    @     0x7f51c0001015 main at main.cc:12
==9==    by 0x7F51C0001014: main at main.cc:12 (in /opt/app/plain)
rip 0x7f51c0001104 _start+0x4
gsym filter: 6 of 6 frames explained
$ (printf '%b' "heap_v2/524288\n  t*: 1: 16 [0: 0]\n@ 0x7f51c000100d 0x7f51c0001015\n\nMAPPED_LIBRARIES:\n"; cat maps) | gsym filter --quiet plain.gsym
heap_v2/524288
  t*: 1: 16 [0: 0]
@ 0x7f51c000100d square at /src/app/include/shape.h:3 (inlined by) Shape::area() const at /src/app/include/shape.h:8 (inlined by) main at /src/app/main.cc:11 0x7f51c0001015 main at /src/app/main.cc:12

MAPPED_LIBRARIES:
7f51c0001000-7f51c0002000 r-xp 00000000 fe:00 1 /opt/app/plain
7f51c0002000-7f51c0003000 rw-p 00001000 fe:00 1 /opt/app/plain
# Pointers with a signature (PAC), a tag (MTE), or those of a kernel.
$ printf '%b' "  #0  0x00557f51c000100c in ?? ()\n  #1  0xb4007f51c0001015 in ?? ()\n  #2  0xffff7f51c0001015 in ?? ()\n" | gsym filter --maps=maps --strip-prefix=/src/app plain.gsym
  #0  0x00557f51c000100c in square at include/shape.h:3
  #0  0x00557f51c000100c in Shape::area() const at include/shape.h:8
  #0  0x00557f51c000100c in main at main.cc:11
  #1  0xb4007f51c0001015 in main at main.cc:12
  #2  0xffff7f51c0001015 in ?? ()
gsym filter: 2 of 3 frames explained
gsym filter: addresses: 1 frame not explained: nothing tells what was there in memory; give --maps, --pid, --core or --base
$ gsym filter --maps=none plain.gsym <log
gsym filter: none: No such file or directory
[1]
$ gsym filter --pid=x plain.gsym <log
gsym filter: option '--pid': invalid value 'x'; allowed is a process ID; try 'gsym filter --help'
[2]
$ gsym filter --core=log plain.gsym <log
gsym filter: log: not an ELF core file, or truncated
[1]
$ gsym filter --base=x plain.gsym <log
gsym filter: option '--base': invalid value 'x'; allowed is ADDRESS or NAME=ADDRESS
[2]
$ gsym filter --slide=1 plain.gsym merged.gsym <log
gsym filter: option '--slide': needs one FILE; try 'gsym filter --help'
[2]
$ gsym filter --slide=x plain.gsym <log
gsym filter: option '--slide': invalid value 'x'; allowed is an address
[2]
# Several kernels: the release in the log tells which. A file of another release is not used.
$ cp plain.gsym vmlinux-6.1.0-56-amd64.debug.gsym; mkdir -p 6.12.5/kernel; cp plain.gsym 6.12.5/kernel/mod.ko.gsym; cp crafted.gsym vmlinux-6.1.0-5-amd64.gsym 2>/dev/null || cp merged.gsym vmlinux-6.1.0-5-amd64.gsym
$ printf '%s\n' '[1] RIP: 0010:main+0xc/0x20' '[2] CPU: 1 PID: 230 Comm: a #2 Tainted: G   W 6.1.0-56-amd64 #1 SMP Debian' '[3]  main+0x15/0x20' >log; gsym filter --strip-prefix=/src/app vmlinux-*.gsym <log
[1] RIP: 0010:square (include/shape.h:3) [inlined]
[1] RIP: 0010:Shape::area() const (include/shape.h:8) [inlined]
[1] RIP: 0010:main (main.cc:11)
[2] CPU: 1 PID: 230 Comm: a #2 Tainted: G   W 6.1.0-56-amd64 #1 SMP Debian
[3]  main (main.cc:12)
gsym filter: 2 of 2 frames explained
$ sed 's/-56-/-57-/' log | gsym filter vmlinux-*.gsym
[1] RIP: 0010:main+0xc/0x20
[2] CPU: 1 PID: 230 Comm: a #2 Tainted: G   W 6.1.0-57-amd64 #1 SMP Debian
[3]  main+0x15/0x20
gsym filter: 0 of 2 frames explained
gsym filter: vmlinux: 2 frames not explained: of another build: the log is of 6.1.0-57-amd64, the file of 6.1.0-5-amd64; give that of the log
$ printf '%s\n' 'Linux version 6.12.5 (a@b) #1 SMP' ' main+0x15/0x20 [mod]' 'Linux version 6.1.0-56-amd64' ' main+0x15/0x20' >log; gsym filter --strip-prefix=/src/app vmlinux-*.gsym 6.12.5/kernel/mod.ko.gsym <log
Linux version 6.12.5 (a@b) #1 SMP
 main (main.cc:12) [mod]
Linux version 6.1.0-56-amd64
 main (main.cc:12)
gsym filter: 2 of 2 frames explained
# Silent.
$ gsym filter --quiet plain.gsym <log >out; wc -l <out
4
# Folded functions: nobody says which one it is. (Lines that begin with # would be comments here.)
$ printf '0x1004\n0x1014\n\n0x1004\n' | gsym stack merged.gsym | sed 's/^#/ #/'
 #0  f::one() at /src/app/fold.cc:5
 #1  f::one() at /src/app/fold.cc:5

 #0  f::one() at /src/app/fold.cc:5

$ printf '0x1004\n0x1014\n' | gsym stack --all merged.gsym | sed 's/^#/ #/'
 #0  f::one() at /src/app/fold.cc:5
or  f::two() at /src/app/fold.cc:9
or  f_three+0x4 at ??:0
 #1  f::one() at /src/app/fold.cc:5

$ printf '0x1004\n0x1014\n\n0x1004\n' | gsym stack --mark-merged merged.gsym | sed 's/^#/ #/'
 #0  f::one() [merged 3] at /src/app/fold.cc:5
 #1  f::one() at /src/app/fold.cc:5

 #0  f::one() [merged 3] at /src/app/fold.cc:5

$ printf '0x1004\n0x1014\n' | gsym stack --all --mark-merged merged.gsym | sed 's/^#/ #/'
 #0  f::one() [merged 3] at /src/app/fold.cc:5
or  f::two() [merged 3] at /src/app/fold.cc:9
or  f_three+0x4 [merged 3] at ??:0
 #1  f::one() at /src/app/fold.cc:5

$ printf '#0 0x55c8ec9c4004  (/bin/merged+0x4)\n' >log; gsym filter merged.gsym <log | sed 's/^#/ #/'; gsym filter --mark-merged merged.gsym <log | sed 's/^#/ #/'
gsym filter: 1 of 1 frames explained
 #0 0x55c8ec9c4004 in f::one() /src/app/fold.cc:5
gsym filter: 1 of 1 frames explained
 #0 0x55c8ec9c4004 in f::one() [merged 3] /src/app/fold.cc:5
# Of several files an address alone names none.
$ printf '100c\ndeadbeef00010203 100c\n' | gsym stack --format=tsv plain.gsym nested.gsym
0	0	0	100c	0	??	0x0	??	0	-	-	??
0	1	0	0x100c	0	Shape::area() const	0x8	/src/app/include/shape.h	7	i	plain.gsym	_ZNK5Shape4areaEv
0	1	0	0x100c	1	main	0xc	/src/app/main.cc	11	-	plain.gsym	main
$ printf 'deadbeef00010203 0x100c\n0x1014\nnonsense\n0123456789abcdef 0x1\n' | gsym stack --format=tsv plain.gsym
0	0	0	0x100c	0	square	0x0	/src/app/include/shape.h	3	i	plain.gsym	square
0	0	0	0x100c	1	Shape::area() const	0x8	/src/app/include/shape.h	8	i	plain.gsym	_ZNK5Shape4areaEv
0	0	0	0x100c	2	main	0xc	/src/app/main.cc	11	-	plain.gsym	main
0	1	0	0x1014	0	square	0x8	/src/app/include/shape.h	3	i	plain.gsym	square
0	1	0	0x1014	1	Shape::area() const	0x10	/src/app/include/shape.h	8	i	plain.gsym	_ZNK5Shape4areaEv
0	1	0	0x1014	2	main	0x14	/src/app/main.cc	11	-	plain.gsym	main
0	2	0	nonsense	0	??	0x0	??	0	-	plain.gsym	??
0	3	0	0x1	0	??	0x0	??	0	-	-	??
$ printf 'DEADBEEF-0001-0203 0x100c\n' | gsym stack --format=json plain.gsym merged.gsym
{"Stack":0,"Frame":0,"Candidate":0,"Address":"0x100c","ModuleName":"plain.gsym","Source":"debug","Symbol":[{"Column":0,"Discriminator":0,"FileName":"/src/app/include/shape.h","FunctionName":"square","Inlined":true,"Line":3,"LinkageName":"square","Offset":"0x0","StartAddress":"0x100c","StartFileName":"","StartLine":0},{"Column":0,"Discriminator":0,"FileName":"/src/app/include/shape.h","FunctionName":"Shape::area() const","Inlined":true,"Line":8,"LinkageName":"_ZNK5Shape4areaEv","Offset":"0x8","StartAddress":"0x1004","StartFileName":"","StartLine":0},{"Column":0,"Discriminator":0,"FileName":"/src/app/main.cc","FunctionName":"main","Inlined":false,"Line":11,"LinkageName":"main","Offset":"0xc","StartAddress":"0x1000","StartFileName":"","StartLine":0}]}
# What stands before a number says what it is; a GSYM file has no segments.
$ printf 'deadbeef00010203/rva 0xc\n\ndeadbeef00010203/base/0x7f00000 0x7f00010\n\nby-name/plain/ra 0x1015\n\ndeadbeef00010203/off 0x1\n\ndeadbeef00010203/base 0x1\n\nby-name/ 0x1\n' | gsym stack --format=tsv plain.gsym
0	0	0	0xc	0	square	0x0	/src/app/include/shape.h	3	i	plain.gsym	square
0	0	0	0xc	1	Shape::area() const	0x8	/src/app/include/shape.h	8	i	plain.gsym	_ZNK5Shape4areaEv
0	0	0	0xc	2	main	0xc	/src/app/main.cc	11	-	plain.gsym	main
1	0	0	0x7f00010	0	square	0x4	/src/app/include/shape.h	3	i	plain.gsym	square
1	0	0	0x7f00010	1	Shape::area() const	0xc	/src/app/include/shape.h	8	i	plain.gsym	_ZNK5Shape4areaEv
1	0	0	0x7f00010	2	main	0x10	/src/app/main.cc	11	-	plain.gsym	main
2	0	0	0x1015	0	main	0x15	/src/app/main.cc	12	-	plain.gsym	main
3	0	0	0x1	0	??	0x0	??	0	-	-	??
4	0	0	deadbeef00010203/base 0x1	0	??	0x0	??	0	-	-	??
5	0	0	by-name/ 0x1	0	??	0x0	??	0	-	-	??
# Wrong calls.
$ gsym filter
gsym filter: missing operand 'FILE' or option '--mount=DIR'; try 'gsym filter --help'
[2]
$ gsym stack
gsym stack: missing operand 'FILE' or option '--mount=DIR'; try 'gsym stack --help'
[2]
$ gsym stack --format=xml plain.gsym
gsym stack: option '--format': invalid value 'xml'; allowed is text, tsv, json, atos or gsymutil
[2]
$ gsym filter --by-name plain.gsym
gsym filter: option '--by-name': needs '--mount'; try 'gsym filter --help'
[2]
$ gsym filter --demangle=rust plain.gsym
gsym filter: option '--demangle': invalid value 'rust'; allowed is auto or ada
[2]
$ printf '%s\n' '{{{symbol:pck__proc}}}' | gsym filter --demangle=ada plain.gsym
pck.proc
gsym filter: no frames found: no line of the log names a module and an offset in it, or an address that --maps, --pid, --core or --base would place in one
$ gsym filter none.gsym </dev/null
gsym filter: none.gsym: No such file or directory
[1]
$ gsym stack --help
Usage: gsym stack [OPTION...] [FILE...]
Prints the functions, files and lines of the frames of stacks on standard input: lines of
"ID ADDRESS", innermost frame first, an empty line after each stack. "ID/rva", "ID/off"
and "ID/base/LOAD" say what the number counts from, and "by-name/NAME" names a file. Call
sites recorded at the return addresses tell merged functions apart. FILE is a GSYM file, or an
object file, which is converted once.

Options:
      --arch=ARCH             use the image for ARCH of a universal (fat)
                              object file
      --cache=DIR             directory of converted object files (default: that
                              of gsymfs, ~/.cache/gsymfs or, for root,
                              /var/cache/gsymfs)
      --mount=DIR             find images by their ids below DIR, where gsymfs is
                              mounted
      --all                   show all merged functions that the calls allow,
                              not one of them
      --format=text|tsv|json|atos|gsymutil
                              output format (default text)
      --approximate           where the line is 0, show the nearest before it in
                              the same function
      --base=ADDRESS          the only FILE was loaded at ADDRESS; NAME=ADDRESS:
                              module NAME was; may be repeated
      --slide=NUMBER          the only FILE was loaded at its link-time
                              address and NUMBER
      --strip-prefix=DIR      remove DIR from the beginning of paths; auto: the
                              directory of all sources of an image, but those
                              below /usr, as filter does for kernels by default;
                              none; may be repeated
      --mark-merged           in text, add [merged N] to the name of a function
                              that shares its code
      --demangle=auto|ada     names to demangle: C++, Rust, D and OCaml (auto,
                              the default), or Ada as well
      --no-demangle           print names as they are stored
      --verbose               say on standard error why an answer is unknown, as
                              is done on a terminal
  -h, --help                  print this help
  -V, --version               print the version

Examples:
  gsym stack app.gsym < stacks
  gsym stack --mount=/mnt/sym --format=tsv < stacks
$ gsym filter --help
Usage: gsym filter [OPTION...] [FILE...]
Copies a log from standard input to standard output and adds functions, files and lines to
the addresses in it. FILE is a GSYM file, or an object file, which is converted once.

Options:
      --arch=ARCH             use the image for ARCH of a universal (fat)
                              object file
      --cache=DIR             directory of converted object files (default: that
                              of gsymfs, ~/.cache/gsymfs or, for root,
                              /var/cache/gsymfs)
      --mount=DIR             find images by their ids below DIR, where gsymfs is
                              mounted
      --by-name               find them there by file name if the log has no id
                              and only one image has that name
      --maps=FILE             addresses in memory are of the mappings in FILE,
                              as in /proc/PID/maps; may be repeated
      --pid=PID               they are of this process
      --core=FILE             they are of the process with this core file
      --base=ADDRESS          the only FILE was loaded at ADDRESS; NAME=ADDRESS:
                              module NAME was; may be repeated
      --slide=NUMBER          the only FILE was loaded at its link-time
                              address and NUMBER
      --strip-prefix=DIR      remove DIR from the beginning of paths; auto: the
                              directory of all sources of an image, but those
                              below /usr, as filter does for kernels by default;
                              none; may be repeated
      --format=log|json|stack output: the log, an object for each frame and for
                              the text between, or stacks for 'gsym stack'
                              (default log)
      --style=log|folded      input: any log, or folded stacks of flame graphs
                              (default log)
      --color=auto|always|never
                              mark what was added, and shorten it as on a
                              terminal (default auto)
      --full-names            on a terminal, print template arguments of long
                              names, and inlined calls in the middle of a line
      --approximate           where the line is 0, show the nearest before it in
                              the same function
      --mark-merged           in text, add [merged N] to the name of a function
                              that shares its code
      --demangle=auto|ada     names to demangle: C++, Rust, D and OCaml (auto,
                              the default), or Ada as well
      --no-demangle           print names as they are stored
      --quiet                 do not tell what was not explained, and why
  -h, --help                  print this help
  -V, --version               print the version

Examples:
  dmesg | gsym filter --mount=/mnt/sym --by-name
  ./app 2>&1 | gsym filter app.gsym
# Objects for programs: one for each frame, whose first of a line has its text, and one for each line between. What is not explained has a reason.
$ printf 'a "b"\t\\\n    #0 0x5581f7f2a00c  (/opt/plain+0xc)\n    #1 0x5581f7f2a015  (/opt/plain+0x15)\r\n#0 0x1 (/opt/none+0x4)\nno end' | gsym filter --quiet --format=json --strip-prefix=/src/app plain.gsym
{"line":1,"text":"a \"b\"\t\\"}
{"line":2,"text":"    #0 0x5581f7f2a00c  (/opt/plain+0xc)","module":"/opt/plain","id":"deadbeef00010203","address":"0x100c","frames":[{"function":"square","file":"include/shape.h","line":3,"inlined":true},{"function":"Shape::area() const","file":"include/shape.h","line":8,"inlined":true},{"function":"main","file":"main.cc","line":11}]}
{"line":3,"text":"    #1 0x5581f7f2a015  (/opt/plain+0x15)","module":"/opt/plain","id":"deadbeef00010203","address":"0x1015","frames":[{"function":"main","file":"main.cc","line":12}]}
{"line":4,"text":"#0 0x1 (/opt/none+0x4)","module":"/opt/none","id":"","address":"0x4","reason":"no image has the id or name"}
{"line":5,"text":"no end"}
# Stacks for gsym stack, an empty line after each; the first frame may be a return address, too.
$ printf 'text\n    #0 0x5581f7f2a00c  (/opt/plain+0xc)\n    #1 0x5581f7f2a015  (/opt/plain+0x15)\nBuildId: x\n./plain(+0x1015)[0x1]\n/opt/other(+0x4)[0x1]\n0123456789abcdef0123+0x10\n0123456789abcdef0123 0x10\n' >log; gsym filter --quiet --format=stack plain.gsym <log
deadbeef00010203 0x100c
deadbeef00010203 0x1016

deadbeef00010203/ra 0x1015

0123456789abcdef0123/rva 0x10
0123456789abcdef0123 0x11

$ gsym filter --quiet --format=stack plain.gsym <log | gsym stack plain.gsym | sed 's/^#/frame /'
frame 0  square at /src/app/include/shape.h:3
     (inlined by) Shape::area() const at /src/app/include/shape.h:8
     (inlined by) main at /src/app/main.cc:11
frame 1  main at /src/app/main.cc:12

frame 0  main at /src/app/main.cc:12

frame 0  ?? at ??:0
frame 1  ?? at ??:0

# Folded stacks: a frame for each inlined call. Lines without a count, and what is no frame as a whole, stay.
$ printf 'main;[plain+0xd];printf 5\n/opt/plain+0xc 12\nplain+0xd;x plain+0xd y 3\nplain+0x15;[none+0x4] x\n' | gsym filter --style=folded plain.gsym
main;main;Shape::area() const;square;printf 5
main;Shape::area() const;square 12
main;Shape::area() const;square;x plain+0xd y 3
plain+0x15;[none+0x4] x
gsym filter: 3 of 3 frames explained
$ gsym filter --style=folded --format=json plain.gsym
gsym filter: option '--style=folded': excludes '--format'; try 'gsym filter --help'
[2]
