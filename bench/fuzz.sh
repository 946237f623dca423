#!/usr/bin/env bash
# Fuzzes every parser alone, one after the other, then the whole.
#
#   bench/fuzz.sh [TIME [PARSER...]]     10m each, if not given
#
# What it finds lands in testdata/fuzz of the package: mend it, and keep it.
# What it learned lies in $OOMDOC_FUZZ, and a later run goes on from there.
set -euo pipefail
cd "$(dirname "$0")/.."
each=${1:-10m}
shift || true
work=${OOMDOC_FUZZ:-${TMPDIR:-/tmp}/oomdoc-fuzz}
mkdir -p "$work"

# fuzz runs one target of a binary with a corpus of its own: package, target,
# name, further flags.
fuzz() {
  local binary=$work/$(basename "$1").test log=$work/$3.log
  (cd "$1" && "$binary" -test.run '^$' -test.fuzz "^$2\$" -test.fuzzcachedir "$work/$3" -test.fuzztime "$each" -test.fuzzminimizetime 20x -test.parallel 1 "${@:4}") > "$log" 2>&1 || true
  printf '%-18s %s\n' "$3" "$(grep '^fuzz: elapsed' "$log" | tail -n 1)"
  # "context deadline exceeded" alone is Go's own trouble with ending in time.
  ! grep -B 30 'Failing input written to' "$log"
}

go test -c -fuzz . -o "$work/parsers.test" ./parsers
go test -c -fuzz . -o "$work/diagnose.test" ./diagnose
[ $# -gt 0 ] || set -- $(cd parsers && "$work/parsers.test" -test.v -test.run '^TestParserNames$' | sed -n 's/^ *fuzz_test.go:[0-9]*: //p') whole
failed=0
for name; do
  if [ "$name" = whole ]; then
    fuzz diagnose FuzzRead whole || failed=1
  else
    fuzz parsers FuzzParser "$name" -parser "$name" || failed=1
  fi
done
exit $failed
