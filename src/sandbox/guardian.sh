#!/bin/sh
# Ends every registered session when the server is gone, however it went. Reads one line per event on standard input:
#   +PID  a session leader was started
#   ~PID  the leader ended and was reaped; its session may live on
#   -PID  nobody of the session is left
#   =MARK rooms are made, by programs with this word among their arguments
#   /PATH this folder is to be removed, with all that is in it
#   !PATH it is not
#   ^PATH control groups are to be removed: all whose path begins with this
# and acts when the input ends, which the kernel sees to even if the server was killed. Builtins only, but for
# removals and the pauses while rooms are searched: it works with an empty environment and on a machine that is out of processes.
trap '' INT TERM HUP QUIT PIPE TSTP
running=' '
ended=' '
mark=''
newline='
'
removals=$newline

without() { # LIST PID: sets $rest to the list without the pid
  case $1 in
    *" $2 "*) rest="${1%% "$2" *} ${1#* "$2" }" ;;
    *) rest=$1 ;;
  esac
}

# A room whose supervisor is killed while it is being made gets a first process that nobody supervises, in a session of its
# own. It bears the arguments of its supervisor, the mark among them. Looks until there was nobody for half a second, because
# what was forked a moment ago may not have become its program yet.
end_rooms() {
  [ "$mark" = '' ] && return
  quiet=0
  look=0
  while [ "$quiet" -lt 5 ] && [ "$look" -lt 50 ]; do
    look=$((look + 1))
    quiet=$((quiet + 1))
    for file in /proc/[0-9]*/cmdline; do
      line=''
      { IFS= read -r line <"$file"; } 2>/dev/null
      case $line in *"$mark"*) ;; *) continue ;; esac
      pid=${file#/proc/}
      kill -KILL "${pid%/cmdline}" 2>/dev/null && quiet=0
    done
    /bin/sleep 0.1 2>/dev/null || return
  done
}

# When nobody is left who could use it.
remove_folders() {
  while IFS= read -r line; do
    case $line in
      ^*) for path in "${line#^}"*; do /bin/rmdir "$path" 2>/dev/null; done ;;
      /?*/?*) /bin/rm -rf "$line" 2>/dev/null ;;
    esac
  done <<END
$removals
END
}

finish() {
  end_rooms
  remove_folders
  exit 0
}

while IFS= read -r line; do
  case $line in
    =*) mark=${line#=} && continue ;;
    /* | ^*) removals="$removals$line$newline" && continue ;;
    !*)
      case $removals in *"$newline${line#!}$newline"*)
        removals="${removals%%"$newline${line#!}$newline"*}$newline${removals#*"$newline${line#!}$newline"}"
        ;;
      esac
      continue
      ;;
  esac
  pid=${line#?}
  case $pid in '' | *[!0-9]*) continue ;; esac
  without "$running" "$pid"
  running=$rest
  without "$ended" "$pid"
  ended=$rest
  case $line in
    +*) running="$running$pid " ;;
    '~'*) ended="$ended$pid " ;;
  esac
done

# A living process with the number of a reaped leader is a stranger: the number was free, so the session was empty.
ours=$running
for pid in $ended; do
  [ -e "/proc/$pid" ] || ours="$ours$pid "
done
[ "$ours" = ' ' ] && finish

# Descendants count too, while their parents still live to prove it: hence everybody is found before anybody is killed.
# The rounds catch what was forked in between.
doomed=$ours
round=0
while [ "$round" -lt 20 ]; do
  round=$((round + 1))
  before=''
  while [ "$before" != "$doomed" ]; do
    before=$doomed
    for file in /proc/[0-9]*/stat; do
      { IFS= read -r line <"$file"; } 2>/dev/null || continue
      pid=${line%% *}
      # shellcheck disable=SC2086
      set -- ${line##*) }
      case $1 in Z | X) continue ;; esac
      case $doomed in *" $pid "*) continue ;; esac
      case $ours in *" $4 "*) doomed="$doomed$pid " && continue ;; esac
      case $doomed in *" $2 "*)
        doomed="$doomed$pid "
        [ "$4" = "$pid" ] && ours="$ours$pid "
        ;;
      esac
    done
  done
  alive=0
  if [ "$round" = 1 ]; then
    for pid in $running; do kill -KILL "-$pid" 2>/dev/null; done
  fi
  for pid in $doomed; do
    case $ended in *" $pid "*) continue ;; esac
    kill -KILL "$pid" 2>/dev/null && alive=1
  done
  [ "$alive" = 0 ] && [ "$round" -gt 1 ] && break
  doomed=' '
done
finish
