// Mistakes that depend on the transport: frames of a WebSocket, lines and the end of standard input.
import { PassThrough } from 'node:stream';

/** Changes each piece of input that arrives. */
function piecewise(input, change) {
  const changed = new PassThrough();
  input.on('data', (piece) => changed.write(change(String(piece))));
  input.on('end', () => changed.end());
  return changed;
}

export const CARRIER_FLAWS = {
  'frames-are-binary': {
    onSocket: (socket) => {
      const send = socket.send.bind(socket);
      socket.send = (data, _options, sent) => send(data, { binary: true }, sent);
    },
  },
  'every-page-may-connect': { allowedOrigins: ['https://a-page.example'] },
  'one-line-per-piece': { onInput: (input) => piecewise(input, (piece) => `${piece.split('\n')[0]}\n`) },
  'blank-lines-are-malformed': {
    onInput: (input) => piecewise(input, (piece) => piece.replaceAll(/^\r?\n/gm, 'null\n')),
  },
  'stays-when-its-input-ends': { atEnd: () => setTimeout(() => {}, 60_000) },
};
