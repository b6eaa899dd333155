#!/usr/bin/awk -f
# Prints for each source file how many functions it has and how many bytes of code they are, the most bytes first.
#
#     awk -f functions-per-file.awk MOUNT/ID/functions.tsv
#
# What has no known file, such as assembly, is counted as "??".
BEGIN { FS = "\t"; order = "sort -k 2,2nr -k 3" }
{
	count[$4]++
	bytes[$4] += $2
}
END {
	for (file in count)
		printf "%6d %9d  %s\n", count[file], bytes[file], file | order
	close(order)
}
