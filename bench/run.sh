#!/usr/bin/env bash
# Measures reading speed against the programs that a user would search a log
# with, in one hyperfine call, so that the load of the machine cancels out.
# Needs hyperfine, ripgrep and jq.
#
#   bench/run.sh [ENGINE] [BYTES]     vllm and 1 GiB, if not given
#   bench/run.sh memory               peak memory at 1 and 10 GiB, and on a million failures
#   bench/run.sh growth               time from 1 MiB to 4 GiB
#   bench/run.sh start                process start to report, against a program that imports glamour
set -euo pipefail
cd "$(dirname "$0")/.."
work=${TMPDIR:-/tmp}/oomdoc-bench
mkdir -p "$work"
go build -o "$work/oomdoc" ./cmd/oomdoc
go build -o "$work/gen" ./bench/gen

# log writes a healthy log once and prints its path.
log() {
  [ -s "$work/$1-$2.log" ] || "$work/gen" -engine "$1" -size "$2" > "$work/$1-$2.log"
  echo "$work/$1-$2.log"
}

# ratios prints the medians of a hyperfine export, against the first command.
ratios() {
  jq -r '.results[0].median as $one | .results[] | "\(.median*1000|round/1000) s\t\(.user*1000|round/1000) s user\t\(.median/$one*1000|round/1000) x\t\(.command)"' "$1"
}

speed() {
  local file
  file=$(log "$1" "$2")
  "$work/oomdoc" keywords > "$work/keywords.txt"
  # Into a pipe: GNU grep stops at the first match when it writes to /dev/null.
  hyperfine --shell sh --output pipe -i --warmup 1 --runs "${RUNS:-5}" --export-json "$work/speed.json" \
    "grep -c -F -f $work/keywords.txt < $file" "rg -c -F -f $work/keywords.txt < $file" "wc -l < $file" "$work/oomdoc --format json < $file" >&2
  echo "$1, $2 bytes, $(wc -l < "$work/keywords.txt") keywords; ratios to grep -F"
  ratios "$work/speed.json"
}

# peak prints the most memory that a run took, in KiB.
peak() { /usr/bin/time -f '%M KiB, %U s user' "$work/oomdoc" --format json 2>&1 > "$work/report.json" | grep KiB; }

memory() {
  echo "1 GiB: $(peak < "$(log vllm 1073741824)")"
  echo "10 GiB: $("$work/gen" -engine vllm -size 10737418240 | peak)"
  echo "10^6 failures: $("$work/gen" -engine failing -size 370000000 | peak), count $(jq -c '[.incidents[].count]' "$work/report.json")"
  echo "10^6 failures, each with other figures: $("$work/gen" -engine varying -size 370000000 | peak)"
}

growth() {
  for mib in 1 4 16 64 256 1024 4096; do
    "$work/gen" -engine vllm -size $((mib << 20)) > "$work/growth.log"
    echo "$mib MiB: $(/usr/bin/time -f '%e s, %U s user' "$work/oomdoc" --format json < "$work/growth.log" 2>&1 > "$work/report.json" | grep user)"
  done
  rm "$work/growth.log"
}

start() {
  go build -o "$work/glamour" ./bench/glamour
  local crash=testdata/logs/pytorch/traceback-3k.log
  hyperfine -N -i --warmup 5 --runs 100 --export-json "$work/start.json" \
    "$work/glamour" "$work/oomdoc --format json $crash" >&2
  ratios "$work/start.json"
}

case ${1:-vllm} in
memory | growth | start) "$1" ;;
*) speed "${1:-vllm}" "${2:-1073741824}" ;;
esac
