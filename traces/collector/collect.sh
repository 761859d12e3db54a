#!/bin/sh
# Collects what a study of a batch cluster needs, on a login node of a site with Slurm, PBS or Torque, into one archive:
# accounting by day, the scheduler's configuration, and its state now. Names of users, groups, accounts, projects and jobs are
# replaced by keyed pseudonyms before the archive is made. The key stays here.
#
#     sh collect.sh [--from 2026-01-01] [--to 2026-03-31] [--key FILE] [--output FOLDER] [--scheduler slurm|pbs]
#                   [--accounting FOLDER] [--priv FOLDER]
#
# --from, --to      days of accounting, both included; the last 90 days where they are not given
# --key             file with the key of the pseudonyms, 32 to 64 characters; made where it is missing (collect.key beside the archive)
# --output          folder that gets the archive; this folder by default
# --scheduler       where both are there
# --accounting      PBS: folder of the accounting logs, $PBS_HOME/server_priv/accounting by default
# --priv            PBS: folder of sched_config, resource_group and holidays, $PBS_HOME/sched_priv by default
#
# It needs a POSIX shell, awk, sed, sort, tar and gzip, and python3, sha256sum or openssl. It changes nothing, and needs no rights but
# those to ask the scheduler and to read its files. What it may not read it names in MANIFEST.
set -u
umask 077
LC_ALL=C
export LC_ALL

fail() {
    echo "collect: $*" >&2
    exit 1
}

say() {
    echo "collect: $*" >&2
}

from='' to='' key='' output='.' scheduler='' accounting='' priv=''
while [ $# -gt 0 ]; do
    case $1 in
    --from | --to | --key | --output | --scheduler | --accounting | --priv)
        [ $# -ge 2 ] || fail "expected a value after $1"
        case $1 in
        --from) from=$2 ;;
        --to) to=$2 ;;
        --key) key=$2 ;;
        --output) output=$2 ;;
        --scheduler) scheduler=$2 ;;
        --accounting) accounting=$2 ;;
        --priv) priv=$2 ;;
        esac
        shift 2
        ;;
    -h | --help)
        sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) fail "expected an option such as --from, found $1; see sh $0 --help" ;;
    esac
done

has() {
    command -v "$1" >/dev/null 2>&1
}

for tool in awk sed sort tar gzip mktemp; do
    has $tool || fail "expected the program $tool, found none"
done
if [ -z "$scheduler" ]; then
    if has sacct; then
        scheduler=slurm
    elif has qmgr || has pbsnodes; then
        scheduler=pbs
    else
        fail "expected sacct (Slurm) or qmgr (PBS, Torque) on the PATH, found neither. Run it on a login node"
    fi
fi
case $scheduler in
slurm | pbs) ;;
*) fail "expected slurm or pbs as --scheduler, found $scheduler" ;;
esac

work=$(mktemp -d "${TMPDIR:-/tmp}/collect.XXXXXX") || fail "no folder could be made in ${TMPDIR:-/tmp}"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
[ -d "$output" ] || fail "expected a folder as --output, found none at $output"

# ---- days ----------------------------------------------------------------------------------------------------------------------

cat >"$work/days.awk" <<'END'
# The days from one to another, as 2026-03-01. With back, the day so long before `to`.
function number(day, p, y, m, e) {
    split(day, p, "-"); y = p[1] + 0; m = p[2] + 0
    if (m <= 2) y--
    e = int(y / 400); y -= e * 400
    return e * 146097 + y * 365 + int(y / 4) - int(y / 100) + int((153 * (m + (m > 2 ? -3 : 9)) + 2) / 5) + p[3] - 1
}
function day_of(n, e, d, y, o, m) {
    e = int(n / 146097); d = n - e * 146097
    y = int((d - int(d / 1460) + int(d / 36524) - int(d / 146096)) / 365)
    o = d - (365 * y + int(y / 4) - int(y / 100)); m = int((5 * o + 2) / 153)
    d = o - int((153 * m + 2) / 5) + 1
    return sprintf("%04d-%02d-%02d", y + e * 400 + (m >= 10), m < 10 ? m + 3 : m - 9, d)
}
BEGIN {
    if (back) print day_of(number(to) - back)
    else for (n = number(from); n <= number(to); n++) print day_of(n)
}
END

is_day() {
    case $1 in
    [12][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]) return 0 ;;
    *) return 1 ;;
    esac
}

[ -n "$to" ] || to=$(date +%Y-%m-%d)
is_day "$to" || fail "expected a day such as 2026-03-31 as --to, found $to"
[ -n "$from" ] || from=$(awk -v to="$to" -v back=90 -f "$work/days.awk" </dev/null)
is_day "$from" || fail "expected a day such as 2026-01-01 as --from, found $from"
awk -v from="$from" -v to="$to" -f "$work/days.awk" </dev/null >"$work/days"
[ -s "$work/days" ] || fail "expected --from before --to, found $from and $to"

# ---- the key -------------------------------------------------------------------------------------------------------------------

