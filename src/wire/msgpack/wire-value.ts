/** What can cross a MessagePack boundary: JSON, plus binary and integers beyond 2^53 (as `bigint`). */
export type WireValue = null | boolean | number | bigint | string | Uint8Array | WireValue[] | WireMap;

/** A map with string keys: an ordinary plain object, whatever its keys are called. */
export interface WireMap {
  [key: string]: WireValue;
}
