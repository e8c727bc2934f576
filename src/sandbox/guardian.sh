#!/bin/sh
# Ends every registered session when the server is gone, however it went. Reads one line per event on standard input:
#   +PID  a session leader was started
#   ~PID  the leader ended and was reaped; its session may live on
#   -PID  nobody of the session is left
# and acts when the input ends, which the kernel sees to even if the server was killed. Builtins only: nothing is forked,
# so it works with an empty environment and on a machine that is out of processes.
trap '' INT TERM HUP QUIT PIPE TSTP
running=' '
ended=' '

without() { # LIST PID: sets $rest to the list without the pid
  case $1 in
    *" $2 "*) rest="${1%% "$2" *} ${1#* "$2" }" ;;
    *) rest=$1 ;;
  esac
}

while IFS= read -r line; do
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
[ "$ours" = ' ' ] && exit 0

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
  [ "$alive" = 0 ] && [ "$round" -gt 1 ] && exit 0
  doomed=' '
done
exit 0
