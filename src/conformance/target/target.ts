/** What is judged: a command that is started for each check, or an address that is connected to. */
export type Target =
  | {
      readonly kind: 'command';
      readonly argv: readonly string[];
      /** The current folder unless given. */
      readonly cwd?: string;
      /** All of its environment, but for the mark by which the suite finds its processes; our own unless given. */
      readonly env?: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'url';
      /** `ws:`, `wss:`, `http:` or `https:`. */
      readonly url: string;
      /** Sent as a bearer token. */
      readonly token?: string;
      /** The environment, where nobody named the token: it may be meant for another target, and this one may need none. */
      readonly tokenFrom?: 'environment';
    };

/** The kinds of target that a suite can judge. */
export type TargetKind = 'command' | 'websocket' | 'http';

/** Which kind a target is, or nothing for an address of another scheme. */
export function kindOf(target: Target): TargetKind | undefined {
  if (target.kind === 'command') return 'command';
  if (!URL.canParse(target.url)) return undefined;
  const { protocol } = new URL(target.url);
  if (protocol === 'ws:' || protocol === 'wss:') return 'websocket';
  return protocol === 'http:' || protocol === 'https:' ? 'http' : undefined;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Whether the processes and files of a target are most likely those of this machine. It may be confined all the same. */
export function isOnThisMachine(target: Target): boolean {
  if (target.kind === 'command') return true;
  return URL.canParse(target.url) && LOOPBACK.test(new URL(target.url).hostname);
}

/** Names a target in one line. */
export function describeTarget(target: Target): string {
  return target.kind === 'url' ? target.url : target.argv.join(' ');
}