[ -n "$key" ] || key=$output/collect.key
if [ ! -e "$key" ]; then
    od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >"$key" || fail "no key could be made at $key"
    echo >>"$key"
    say "made the key $key. Keep it, and give it to nobody: with it pseudonyms can be looked up"
fi
tr -d '\n\r\t ' <"$key" >"$work/key"
length=$(wc -c <"$work/key")
[ "$length" -ge 32 ] && [ "$length" -le 64 ] || fail "expected a key of 32 to 64 characters in $key, found $((length))"

if has sha256sum; then
    sha() { sha256sum | cut -d' ' -f1; }
elif has openssl; then
    sha() { openssl dgst -sha256 -r | cut -d' ' -f1; }
elif has shasum; then
    sha() { shasum -a 256 | cut -d' ' -f1; }
elif has python3; then
    sha() { python3 -c 'import hashlib,sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())'; }
else
    fail "expected sha256sum, openssl, shasum or python3, found none"
fi

# Lines of kind, tab and name get a third column: kind-xxxxxxxxxx, the first 50 bits of HMAC-SHA256(key, kind NUL name) in base 32.
pseudonyms() {
    if has python3; then
        python3 -c '
import base64, hmac, sys
key = open(sys.argv[1], "rb").read()
for line in sys.stdin.buffer:
    kind, _, name = line.rstrip(b"\n").partition(b"\t")
    digest = hmac.new(key, kind + b"\0" + name, "sha256").digest()
    short = base64.b32encode(digest).lower()[:10]
    sys.stdout.buffer.write(kind + b"\t" + name + b"\t" + kind + b"-" + short + b"\n")
' "$work/key"
        return
    fi
    inner=$(pad 54) outer=$(pad 92)
    while IFS='	' read -r kind name; do
        first=$({ printf "$inner"; printf '%s\0%s' "$kind" "$name"; } | sha | awk -f "$work/octal.awk")
        hex=$({ printf "$outer"; printf "$first"; } | sha)
        printf '%s\t%s\t%s\n' "$kind" "$name" "$hex"
    done | awk -F '\t' -f "$work/base32.awk"
}

# The key, filled up to 64 bytes, with each byte changed by exclusive or, as escapes of printf.
pad() {
    awk -v with="$1" '
function xor(a, b, r, bit) {
    for (bit = 1; bit < 256; bit *= 2) { if (a % 2 != b % 2) r += bit; a = int(a / 2); b = int(b / 2) }
    return r + 0
}
BEGIN { for (i = 1; i < 256; i++) code[sprintf("%c", i)] = i }
{ for (i = 1; i <= 64; i++) printf "\\%03o", xor(i <= length($0) ? code[substr($0, i, 1)] : 0, with) }' "$work/key.line"
}

cat >"$work/octal.awk" <<'END'
{ for (i = 1; i < 64; i += 2) printf "\\%03o", (index("0123456789abcdef", substr($0, i, 1)) - 1) * 16 + index("0123456789abcdef", substr($0, i + 1, 1)) - 1 }
END
cat >"$work/base32.awk" <<'END'
{
    short = ""; left = 0; bits = 0
    for (i = 1; length(short) < 10; i++) {
        left = left * 16 + index("0123456789abcdef", substr($3, i, 1)) - 1; bits += 4
        if (bits >= 5) {
            unit = 1; for (k = 5; k < bits; k++) unit *= 2
            value = int(left / unit); left -= value * unit; bits -= 5
            short = short substr("abcdefghijklmnopqrstuvwxyz234567", value + 1, 1)
        }
    }
    print $1 "\t" $2 "\t" $1 "-" short
}
END
{ cat "$work/key"; echo; } >"$work/key.line"

# ---- collecting ----------------------------------------------------------------------------------------------------------------

raw=$work/raw
mkdir -p "$raw/accounting" "$raw/configuration" "$raw/state"
: >"$work/missing"

# Runs a command, and keeps what it prints as a file. Where it fails, MANIFEST says so.
keep() {
    file=$1
    shift
    if ! "$@" >"$raw/$file" 2>"$work/errors"; then
        echo "missing $file: $(head -n 1 "$work/errors" | cut -c 1-120)" >>"$work/missing"
        rm -f "$raw/$file"
    elif [ ! -s "$raw/$file" ]; then
        rm -f "$raw/$file"
    fi
}

# Copies a file where it may be read.
copy() {
    if [ -r "$2" ]; then
        cp "$2" "$raw/$1"
    else
        echo "missing $1: $2 is not there, or may not be read" >>"$work/missing"
    fi
}

