#!/bin/sh
# Runs one shard of a suite and copies its store: shard.sh M N OUT
#
#   RUN    id of the run, the same for all shards
#   LOCAL  folder on a local disk for the store [default: /tmp/karat-RUN-M]
#   SUITE  suite file [default: karat.yaml]
#   KARAT  program [default: karat]
#
# TERM parks the run; started again, it continues. Ends with the code of the run. See docs/guides/scale-out.md.
set -u
if [ $# -ne 3 ] || [ -z "${RUN:-}" ]; then
    echo "usage: RUN=ID [LOCAL=DIR] [SUITE=FILE] $0 M N OUT" >&2
    exit 1
fi
m=$1 n=$2 out=$3
karat=${KARAT:-karat}
local=${LOCAL:-/tmp/karat-$RUN-$m}
store=sqlite:$local/karat.db
mkdir -p "$local" "$out" || exit 1

# A new disk: continue from the copy that the last attempt has left.
if [ ! -e "$local/karat.db" ] && [ -e "$out/$m.db" ]; then
    "$karat" store restore "$out/$m.db" --store "$store" || exit 1
fi

child=
trap '[ -z "$child" ] || kill -TERM "$child"' TERM INT
"$karat" run "${SUITE:-karat.yaml}" --shard "$m/$n" --run-id "$RUN" --resume --store "$store" -o "$local/report" &
child=$!
code=0
wait "$child" || code=$?
# A signal ends `wait` before the run has ended.
while kill -0 "$child" 2>/dev/null; do
    code=0
    wait "$child" || code=$?
done

# The copy replaces the last one at once, so that no reader sees half of it.
part=$out/.$m.db.$$
rm -f "$part"
if [ -e "$local/karat.db" ]; then
    "$karat" store backup "$part" --store "$store" && mv -f "$part" "$out/$m.db" || [ "$code" -ne 0 ] || code=1
fi
exit "$code"
