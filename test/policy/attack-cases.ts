/** Owns lines that once ran, wrote or showed something although they passed for harmless: what an attacker found. */
import { type BashCase, not, only, opaque } from "./BashCase.ts"

/** Where the parser gives up it gives the text, and bash runs what stands in it. */
const mistaken: ReadonlyArray<BashCase> = [
  opaque("x=($(touch pwned) b)c"),
  opaque("x=(`touch pwned`a)]"),
  opaque("x+=($(touch pwned))c ls"),
  opaque("declare x=($(touch pwned))c"),
  opaque("ls 2>(touch pwned)"),
  opaque("cat 2<(touch pwned)"),
  opaque("ls {x}>(touch pwned)"),
  only("echo 'a $(b) `c` <(d)' a\\$\\(b \"<(a)\" a$"),
  only("x=(a '$(b)' \"(c)\")"),
  only("[[ x =~ (a|b)$ ]]"),
]

/** A line that goes on in the middle of a word makes another word of it. */
const continued: ReadonlyArray<BashCase> = [
  not("xy=.env; x=a; cat $x\\\ny"),
  not('xy=.env; x=a; cat "$x\\\ny"'),
  not("cat $\\\n'a'"),
  not("cat $'.en\\\nv'"),
]

/** What a loop changes is not what it was, however the change is written. */
const loops: ReadonlyArray<BashCase> = [
  not("MAPFILE=0; while ((MAPFILE<1)); do mapfile -t < f; done"),
  not("i=0; while ((i<1)); do read -ai < f; done"),
  not("i=0; while ((i<1)); do read -r -a i < f; done"),
  not("x=i; i=0; while ((i<1)); do read $x < f; done"),
  not("x=i; i=0; while ((i<1)); do printf -v $x %s a; done"),
  not("i=0; while ((i<1)); do builtin read i < /w/f; done"),
  not("i=0; while ((i<1)); do declare 'i=b[1]'; done"),
  not("x=a; while cat $x; do : {x}< b; done"),
  only('i=0; while ((i<3)); do read -r l < f; echo "$l"; i=$((i+1)); done'),
  only("for t in a b; do command -v $t; done"),
]

/** Words that become other words than they seem. */
const words: ReadonlyArray<BashCase> = [
  not("x='.en\\v*'; cat $x"),
  not("x='.en\\v'; cat $x"),
  not("cat $'secr\\xc3\\xa9t'"),
  not("cat $'\\x{2e}env'"),
  not("sort $'\\x{2d}opwned' a"),
  not("cat $'\\u017f'"),
  not('cat $"a.txt"'),
  not("TEXTDOMAINDIR=/w/loc; ls"),
  not("cat a=~/:~"),
  not("cat x=~/{a,b}"),
  not('x="":~/a; cat $x'),
  not("y=a=~; cat $y"),
  not("x='a b'; cat [${x}]c"),
  not("set +B; cat {a,b}"),
  not("set +o braceexpand; cat {a,b}"),
  only("set -euo pipefail; cat a"),
]

/** Variables that programs take for instructions. */
const variables: ReadonlyArray<BashCase> = [
  not("LC_ALL=/w/evil ls"),
  not("LANGUAGE=../../w/evil ls"),
  not("TZ=:/w/evil date"),
  not("env LANG=/w/evil ls"),
  not("x=$(cat f); LANG=$x ls"),
  not("declare -x SOMETHING=1; ls"),
  not("export npm_config_cache=./x; npm --version"),
  only("TZ=Europe/Berlin date"),
  only("LC_ALL=C sort a"),
  only("for z in UTC Asia/Tokyo; do TZ=$z date; done"),
]