SACCT='Account AdminComment AllocCPUS AllocGRES AllocNodes AllocTRES AssocID AveCPU AveCPUFreq AveDiskRead AveDiskWrite AvePages AveRSS
AveVMSize BlockID Cluster Constraints ConsumedEnergy ConsumedEnergyRaw CPUTime CPUTimeRAW DBIndex DerivedExitCode Elapsed ElapsedRaw Eligible
End ExitCode Flags Group JobID JobIDRaw JobName Layout Licenses MaxDiskRead MaxDiskReadNode MaxDiskReadTask MaxDiskWrite MaxDiskWriteNode
MaxDiskWriteTask MaxPages MaxPagesNode MaxPagesTask MaxRSS MaxRSSNode MaxRSSTask MaxVMSize MaxVMSizeNode MaxVMSizeTask MinCPU MinCPUNode
MinCPUTask NCPUS NNodes NodeList NTasks Partition Planned PlannedCPU PlannedCPURAW Priority QOS QOSRAW QOSREQ Reason ReqCPUFreq ReqCPUFreqGov
ReqCPUFreqMax ReqCPUFreqMin ReqCPUS ReqGRES ReqMem ReqNodes ReqTRES Reservation ReservationId Reserved ResvCPU ResvCPURAW Restarts SLUID
SegmentSize Start State Submit SubmitLine Suspended SystemCPU Timelimit TimelimitRaw TotalCPU TRESUsageInAve TRESUsageInMax
TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMin TRESUsageInMinNode TRESUsageInMinTask TRESUsageInTot TRESUsageOutAve TRESUsageOutMax
TRESUsageOutMaxNode TRESUsageOutMaxTask TRESUsageOutMin TRESUsageOutMinNode TRESUsageOutMinTask TRESUsageOutTot User UserCPU WCKey WCKeyID'
# Columns of sacct that hold no free text but what is replaced. Others, such as WorkDir and Comment, stay at the site.

ASSOC=Cluster,Account,ParentName,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmit,GrpWall,GrpTRESMins,GrpTRESRunMins,MaxJobs,MaxTRES
ASSOC=$ASSOC,MaxTRESPerNode,MaxSubmit,MaxWall,MaxTRESMins,QOS,DefaultQOS
QUALITIES=Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags,UsageThres,UsageFactor,GrpTRES,GrpTRESMins,GrpTRESRunMins
QUALITIES=$QUALITIES,GrpJobs,GrpSubmit,GrpWall,MaxTRES,MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPU,MaxJobsPU,MaxSubmitPU,MaxTRESPA
QUALITIES=$QUALITIES,MaxJobsPA,MaxSubmitPA,MinTRES

# Copies the files that one of Slurm includes, and those that these include. %c in a path is the cluster's name.
follow() {
    list="$work/follow.$(basename "$1")"
    sed -n 's/^[[:space:]]*[Ii][Nn][Cc][Ll][Uu][Dd][Ee][[:space:]][[:space:]]*//p' "$1" 2>/dev/null |
        sed "s/[[:space:]].*//;s/%c/$cluster/g" >"$list"
    while read -r file; do
        case $file in
        /*) path=$file ;;
        *) path=$folder/$file ;;
        esac
        name=$(basename "$file")
        [ -r "$path" ] && [ ! -e "$raw/configuration/$name" ] || continue
        copy "configuration/$name" "$path"
        echo "configuration/$name" >>"$work/included"
        (follow "$path")
    done <"$list"
}

collect_slurm() {
    version=$(sacct --version 2>/dev/null | head -n 1)
    sacct --helpformat 2>/dev/null | tr -s ' \t' '\n\n' | awk -v safe="$SACCT" -v left="$work/left_out" '
BEGIN { n = split(safe, names, /[ \n]+/); for (i = 1; i <= n; i++) is_safe[tolower(names[i])] = 1 }
$0 == "" { next }
tolower($0) in is_safe { printf "%s%s", comma, $0; comma = "," }
!(tolower($0) in is_safe) { print "left out column " $0 > left }' >"$work/columns"
    [ -s "$work/columns" ] || fail "expected column names from sacct --helpformat, found none. Is this a login node of the cluster?"
    SLURM_TIME_FORMAT=%s
    export SLURM_TIME_FORMAT
    while read -r day; do
        say "accounting of $day"
        keep "accounting/$day.psv" sacct --allusers --duplicates --parsable2 --delimiter='|#' \
            --starttime="${day}T00:00:00" --endtime="${day}T23:59:59" --format="$(cat "$work/columns")"
    done <"$work/days"
    unset SLURM_TIME_FORMAT
    say "configuration and state"
    keep configuration/config.txt scontrol show config
    keep configuration/partitions.txt scontrol --all show partition
    keep configuration/nodes.txt scontrol --all show node
    keep configuration/reservations.txt scontrol --all show reservation
    keep configuration/assoc.txt sacctmgr --parsable2 show assoc format="$ASSOC"
    keep configuration/qos.txt sacctmgr --parsable2 show qos format="$QUALITIES"
    conf=$(sed -n 's/^SLURM_CONF *= *//p' "$raw/configuration/config.txt" 2>/dev/null)
    conf=${SLURM_CONF:-${conf:-/etc/slurm/slurm.conf}}
    copy configuration/slurm.conf "$conf"
    folder=$(dirname "$conf")
    cluster=$(sed -n 's/^ClusterName *= *\([^[:space:]]*\).*/\1/p' "$raw/configuration/config.txt" "$conf" 2>/dev/null | head -n 1 | tr 'A-Z' 'a-z')
    for file in gres.conf topology.conf topology.yaml; do
        [ ! -r "$folder/$file" ] || copy "configuration/$file" "$folder/$file"
    done
    for file in "$conf" "$folder/gres.conf" "$folder/topology.conf"; do
        follow "$file"
    done
    keep state/sinfo.txt sinfo --all -N -o '%N|%P|%t|%c|%X|%Y|%Z|%m|%e|%G|%f|%w|%O'
    keep state/sdiag.txt sdiag
    keep state/sshare.txt sshare --all --long --parsable2
    keep state/sprio.txt sprio -o '%i|%r|%Y|%A|%B|%F|%J|%P|%Q|%N|%T'
    keep state/squeue.json squeue --all --json
}

