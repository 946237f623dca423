#!/usr/bin/env bash
# Makes docs/screenshot.png: what a real terminal shows, xterm on a display of
# its own. Needs Xvfb, xterm, ImageMagick and DejaVu Sans Mono.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in Xvfb xterm import convert; do
  command -v "$tool" >/dev/null || { echo "screenshot: skipped, $tool is not here"; exit 0; }
done

work=$(mktemp -d)
pids=()
finish() {
  kill "${pids[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

go build -o "$work/oomdoc" ./cmd/oomdoc
cp testdata/logs/llamacpp/kv-refused-full-context.log "$work/server.log"
cat >"$work/session" <<'SESSION'
cd "$(dirname "$0")"
printf '$ oomdoc server.log\n'
./oomdoc server.log
printf '$ '
touch shown
sleep 60
SESSION

mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 1300x1000x24 -nolisten tcp 3>"$work/display" 2>/dev/null &
pids+=($!)
read -r display <"$work/display"
DISPLAY=:$display xterm -geometry 100x26+0+0 -fa 'DejaVu Sans Mono' -fs 12 -bg '#16191c' -fg '#e4e8ec' -b 12 +sb -e bash "$work/session" 2>/dev/null &
pids+=($!)
for _ in $(seq 100); do
  [ -f "$work/shown" ] && break
  sleep 0.1
done
[ -f "$work/shown" ] || { echo 'screenshot: the terminal showed nothing'; exit 1; }
sleep 0.5 # until it is painted
DISPLAY=:$display import -window root "$work/all.png"
convert "$work/all.png" -trim +repage -strip -colors 64 -define png:compression-level=9 docs/screenshot.png
echo docs/screenshot.png
