#!/bin/sh
# Gives the metrics of mounts to Prometheus through the textfile collector of its node exporter.
#     prometheus-textfile.sh DIRECTORY MOUNT...
# To be run every minute or so, by a timer or cron. DIRECTORY is what --collector.textfile.directory says. A file is
# replaced as a whole, so that the exporter never reads half of it; that of a mount that does not answer is removed.
set -eu
if [ $# -lt 2 ] || [ "$1" = --help ]; then
	echo "usage: prometheus-textfile.sh DIRECTORY MOUNT..." >&2
	exit 2
fi
directory=$1
shift
status=0
for mount; do
	file=$directory/gsymfs$(printf %s "$mount" | tr -c 'A-Za-z0-9\n' _).prom
	if timeout 10 cat "$mount/metrics" > "$file.new" && [ -s "$file.new" ]; then
		mv "$file.new" "$file"
	else
		echo "prometheus-textfile.sh: $mount: no metrics" >&2
		rm -f "$file" "$file.new"
		status=1
	fi
done
exit $status