/** Programs that do more than their options seem to say. */
const programs: ReadonlyArray<BashCase> = [
  not("toybox rm x", { variants: ["rm x"] }),
  not("fakeroot -- rm x", { variants: ["rm x"] }),
  not("runuser -u me -- rm x", { variants: ["rm x"] }),
  only("od -c -w .env", { reads: ["/w/.env"] }),
  only("od --strings .env", { reads: ["/w/.env"] }),
  only("od --width=4 a", { reads: ["/w/a"] }),
  only("diff a b", { reads: ["/w/a", "/w/b", "/w/a/*", "/w/a/.*"] }),
  not("sed ':a#;w pwned' a"),
  not("sed 'ba#;w pwned' a"),
  not("jq -n '\"a\"|modulemeta'"),
  not("ps -e --forest -T"),
  not("ps -ef -o args= -p 1"),
  only("ps -ef --forest"),
  only("ps -eo pid,args --sort=pid"),
  not("date -f .env", { reads: ["/w/.env"] }),
  not("sed r.env a", { reads: ["/w/.env"] }),
  not("sed '$r.env' a", { reads: ["/w/.env"] }),
  not("tar cf - .", { reads: ["/w/**"] }),
  not("tar -c -C src .", { reads: ["/w/src/**"] }),
  not("cp -r . x", { reads: ["/w/**"] }),
  not("zip -r x.zip .", { reads: ["/w/**"] }),
  not("rsync -a src x", { reads: ["/w/src/**"] }),
]

/** Options that nobody expected still search everything below. */
const searches: ReadonlyArray<BashCase> = [
  not("grep -R x .", { reads: ["/w/**"], unknown: true }),
  not("grep --recurs x src", { reads: ["/w/src/**"], unknown: true }),
  not("egrep --dereference-rec x", { reads: ["/w/**"], unknown: true }),
  not("rg -L x", { reads: ["/w/**"], unknown: true }),
  not("rg -z x src", { reads: ["/w/src/**"], unknown: true }),
  not("diff -r c d", { reads: ["/w/c/**", "/w/d/**"], unknown: true }),
  not("grep --no-group-separator x a", { reads: ["/w/a"] }),
]

/** A name that the line itself makes lead elsewhere. */
const moved: ReadonlyArray<BashCase> = [
  not("touch d/../x", { writes: ["/w/x"], unknown: true }),
  not("cat d/../x", { reads: ["/w/x"], unknown: true }),
  not("echo a > d/../x", { writes: ["/w/x"], unknown: true }),
  not("cd d; touch ../x", { writes: ["/w/x"], unknown: true }),
  not("cp x/* d", { writes: ["/w/d", "/w/d/*"] }),
  not("mv x/.e* d/", { writes: ["/w/d/.e*"] }),
  not("cp a d*", { writes: ["/w/d*", "/w/d*/a"] }),
  not("cp -t d x/?", { writes: ["/w/d/?"] }),
  not("cp -d l? t && touch t/lk/x", { writes: ["/w/t/lk/x", "/w/lk/x", "/w/l?/lk/x"] }),
  not("mv link x && cp config x/config", { writes: ["/w/x/config", "/w/link/config"] }),
  not("mv link d/ && touch d/link/f", { writes: ["/w/link/f"] }),
  not("cp -d link x && echo a > x/config", { writes: ["/w/link/config"] }),
  not("ln -s ../b d/x; cat d/x/y", { reads: ["/w/b/y"] }),
  not("ln -s secrets s; cat s/key", { reads: ["/w/secrets/key"] }),
  not("mv a b; mv b c; cat c/d", { reads: ["/w/a/d"] }),
  not("cp -l .git/config x", { unknown: true }),
  not("cp -s .git/config x", { unknown: true }),
  not("cp --target=.git config", { unknown: true }),
  not("cp --rec a b", { unknown: true }),
  not("mv --targ=.git/hooks pre-commit", { unknown: true }),
]

export const attackCases: ReadonlyArray<BashCase> = [
  ...mistaken,
  ...continued,
  ...loops,
  ...words,
  ...variables,
  ...programs,
  ...searches,
  ...moved,
]
