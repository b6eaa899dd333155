# What a mount has: an image by its build id, and names of files in by-name/.
$ mkdir -p m/deadbeef00010203 m/by-name/plain/deadbeef00010203 m/by-name/two/deadbeef00010203 m/by-name/two/deadbeef00010204 && touch m/q && cp plain.gsym m/deadbeef00010203/image.gsym && printf 'image_base\t0x1000\n' > m/deadbeef00010203/status
$ printf '    #0 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: deadbeef00010203)\n    #1 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: deadbeef00010209)\n' | gsym filter --mount=m
    #0 0x5581f7f2a00c in square /src/app/include/shape.h:3
    #0 0x5581f7f2a00c in Shape::area() const /src/app/include/shape.h:8
    #0 0x5581f7f2a00c in main /src/app/main.cc:11
    #1 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: deadbeef00010209)
gsym filter: 1 of 2 frames explained
gsym filter: /opt/app/plain (deadbeef00010209): 1 frame not explained: not mounted; add the file with this id to SOURCE
# Without a build id by the file's name, if that is asked, and only one image has it.
$ printf '    #0 0x5581f7f2a00c  (/opt/app/plain+0xc)\n    #1 0x5581f7f2a00c  (/opt/app/two+0xc)\n    #2 0x5581f7f2a00c  (/opt/app/none+0xc)\n' > log; gsym filter --mount=m < log
    #0 0x5581f7f2a00c  (/opt/app/plain+0xc)
    #1 0x5581f7f2a00c  (/opt/app/two+0xc)
    #2 0x5581f7f2a00c  (/opt/app/none+0xc)
gsym filter: 0 of 3 frames explained
gsym filter: /opt/app/plain: 1 frame not explained: the log has no id; give --by-name if the mount has the build that wrote the log
gsym filter: /opt/app/two: 1 frame not explained: the log has no id; give --by-name if the mount has the build that wrote the log
gsym filter: /opt/app/none: 1 frame not explained: the log has no id; give --by-name if the mount has the build that wrote the log
$ gsym filter --mount=m --by-name < log
    #0 0x5581f7f2a00c in square /src/app/include/shape.h:3
    #0 0x5581f7f2a00c in Shape::area() const /src/app/include/shape.h:8
    #0 0x5581f7f2a00c in main /src/app/main.cc:11
    #1 0x5581f7f2a00c  (/opt/app/two+0xc)
    #2 0x5581f7f2a00c  (/opt/app/none+0xc)
gsym filter: 1 of 3 frames explained
gsym filter: /opt/app/two: 1 frame not explained: the log has no id, and several builds have this name; give the GSYM file of the right one
gsym filter: /opt/app/none: 1 frame not explained: the log has no id, and nothing has this name; add the file to SOURCE
# An image that was given comes first; what no file is given for is looked for in the mount.
$ printf '    #0 0x5581f7f2a00c  (/opt/app/plain+0xc)\n    #1 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: deadbeef00010203)\n' | gsym filter --mount=m --by-name merged.gsym
    #0 0x5581f7f2a00c in square /src/app/include/shape.h:3
    #0 0x5581f7f2a00c in Shape::area() const /src/app/include/shape.h:8
    #0 0x5581f7f2a00c in main /src/app/main.cc:11
    #1 0x5581f7f2a00c in f::one() /src/app/fold.cc:5
gsym filter: 2 of 2 frames explained
# What cannot be read is told once, and is no success: another image may have the name.
$ mkdir m/deadbeef00010204 && ln -s loop m/loop && ln -s loop m/deadbeef00010204/image.gsym && ln -s loop m/deadbeef00010204/loop && ln -s ../loop m/by-name/odd
$ for i in 1 2 3; do printf '    #0 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: deadbeef00010204)\n\n'; done | gsym filter --mount=m
gsym filter: m/deadbeef00010204/image.gsym: Too many levels of symbolic links
    #0 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: deadbeef00010204)

    #0 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: deadbeef00010204)

    #0 0x5581f7f2a00c  (/opt/app/plain+0xc) (BuildId: deadbeef00010204)

gsym filter: 0 of 3 frames explained
gsym filter: /opt/app/plain (deadbeef00010204): 3 frames not explained: not found, but not all of the mount could be read, see above
[1]
$ printf '    #0 0x5581f7f2a00c  (/opt/app/odd+0xc)\n' | gsym filter --mount=m --by-name
gsym filter: m/by-name/odd: Too many levels of symbolic links
    #0 0x5581f7f2a00c  (/opt/app/odd+0xc)
gsym filter: 0 of 1 frames explained
gsym filter: /opt/app/odd: 1 frame not explained: not found, but not all of the mount could be read, see above
[1]
$ printf 'by-name/odd/base/0x1000 0x100c\n\ndeadbeef00010203/base/0x1000 0x100c\n' | gsym stack --format=tsv --mount=m
gsym stack: m/by-name/odd: Too many levels of symbolic links
0	0	0	0x100c	0	??	0x0	??	0	-	-	??
1	0	0	0x100c	0	square	0x0	/src/app/include/shape.h	3	i	deadbeef00010203	square
1	0	0	0x100c	1	Shape::area() const	0x8	/src/app/include/shape.h	8	i	deadbeef00010203	_ZNK5Shape4areaEv
1	0	0	0x100c	2	main	0xc	/src/app/main.cc	11	-	deadbeef00010203	main
[1]
$ rm m/deadbeef00010203/status && mkdir m/deadbeef00010203/status && printf 'deadbeef00010203/base/0x1000 0x100c\n' | gsym stack --format=tsv --mount=m
gsym stack: m/deadbeef00010203/status: Is a directory
0	0	0	0x100c	0	??	0x0	??	0	-	-	??
[1]
