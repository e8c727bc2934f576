const text = (value) => typeof value === 'string';

/** What is wrong with a message, or nothing. */
export function problemOf(message, is) {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return 'no map';
  const { type, id, functionName, expectsResponse, error, chunk } = message;
  if (!text(id)) return 'no id';
  if (!Number.isInteger(type) || type < 0 || type > 5) return is('skips-unknown-types') ? undefined : 'no type';
  if (type === 0 && !text(functionName)) return 'no name';
  if (type === 0 && !['undefined', 'boolean'].includes(typeof expectsResponse)) return 'no boolean';
  if ((type === 2 || type === 5) && !text(error)) return 'no error';
  if (type === 3 && chunk === undefined) return 'no chunk';
  return undefined;
}
