// Target: duplex-rpc, both sides. A guest program that lies talks to our host (`openWasm`); a host that lies talks to our guest side
// (`serveDuplex`) and to a real guest behind the built server.
//
// Oracles: every call settles and every stream ends, with registered errors only; every call of a host is answered once; the host
// replaces a guest that broke the rules; the server lives, complains of nothing, stays within its memory, and the next session
// works.
import { serverUnderTest } from '../server-under-test.mjs';
import { checkLyingGuest, lyingGuestCase } from '../wasm/lying-guest.mjs';
import { checkRelay, checkServeDuplex, lyingHostCase } from '../wasm/lying-host.mjs';

export const lanes = 4;

export function generate(random) {
  const mode = random.pick(['guest program', 'guest program', 'serveDuplex', 'serveDuplex', 'relay']);
  return mode === 'guest program' ? lyingGuestCase(random) : lyingHostCase(random, mode);
}

export async function open() {
  const server = await serverUnderTest();
  return {
    check: (input) => {
      if (input.mode === 'guest program') return checkLyingGuest(input);
      return input.mode === 'relay' ? checkRelay(server, input) : checkServeDuplex(input);
    },
    checkMemory: () => server.checkMemory(),
    close: () => server.close(),
  };
}
