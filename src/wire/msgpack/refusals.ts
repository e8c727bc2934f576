import { SallyportError } from '../../errors/index.js';

/** The errors of the decoder. They live apart from it so that its hot functions stay small enough to be inlined. */

export function truncated(offset: number, needed: number, remaining: number): SallyportError {
  return new SallyportError(
    'WIRE_SYNTAX',
    `MessagePack ends too early: the value at byte ${offset} needs ${needed} more bytes, ${remaining} are left`,
    { offset, needed, remaining },
  );
}

export function neverUsed(offset: number): SallyportError {
  return new SallyportError('WIRE_SYNTAX', `Byte 0xc1 at byte ${offset} is not MessagePack`, { offset });
}

export function extension(offset: number, lead: number): SallyportError {
  return new SallyportError(
    'WIRE_EXTENSION',
    `MessagePack extension type (0x${lead.toString(16)}) at byte ${offset} is not accepted`,
    { offset },
  );
}

export function notFinite(offset: number, value: number): SallyportError {
  return new SallyportError('WIRE_NUMBER', `The number at byte ${offset} is ${value}`, { offset });
}

export function badUtf8(offset: number): SallyportError {
  return new SallyportError('WIRE_UTF8', `The string at byte ${offset} is not valid UTF-8`, { offset });
}

export function keyType(offset: number): SallyportError {
  return new SallyportError('WIRE_KEY_TYPE', `The map key at byte ${offset} is not a string`, { offset });
}

export function duplicateKey(offset: number, key: string): SallyportError {
  const shown = JSON.stringify(key.length > 64 ? `${key.slice(0, 64)}…` : key);
  return new SallyportError('WIRE_DUPLICATE_KEY', `The map key ${shown} before byte ${offset} was there already`, {
    offset,
  });
}

export function trailing(offset: number, extra: number): SallyportError {
  return new SallyportError('WIRE_TRAILING', `The message ends at byte ${offset}, but ${extra} more bytes follow`, {
    offset,
    extra,
  });
}

export function tooManyBytes(size: number, limit: number): SallyportError {
  return new SallyportError('WIRE_BUDGET_BYTES', `The message has ${size} bytes, over the limit of ${limit}`, {
    size,
    limit,
  });
}

export function tooDeep(offset: number, limit: number): SallyportError {
  return new SallyportError('WIRE_BUDGET_DEPTH', `The message is nested deeper than ${limit} at byte ${offset}`, {
    offset,
    limit,
  });
}

export function tooManyValues(offset: number, limit: number): SallyportError {
  return new SallyportError('WIRE_BUDGET_VALUES', `The message holds more than ${limit} values at byte ${offset}`, {
    offset,
    limit,
  });
}
