import { gzipSync } from 'node:zlib';

const BLOCK_BYTES = 512;

/** Packs files as npm does: a gzipped tar whose entries are in a folder called `package`. */
export function tarball(files: Readonly<Record<string, string>>): Buffer {
  const blocks = Object.entries(files).flatMap(([path, text]) => {
    const content = Buffer.from(text);
    const padding = (BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES;
    return [header(`package/${path}`, content.length), content, Buffer.alloc(padding)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]));
}

/** The header of a regular file, in the ustar form: octal numbers at fixed places, and a sum over all bytes. */
function header(path: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number, at: number): void => {
    block.write(`${value.toString(8).padStart(digits, '0')}\0`, at);
  };
  block.write(path, 0);
  octal(0o644, 7, 100);
  octal(0, 7, 108);
  octal(0, 7, 116);
  octal(size, 11, 124);
  octal(0, 11, 136);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  // While it is added up, the place of the sum itself counts as spaces.
  block.fill(' ', 148, 156);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    6,
    148,
  );
  block.write(' ', 155);
  return block;
}