collect_pbs() {
    home=${PBS_HOME:-$(sed -n 's/^PBS_HOME=//p' "${PBS_CONF_FILE:-/etc/pbs.conf}" 2>/dev/null)}
    for place in "$home" /var/spool/pbs /var/spool/torque /var/spool/PBS; do
        [ -n "$place" ] && [ -d "$place" ] && home=$place && break
    done
    [ -n "$accounting" ] || accounting=$home/server_priv/accounting
    [ -n "$priv" ] || priv=$home/sched_priv
    version=$(pbsnodes --version 2>&1 | head -n 1)
    while read -r day; do
        name=$(echo "$day" | tr -d -)
        for file in "$accounting/$name" "$accounting/$name.gz"; do
            case $file in
            *.gz) [ ! -r "$file" ] || gzip -dc "$file" >"$raw/accounting/$name" ;;
            *) [ ! -r "$file" ] || cp "$file" "$raw/accounting/$name" ;;
            esac
        done
    done <"$work/days"
    [ -n "$(ls "$raw/accounting")" ] || echo "missing accounting: no file of these days in $accounting that may be read" >>"$work/missing"
    say "configuration and state"
    keep configuration/qmgr.txt qmgr -c 'print server'
    keep configuration/qmgr_sched.txt qmgr -c 'list sched'
    keep configuration/pbsnodes.txt pbsnodes -av
    [ -s "$raw/configuration/pbsnodes.txt" ] || keep configuration/pbsnodes.txt pbsnodes -a
    for file in sched_config resource_group holidays dedicated_time; do
        copy "configuration/$file" "$priv/$file"
    done
    [ ! -r "$home/server_priv/nodes" ] || copy configuration/nodes "$home/server_priv/nodes"
    for place in /var/spool/maui /usr/local/maui /opt/maui "${MAUI_HOME:-/var/spool/maui}"; do
        [ ! -r "$place/maui.cfg" ] || cp "$place/maui.cfg" "$raw/configuration/maui.cfg"
    done
    keep state/qstat.json qstat -f -t -F json
    ! has pbs_rstat || keep state/pbs_rstat.txt pbs_rstat -f
}

version=''
: >"$work/left_out"
"collect_$scheduler"
[ -n "$(ls "$raw/accounting" "$raw/configuration" | grep -v ':$')" ] || {
    cat "$work/missing" >&2
    fail "nothing could be collected. Is this a login node, and may you ask the scheduler?"
}

# ---- replacing names -----------------------------------------------------------------------------------------------------------
# Each program is run twice: to list the names (mode=names), and to replace them (mode=replace).

cat >"$work/common.awk" <<'END'
function hidden(kind, name) {
    gsub(/\t/, " ", name)
    if (name == "" || name in stays) return name
    if (mode == "replace") return ((kind, name) in pseudonym) ? pseudonym[kind, name] : kind "-unknown"
    if (!((kind, name) in listed)) { listed[kind, name] = 1; print kind "\t" name > names }
    return name
}
# Names of a list with commas, each with the signs before it and the host behind it.
function hidden_list(kind, text, parts, n, i, sign, at, line) {
    n = split(text, parts, ",")
    for (i = 1; i <= n; i++) {
        sign = ""
        while (parts[i] ~ /^[ +=&*!^-]/) { sign = sign substr(parts[i], 1, 1); parts[i] = substr(parts[i], 2) }
        at = match(parts[i], /[@+&*^:]/) ? substr(parts[i], RSTART) : ""
        line = line (i > 1 ? "," : "") sign hidden(kind, RSTART > 0 ? substr(parts[i], 1, RSTART - 1) : parts[i]) at
    }
    return line
}
function tables(text, of, n, i, pairs, pair) {
    n = split(text, pairs, " ")
    for (i = 1; i <= n; i++) { split(pairs[i], pair, "="); of[pair[1]] = pair[2] }
}
BEGIN {
    words = "root (null) N/A none None ALL Unknown _pbs_project_default Scheduler Server PBS_GENERIC PBS_ALL DEFAULT batch extern interactive"
    for (i = split(words, cells, " "); i > 0; i--) stays[cells[i]] = 1
    if (mode == "replace")
        while ((getline row < table) > 0) { split(row, cells, "\t"); pseudonym[cells[1], cells[2]] = cells[3] }
}
END

