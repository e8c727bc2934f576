// Mistakes that depend on the transport: frames of a WebSocket, lines and the end of standard input.
import { PassThrough } from 'node:stream';

export const CARRIER_FLAWS = {
  'frames-are-binary': {
    onSocket: (socket) => {
      const send = socket.send.bind(socket);
      socket.send = (data, _options, sent) => send(data, { binary: true }, sent);
    },
  },
  'every-page-may-connect': { allowedOrigins: ['https://a-page.example'] },
  'half-lines-are-lost': {
    // Takes each piece of input for whole lines.
    onInput: (input) => {
      const lines = new PassThrough();
      input.on('data', (piece) => {
        if (String(piece).endsWith('\n')) lines.write(piece);
      });
      input.on('end', () => lines.end());
      return lines;
    },
  },
  'blank-lines-are-malformed': {
    onInput: (input) => {
      const lines = new PassThrough();
      input.on('data', (piece) => lines.write(String(piece).replaceAll(/^\r?\n/gm, 'null\n')));
      input.on('end', () => lines.end());
      return lines;
    },
  },
  'stays-when-its-input-ends': { atEnd: () => setTimeout(() => {}, 60_000) },
};
