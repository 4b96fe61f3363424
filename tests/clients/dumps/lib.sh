# For sourcing: a Millpond of its own at $mill, and how two servers are compared. Wants $root; $1 is Millpond's binary, or none.
target=${CARGO_TARGET_DIR:-$root/target}
binary=${1:-}
if [ -z "$binary" ]; then
    cargo build --quiet -p millpond-cli --manifest-path "$root/Cargo.toml"
    binary=$target/debug/millpond
fi

dir=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || { kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
    rm -rf "$dir"
}
trap cleanup EXIT
mill=$dir/sock
"$binary" serve --data "$dir/data" --socket "$mill" --port 0 --log-level warn >"$dir/out" 2>"$dir/log" &
server=$!
for _ in $(seq 1200); do
    grep -qs 'Stop with' "$dir/out" && break
    kill -0 "$server" 2>/dev/null || { cat "$dir/out" "$dir/log"; exit 1; }
    sleep 0.1
done

failed=0
# Whether names with backticks are there: mydumper 0.10 can't do them.
odd=yes
db() { mariadb --no-defaults -u root -S "$1" --default-character-set=utf8mb4 "${@:2}"; }
empty() { db "$1" -e 'DROP DATABASE IF EXISTS shop; DROP DATABASE IF EXISTS other; DROP DATABASE IF EXISTS odd'; }
# What a server says of the two databases.
look() {
    db "$1" -N -B <"$here/look.sql" 2>&1
    [ -z "$odd" ] || db "$1" -N -B -e 'SELECT *, HEX(`select`) FROM odd.`odd ``name` ORDER BY 1' 2>&1
}
# A step: its name, and the commands that are to say nothing.
step() {
    local name=$1 out
    shift
    if out=$("$@" 2>&1) && [ -z "$out" ]; then echo "ok    $name"; else echo "FAIL  $name"; head -40 <<<"$out"; failed=1; fi
}
# mydumper cuts programs into lines behind semicolons, and puts them together with a blank more.
same() { look "$1" | sed 's/; \\n/;\\n/g' >"$dir/look" && diff "$dir/first" "$dir/look"; }