cat >"$work/psv.awk" <<'END'
# Tables with a header line, such as sacct's and sacctmgr's.
BEGIN {
    tables("user=user group=group account=account parentname=account jobname=job wckey=project reservation=project admincomment=job", kind)
    tables("N=1 n=1 c=1 t=1 C=1 p=1 q=1 d=1 a=1 G=1 L=1 s=0 H=0 O=0 B=1 m=1 S=1 F=1", short)
    tables("nodes=1 ntasks=1 ntasks-per-node=1 ntasks-per-socket=1 ntasks-per-core=1 ntasks-per-gpu=1 cpus-per-task=1 mem=1 mem-per-cpu=1 " \
        "mem-per-gpu=1 gpus=1 gpus-per-node=1 gpus-per-task=1 gpus-per-socket=1 cpus-per-gpu=1 gres=1 time=1 time-min=1 constraint=1 prefer=1 " \
        "exclusive=0 nice=0 priority=1 array=1 dependency=1 partition=1 qos=1 licenses=1 hold=0 requeue=0 no-requeue=0 overcommit=0 " \
        "oversubscribe=0 share=0 spread-job=0 contiguous=0 cores-per-socket=1 sockets-per-node=1 threads-per-core=1 extra-node-info=1 hint=1 " \
        "distribution=1 mincpus=1 tmp=1 switches=1 begin=1 deadline=1 core-spec=1 thread-spec=1 use-min-nodes=0 test-only=0", long)
}
# The options of a submission that say what the job needs. The name of the script, and all that is behind it, stay at the site.
function options(text, words, n, i, name, line, takes) {
    n = split(text, words, " "); line = words[1]; sub(/.*\//, "", line)
    if (line !~ /^(sbatch|srun|salloc)$/) return ""
    for (i = 2; i <= n && words[i] ~ /^-/; i++) {
        if (words[i] ~ /^--/) {
            name = substr(words[i], 3); sub(/=.*/, "", name)
            takes = words[i] !~ /=/ && (name in long ? long[name] : i < n && words[i + 1] !~ /^-/ && name !~ /^(parsable|verbose|quiet|wait|reboot|get-user-env|propagate|no-kill|kill-on-invalid-dep)/)
            if (name in long) line = line " " words[i] (takes ? " " words[i + 1] : "")
        } else {
            name = substr(words[i], 2, 1)
            takes = length(words[i]) == 2 && (name in short ? short[name] : name !~ /[QWkvVhuI]/)
            if (name in short) line = line " " words[i] (takes ? " " words[i + 1] : "")
        }
        if (takes) i++
    }
    return line
}
function key_of(text, field, i, key) {
    split(text, field, separator)
    for (i = 1; i <= keys; i++) key = key SUBSEP field[key_column[i]]
    return key
}
FNR == 1 {
    columns = split($0, head, separator)
    for (i = 1; i <= columns; i++) {
        name = tolower(head[i]); of[i] = (name in kind) ? kind[name] : ""; line_of[i] = name == "submitline"
        if (name ~ /^(jobid|submit|start|end|state)$/) key_columns = key_columns " " i
    }
    keys = split(key_columns, key_column, " ")
    while (previous != "" && (getline row < previous) > 0) seen[key_of(row)] = 1  # a job of two days is in the files of both
    print; next
}
{
    if (split($0, field, separator) != columns) { odd++; next }
    if (previous != "" && key_of($0) in seen) next
    line = ""
    for (i = 1; i <= columns; i++) {
        text = field[i]
        if (of[i] == "account") {  # sshare indents accounts below their parents
            match(text, /^ */); text = substr(text, 1, RLENGTH) hidden(of[i], substr(text, RLENGTH + 1))
        } else if (of[i] != "") text = hidden(of[i], text)
        else if (line_of[i]) text = options(text)
        line = line (i > 1 ? mark : "") text
    }
    print line
}
END { if (odd && mode == "replace") print "left out lines " file ": " odd " with another number of columns" >> left }
END

cat >"$work/settings.awk" <<'END'
# Slurm's Key=Value texts: slurm.conf, and what scontrol shows.
BEGIN {
    tables("users=user accounts=account allowaccounts=account denyaccounts=account allowgroups=group groups=group reservationname=project " \
        "reservation=project coordinators=user", kind)
    free = "^(comment|reason|extra|nodeaddr|.*pass|.*password|.*loc|mailprog|storageuser|accountingstorageuser|jobcompuser|slurmuser|slurmduser)$"
}
{
    line = $0
    if (line ~ /^[ \t]*#/) next
    if (conf) sub(/[ \t]+#.*/, "", line)
    head = line; done = ""
    while (match(line, /[A-Za-z_][A-Za-z0-9_]*[ \t]*=[ \t]*/)) {
        name = tolower(substr(line, RSTART, RLENGTH)); gsub(/[ \t=]/, "", name)
        done = done substr(line, 1, RSTART + RLENGTH - 1); line = substr(line, RSTART + RLENGTH)
        if (name ~ free) { line = (name ~ /^(comment|reason|extra)$/) ? "" : substr(line, match(line, /[ \t]|$/)); continue }
        if (match(line, /^"[^"]*"/) || match(line, /^[^ \t]*/)) {
            text = substr(line, 1, RLENGTH); line = substr(line, RLENGTH + 1)
            done = done ((name in kind) ? hidden_list(kind[name], text) : text)
        }
    }
    print done line
}
END

cat >"$work/json.awk" <<'END'
# What squeue and qstat print as JSON, in lines or in one.
BEGIN {
    tables("user_name=user user=user euser=user group_name=group group=group egroup=group group_list=group account=account Account_Name=account " \
        "wckey=project project=project reserve_name=project resv_name=project name=job Job_Name=job Job_Owner=user owner=user", kind)
    free = "^(command|current_working_directory|standard_error|standard_input|standard_output|comment|admin_comment|system_comment|extra|" \
        "mcs_label|submit_line|container|container_id|batch_host|Error_Path|Output_Path|Submit_arguments|executable|argument_list|jobdir|" \
        "Mail_Users|User_List|Shell_Path_List|note|mail_user|state_description|sched_hint|hashname|session_id|umask)$"
}
{
    line = $0; done = ""
    if (skipping) { if (!match(line, /\}/)) next; line = substr(line, RSTART); skipping = 0 }
    gsub(/"(user_id|group_id)"[ ]*:[ ]*[0-9]+/, "\"user_id\": 0", line)
    while (match(line, /"[A-Za-z_]+"[ ]*:[ ]*("|\{)/)) {
        part = substr(line, RSTART, RLENGTH); name = part; sub(/^"/, "", name); sub(/".*/, "", name)
        done = done substr(line, 1, RSTART + RLENGTH - 1); line = substr(line, RSTART + RLENGTH)
        if (part ~ /\{$/) {
            if (name != "Variable_List") continue
            if (match(line, /\}/)) line = substr(line, RSTART)
            else { line = ""; skipping = 1 }
            continue
        }
        for (end = 1; end <= length(line) && substr(line, end, 1) != "\""; end++) if (substr(line, end, 1) == "\\") end++
        text = substr(line, 1, end - 1); line = substr(line, end)
        gsub(/\\\//, "/", text)
        if (name in kind) { at = index(text, "@"); done = done (at ? hidden(kind[name], substr(text, 1, at - 1)) substr(text, at) : hidden(kind[name], text)) }
        else if (name !~ free) done = done text
    }
    print done line
}
END

cat >"$work/records.awk" <<'END'
# PBS's accounting records: date;type;id;key=value key=value, where a value ends at the next key.
BEGIN {
    tables("user=user group=group egroup=group account=account project=project jobname=job name=job owner=user requestor=user Account_Name=account " \
        "Authorized_Users=user Authorized_Groups=group euser=user", kind)
    free = "^(submit_args|Submit_arguments|comment|Variable_List|executable|argument_list|submit_host|alt_id|Mail_Users|Error_Path|Output_Path|" \
        "init_work_dir|job_script|x)$"
}
function value_of(name, text, quote, at) {
    if (name ~ free) return ""
    if (!(name in kind)) return text
    if (name ~ /^Authorized/) return hidden_list(kind[name], text)
    quote = text ~ /^".*"$/ ? "\"" : ""
    if (quote != "") text = substr(text, 2, length(text) - 2)
    at = (kind[name] == "user") ? index(text, "@") : 0
    return quote (at ? hidden(kind[name], substr(text, 1, at - 1)) substr(text, at) : hidden(kind[name], text)) quote
}
{
    if (!match($0, /^[^;]*;[^;]*;[^;]*;/)) { odd++; next }
    done = substr($0, 1, RLENGTH); line = " " substr($0, RLENGTH + 1); name = ""
    while (match(line, /[ \t][A-Za-z_][A-Za-z0-9_.-]*=/)) {
        text = substr(line, 1, RSTART - 1)
        quoted = text; open = gsub(/"/, "", quoted) % 2
        if (open && match(line, /"[^"]*"/)) {
            rest = substr(line, RSTART + RLENGTH); text = substr(line, 1, RSTART + RLENGTH - 1)
            if (!match(rest, /[ \t][A-Za-z_][A-Za-z0-9_.-]*=/)) { line = text rest; break }
            text = text substr(rest, 1, RSTART - 1); line = rest
        }
        if (name != "") done = done value_of(name, text)
        else if (text !~ /^[ \t]*$/) done = done hidden("job", substr(text, 2))
        name = substr(line, RSTART + 1, RLENGTH - 2)
        done = done (name_seen++ ? " " : "") name "="
        line = substr(line, RSTART + RLENGTH)
    }
    sub(/[ \t\r]+$/, "", line)
    if (name != "") done = done value_of(name, line)
    else if (line !~ /=/) done = done substr(line, 2)
    print done
    name_seen = 0
}
END { if (odd && mode == "replace") print "left out lines " file ": " odd " that are no records" >> left }
END

cat >"$work/qmgr.awk" <<'END'
# What qmgr prints: statements and lists. An attribute is indented by four blanks (Torque: a tab), and a line that continues it by a tab.
function written(line, at, done, what, name) {
    if (line ~ /^[ \t]*#/ || line ~ /^[ \t]*$/) return
    if (line ~ /^(Sched|Server|Queue) /) { print line; return }
    if (line !~ /^(create|set) / && line !~ /^[ \t]+[A-Za-z0-9_.-]+ = /) return
    if (line ~ /^set hook|^create hook|(managers|operators|mail_from|mailer|comment|acl_roots|submit_hosts) \+?= /) return
    if (line ~ /(acl_users|acl_resv_users) \+?= /) { at = match(line, /= /); print substr(line, 1, at + 1) hidden_list("user", substr(line, at + 2)); return }
    if (line ~ /(acl_groups|acl_resv_groups) \+?= /) { at = match(line, /= /); print substr(line, 1, at + 1) hidden_list("group", substr(line, at + 2)); return }
    while (match(line, /[ugp]:("[^"]*"|[^="\]]+)=/)) {
        what = substr(line, RSTART, 1); name = substr(line, RSTART + 2, RLENGTH - 3)
        done = done substr(line, 1, RSTART + 1); line = substr(line, RSTART + RLENGTH - 1)
        gsub(/"/, "", name)
        done = done hidden(what == "u" ? "user" : what == "g" ? "group" : "project", name)
    }
    print done line
}
/^    [^ \t]/ { by_blanks = 1 }
joined != "" && ((/^\t/ && (by_blanks || !/^\t[A-Za-z0-9_.-]+ = /)) || (/^ / && !/^    [^ \t]/)) {
    rest = $0; sub(/^[ \t]+/, "", rest); joined = joined rest; next
}
{ written(joined); joined = $0 }
END { written(joined) }
END

cat >"$work/pairs.awk" <<'END'
# Indented `key = value` of pbsnodes and pbs_rstat.
BEGIN { tables("owner=user Authorized_Users=user Authorized_Groups=group Reserve_Owner=user Reserve_Name=project Account_Name=account", kind) }
/^[ \t]*(comment|note|Variable_List|Mail_Users|hpcbp_user_name|jobs) = / { skipping = 1; next }
skipping && /^\t/ { next }
{
    skipping = 0
    if (match($0, /^[ \t]*[A-Za-z_]+ = /)) {
        name = substr($0, 1, RLENGTH); gsub(/[ \t=]/, "", name)
        if (name in kind) { print substr($0, 1, RLENGTH) hidden_list(kind[name], substr($0, RLENGTH + 1)); next }
    }
    print
}
END

cat >"$work/maui.awk" <<'END'
/^[ \t]*#/ || /^[ \t]*$/ || /^[ \t]*(ADMIN|RMCFG|AMCFG|NOTIF|MAIL)/ { next }
{
    sub(/[ \t]+#.*/, "")
    line = $0; done = ""
    while (match(line, /(USERCFG|GROUPCFG|ACCOUNTCFG)\[[^]]*\]/)) {
        part = substr(line, RSTART, RLENGTH); open = index(part, "["); name = substr(part, open + 1, length(part) - open - 1)
        done = done substr(line, 1, RSTART - 1) substr(part, 1, open) hidden(tolower(substr(part, 1, open - 4)), name) "]"
        line = substr(line, RSTART + RLENGTH)
    }
    line = done line; done = ""
    while (match(line, /(USERLIST|GROUPLIST|ACCOUNTLIST|ADEF|ALIST|CHARGEACCOUNT)=[^ \t]*/)) {
        part = substr(line, RSTART, RLENGTH); open = index(part, "="); name = substr(part, 1, open - 1)
        done = done substr(line, 1, RSTART - 1) substr(part, 1, open)
        done = done hidden_list(name ~ /^USER/ ? "user" : name ~ /^GROUP/ ? "group" : "account", substr(part, open + 1))
        line = substr(line, RSTART + RLENGTH)
    }
    print done line
}
END

cat >"$work/shares.awk" <<'END'
# resource_group: what is nobody's parent is of the kind that fairshare_entity says.
/^[ \t]*#/ || NF < 4 { next }
{ name[++n] = $1; number[n] = $2; parent[n] = $3; share[n] = $4; above[$3] = 1 }
END { for (i = 1; i <= n; i++) print hidden(name[i] in above ? "account" : leaf, name[i]), number[i], hidden("account", parent[i]), share[i] }
END

cat >"$work/sdiag.awk" <<'END'
/statistics by user/ { skipping = 1 }
skipping && /^[ \t]*$/ { skipping = 0 }
!skipping { print }
END

cat >"$work/plain.awk" <<'END'
/^[ \t]*[#*]/ { next }
{ sub(/[ \t]+#.*/, ""); print }
END

cat >"$work/sweep.awk" <<'END'
# A last look: whole words that are names of users, wherever they still are.
BEGIN {
    n = split("set create queue queues server node nodes resource sched true false cpu cpus ncpus mem memory gres gpu gpus billing state user users group " \
        "groups account accounts job jobs name limit limits default none all any normal time day null yes no start end free down idle up", word, " ")
    for (i = 1; i <= n; i++) syntax[word[i]] = 1
    while ((getline row < table) > 0) {
        split(row, part, "\t")
        if (part[1] == "user" && part[2] ~ /[A-Za-z_]/ && length(part[2]) > 1 && !(part[2] in syntax)) user[part[2]] = part[3]
    }
}
function swept(text, pattern, line, done, token) {
    line = text
    while (match(line, pattern)) {
        token = substr(line, RSTART, RLENGTH); done = done substr(line, 1, RSTART - 1); line = substr(line, RSTART + RLENGTH)
        if (token in user) { token = user[token]; replaced++ }
        else if (pattern ~ /-/ && token ~ /[.-]/ && token !~ /^(user|group|account|project|job)-[a-z2-7]+$/) token = swept(token, "[A-Za-z0-9_]+")
        done = done token
    }
    return done line
}
{ print swept($0, "[A-Za-z0-9_][A-Za-z0-9_.-]*") }
END { if (replaced) print FILENAME ": " replaced > "/dev/stderr" }
END

leaf=user
case $(sed -n 's/^fairshare_entity: *//p' "$raw/configuration/sched_config" 2>/dev/null) in
egroup*) leaf=group ;;
Account* | account*) leaf=account ;;
esac

# Which program a file needs.
rewrite() {
    mode=$1 file=$2
    separator='[|]' mark='|' conf='' program='' previous=''
    case $file in
    accounting/*.psv)
        separator='[|]#' mark='|#' program=psv
        [ "$file" = "$first" ] || previous=$raw/$last
        last=$file
        ;;
    accounting/*) program=records ;;
    */assoc.txt | */qos.txt | */sshare.txt) program=psv ;;
    */slurm.conf | */gres.conf | */topology.conf) conf=1 program=settings ;;
    */config.txt | */partitions.txt | */nodes.txt | */reservations.txt | *.conf) program=settings ;;
    *.json) program=json ;;
    */qmgr*.txt) program=qmgr ;;
    */pbsnodes.txt | */pbs_rstat.txt) program=pairs ;;
    */maui.cfg) program=maui ;;
    */resource_group) program=shares ;;
    */sdiag.txt) program=sdiag ;;
    *) program=plain ;;
    esac
    if [ -s "$work/included" ] && grep -qxF "$file" "$work/included"; then conf=1 program=settings; fi
    awk -v mode="$mode" -v names="$work/names" -v table="$work/table" -v left="$work/left_out" -v separator="$separator" -v mark="$mark" \
        -v file="$file" -v conf="$conf" -v leaf="$leaf" -v previous="$previous" -f "$work/common.awk" -f "$work/$program.awk" "$raw/$file"
}

