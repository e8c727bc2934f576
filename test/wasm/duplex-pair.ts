import { Duplex } from 'node:stream';

/** Two ends of one byte stream in memory. */
export function duplexPair(): [Duplex, Duplex] {
  const ends: Duplex[] = [];
  const make = (other: () => Duplex | undefined): Duplex =>
    new Duplex({
      allowHalfOpen: true,
      read() {},
      write(chunk: Buffer, _encoding, done) {
        other()?.push(Buffer.from(chunk));
        done();
      },
      final(done) {
        other()?.push(null);
        done();
      },
    });
  const left = make(() => ends[1]);
  const right = make(() => ends[0]);
  ends.push(left, right);
  return [left, right];
}
