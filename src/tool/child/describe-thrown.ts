const MESSAGE_CHARACTERS = 4_000;
const NAME_CHARACTERS = 100;
const toText = String;
const { slice } = String.prototype;
const apply = Reflect.apply;

const cut = (text: string, length: number): string => apply(slice, text, [0, length]) as string;

function read(value: object, field: 'name' | 'message'): string | undefined {
  try {
    const found: unknown = (value as Record<string, unknown>)[field];
    return typeof found === 'string' ? found : undefined;
  } catch {
    return undefined;
  }
}

/** What an error says, and what it says of its cause: `fetch` keeps the reason there. */
function messageOf(thrown: object): string | undefined {
  const message = read(thrown, 'message');
  let cause: unknown;
  try {
    cause = (thrown as { cause?: unknown }).cause;
  } catch {
    return message;
  }
  const reason = typeof cause === 'object' && cause !== null ? read(cause, 'message') : undefined;
  return message === undefined || reason === undefined || reason === '' ? message : `${message}: ${reason}`;
}

/** What was thrown, in words. Whatever it is, asking it does not throw again. */
export function describeThrown(thrown: unknown): { readonly name: string | undefined; readonly message: string } {
  if (typeof thrown === 'object' && thrown !== null) {
    const name = read(thrown, 'name');
    const message = messageOf(thrown);
    if (message !== undefined)
      return {
        name: name === undefined ? undefined : cut(name, NAME_CHARACTERS),
        message: cut(message, MESSAGE_CHARACTERS),
      };
  }
  try {
    return { name: undefined, message: cut(toText(thrown), MESSAGE_CHARACTERS) };
  } catch {
    return { name: undefined, message: 'a value that cannot be shown' };
  }
}