name=collected-$scheduler-$(date +%Y-%m-%d)
out=$work/$name
mkdir -p "$out/accounting" "$out/configuration" "$out/state"
(cd "$raw" && find . -type f | sed 's,^\./,,' | sort) >"$work/files"
first=$(grep '\.psv$' "$work/files" | head -n 1)
say "names"
last=''
while read -r file; do
    : >"$work/names"
    rewrite names "$file" >/dev/null || fail "$file could not be read"
    cat "$work/names" >>"$work/all_names"
done <"$work/files"
sort -u "$work/all_names" >"$work/names.sorted"
pseudonyms <"$work/names.sorted" >"$work/table"
[ "$(wc -l <"$work/table")" -eq "$(wc -l <"$work/names.sorted")" ] || fail "not every name got a pseudonym; nothing was packed"
last=''
while read -r file; do
    rewrite replace "$file" >"$work/rewritten" || fail "$file could not be rewritten"
    awk -v table="$work/table" -f "$work/sweep.awk" "$work/rewritten" >"$out/$file" 2>/dev/null || fail "$file could not be rewritten"
done <"$work/files"

# ---- packing -------------------------------------------------------------------------------------------------------------------

zone=${TZ:-$(cat /etc/timezone 2>/dev/null)}
[ -n "$zone" ] || zone=$(ls -l /etc/localtime 2>/dev/null | sed -n 's,.*zoneinfo/,,p')
{
    echo "tracehouse-collection 1"
    echo "scheduler $scheduler"
    echo "version $version"
    echo "time_zone ${zone:-UTC}"
    echo "from $from"
    echo "to $to"
    echo "key $(sha <"$work/key")"
    sort "$work/missing" "$work/left_out"
} >"$out/MANIFEST"
tar -cf - -C "$work" "$name" | gzip >"$work/archive" || fail "the archive could not be packed"
mv "$work/archive" "$output/$name.tar.gz" || fail "the archive could not be written to $output"
say "wrote $output/$name.tar.gz"
[ ! -s "$work/missing" ] || { say "not collected:"; sed 's/^missing /  /' "$work/missing" >&2; }
