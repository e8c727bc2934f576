/**
 * A message that was encoded already, for senders that can do it in one pass. Only for transports that say
 * `carriesJson`; all others hand values over as they are.
 */
export class EncodedJson {
  /** One JSON document in UTF-8, and a newline at the end. */
  readonly line: Uint8Array;

  constructor(line: Uint8Array) {
    this.line = line;
  }

  /** The document without the newline. */
  get document(): Uint8Array {
    return this.line.subarray(0, -1);
  }
}
