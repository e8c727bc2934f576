import type { HostPattern } from '../host-pattern.js';
import { RELAY_PORT } from '../limits.js';

/**
 * Joins a port of the private loopback to the socket of the proxy. It listens before the command starts, moves out of
 * its way (another session, no child of it, no handles of it), and becomes the command. Perl, because every Debian
 * has it, it starts in two milliseconds, and it can become another program, which Node cannot.
 *
 * No module is loaded, not even `strict`: that would take five times as long as all the rest, at each start of a room. So the
 * numbers that `Socket`, `Fcntl`, `POSIX` and `Errno` have names for stand here: AF_UNIX 1, AF_INET 2, SOCK_STREAM 1,
 * SOL_SOCKET 1, SO_REUSEADDR 2, F_SETFL 4, O_NONBLOCK 2048, EINTR 4, EAGAIN 11. They are the same on x86-64 and aarch64.
 */
const SCRIPT = String.raw`
my ($port, $path, $setsid) = splice @ARGV, 0, 3;
my ($door, $in, $to);
socket($door, 2, 1, 0) && setsockopt($door, 1, 2, 1)
  && bind($door, pack('S n a4 x8', 2, $port, "\x7f\0\0\1")) && listen($door, 128) or die "relay: $!\n";
my $child = fork; defined $child or die "relay: $!\n";
if ($child) { waitpid $child, 0; close $door; exec { $ARGV[0] } @ARGV or exit 127 }
defined(my $again = fork) or exit 1; exit 0 if $again;
syscall $setsid + 0; open STDIN, '<', '/dev/null'; open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null';
for my $fd (3 .. 63) { if ($fd != fileno $door && open my $other, '<&=', $fd) { close $other } }
$SIG{PIPE} = 'IGNORE'; chdir '/';
sub again { $! == 11 || $! == 4 }
my (%peer, %sock, %out, %eof);
sub gone { my $n = shift; for my $m ($n, $peer{$n}) { next unless defined $m && $sock{$m}; close $sock{$m}; delete $sock{$m}; delete $out{$m}; delete $eof{$m}; } delete $peer{$peer{$n}} if defined $peer{$n}; delete $peer{$n} }
while (1) {
  my ($r, $w) = ('', '');
  vec($r, fileno $door, 1) = 1 if keys %sock < 200;
  for my $n (keys %sock) { vec($r, $n, 1) = 1 if !$eof{$n} && length $out{$peer{$n}} < 65536; vec($w, $n, 1) = 1 if length $out{$n} }
  select($r, $w, undef, undef) > 0 or next;
  for my $n (grep { vec $w, $_, 1 } keys %sock) {
    next unless $sock{$n};
    my $did = syswrite $sock{$n}, $out{$n};
    if (!defined $did) { gone($n) unless again; next }
    substr($out{$n}, 0, $did) = '';
    shutdown $sock{$n}, 1 if !length $out{$n} && $eof{$peer{$n}};
  }
  for my $n (grep { vec $r, $_, 1 } keys %sock) {
    next unless $sock{$n};
    my $did = sysread $sock{$n}, my $bytes, 65536;
    if (!defined $did) { gone($n) unless again; next }
    if (!$did) { $eof{$n} = 1; shutdown $sock{$peer{$n}}, 1 unless length $out{$peer{$n}} } else { $out{$peer{$n}} .= $bytes }
  }
  for my $n (keys %sock) { gone($n) if $sock{$n} && $eof{$n} && $eof{$peer{$n}} && !length $out{$n} && !length $out{$peer{$n}} }
  if (vec $r, fileno $door, 1) {
    undef $in; undef $to;
    next unless accept $in, $door;
    socket($to, 1, 1, 0) && connect($to, pack('S a108', 1, $path)) or next;
    fcntl $_, 4, 2048 for $in, $to;
    my ($a, $b) = (fileno $in, fileno $to);
    @sock{$a, $b} = ($in, $to); @peer{$a, $b} = ($b, $a); @out{$a, $b} = ('', ''); @eof{$a, $b} = (0, 0);
  }
}
`;

const isLoopback = ({ host }: HostPattern): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.');

/** The kernel's number for a new session. */
const SETSID: Readonly<Record<string, number>> = { x64: 112, arm64: 157 };

/** The argv in front of a command that gives it a way to the proxy. */
export function relayPrefix(perl: string, socket: string): string[] {
  return [perl, '-e', SCRIPT, '--', String(RELAY_PORT), socket, String(SETSID[process.arch])];
}

/**
 * The variables by which programs find the proxy. Some know only the small letters, some only the large. The private
 * loopback is reached directly, unless the list means the one of the machine.
 */
export function relayVariables(hosts: readonly HostPattern[]): Map<string, string> {
  const http = `http://127.0.0.1:${RELAY_PORT}`;
  const socks = `socks5h://127.0.0.1:${RELAY_PORT}`;
  const variables = new Map([
    ['HTTP_PROXY', http],
    ['HTTPS_PROXY', http],
    ['ALL_PROXY', socks],
    ['NO_PROXY', hosts.some(isLoopback) ? '' : 'localhost,127.0.0.1,::1'],
  ]);
  for (const [name, value] of [...variables]) variables.set(name.toLowerCase(), value);
  // Node reads the others from version 24 on, and only if told to.
  return variables.set('NODE_USE_ENV_PROXY', '1');
}
