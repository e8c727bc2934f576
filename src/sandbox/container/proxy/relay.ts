import type { HostPattern } from '../host-pattern.js';
import { RELAY_PORT } from '../limits.js';

/**
 * Joins a port of the private loopback to the socket of the proxy. It listens before the command starts, moves out of
 * its way (another session, no child of it, no handles of it), and becomes the command. Perl, because every Debian
 * has it, it starts in a few milliseconds, and it can become another program, which Node cannot.
 */
const SCRIPT = String.raw`
use strict; use Socket;
my ($port, $path) = splice @ARGV, 0, 2;
my ($door, $in, $to);
socket($door, PF_INET, SOCK_STREAM, 0) && setsockopt($door, SOL_SOCKET, SO_REUSEADDR, 1)
  && bind($door, pack_sockaddr_in($port, INADDR_LOOPBACK)) && listen($door, 128) or die "relay: $!\n";
my $child = fork; defined $child or die "relay: $!\n";
if ($child) { waitpid $child, 0; close $door; exec { $ARGV[0] } @ARGV or exit 127 }
defined(my $again = fork) or exit 1; exit 0 if $again;
require POSIX; POSIX::setsid(); POSIX::close($_) for 0 .. 2; open STDIN, '<', '/dev/null'; open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null';
for my $fd (3 .. 63) { POSIX::close($fd) if $fd != fileno $door }
$SIG{PIPE} = 'IGNORE'; chdir '/';
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
    if (!defined $did) { gone($n) unless $!{EAGAIN} || $!{EINTR}; next }
    substr($out{$n}, 0, $did) = '';
    shutdown $sock{$n}, 1 if !length $out{$n} && $eof{$peer{$n}};
  }
  for my $n (grep { vec $r, $_, 1 } keys %sock) {
    next unless $sock{$n};
    my $did = sysread $sock{$n}, my $bytes, 65536;
    if (!defined $did) { gone($n) unless $!{EAGAIN} || $!{EINTR}; next }
    if (!$did) { $eof{$n} = 1; shutdown $sock{$peer{$n}}, 1 unless length $out{$peer{$n}} } else { $out{$peer{$n}} .= $bytes }
  }
  for my $n (keys %sock) { gone($n) if $sock{$n} && $eof{$n} && $eof{$peer{$n}} && !length $out{$n} && !length $out{$peer{$n}} }
  if (vec $r, fileno $door, 1) {
    undef $in; undef $to;
    next unless accept $in, $door;
    socket($to, PF_UNIX, SOCK_STREAM, 0) && connect($to, pack_sockaddr_un($path)) or next;
    for ($in, $to) { require Fcntl; fcntl $_, Fcntl::F_SETFL(), Fcntl::O_NONBLOCK() }
    my ($a, $b) = (fileno $in, fileno $to);
    @sock{$a, $b} = ($in, $to); @peer{$a, $b} = ($b, $a); @out{$a, $b} = ('', ''); @eof{$a, $b} = (0, 0);
  }
}
`;

const isLoopback = ({ host }: HostPattern): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.');

/** The argv in front of a command that gives it a way to the proxy. */
export function relayPrefix(perl: string, socket: string): string[] {
  return [perl, '-e', SCRIPT, '--', String(RELAY_PORT), socket];
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
