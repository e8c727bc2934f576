import type { WireMap, WireValue } from '../../wire/index.js';

const text = (value: WireValue | undefined): boolean => typeof value === 'string';

/** What each type of message needs beside `type` and `id`, read off the tables of the specification. */
const NEEDS: readonly ((message: WireMap) => string | undefined)[] = [
  ({ functionName, expectsResponse }) => {
    if (!text(functionName)) return 'functionName is no text';
    const fits = expectsResponse === undefined || typeof expectsResponse === 'boolean';
    return fits ? undefined : 'expectsResponse is no boolean';
  },
  () => undefined,
  ({ error }) => (text(error) ? undefined : 'error is no text'),
  ({ chunk }) => (chunk === undefined ? 'chunk is missing' : undefined),
  () => undefined,
  ({ error }) => (text(error) ? undefined : 'error is no text'),
];

/** Says what is wrong with the fields of a message, or nothing. */
export function problemOf(message: WireMap): string | undefined {
  const { type, id } = message;
  if (!text(id)) return 'id is no text';
  const needs = typeof type === 'number' ? NEEDS[type] : undefined;
  return needs === undefined ? 'type is no number from 0 to 5' : needs(message);
}
