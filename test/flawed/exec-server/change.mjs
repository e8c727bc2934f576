// Small steps that distortions are made of. A distortion gets a message and gives another one, several, none (an empty
// list), or nothing for the message as it is.

/** Changes the parameters of requests of one method. */
export const params = (method, change) => (message, connection) => {
  if (message.method !== method) return undefined;
  return { ...message, params: { ...message.params, ...change(message.params ?? {}, connection) } };
};

/** Changes the results of requests of one method. */
export const result = (method, change) => (message, connection) => {
  const request = connection.requestOf(message);
  if (request?.method !== method || message.result === undefined) return undefined;
  const changed = change(message.result, request.params ?? {}, connection);
  return changed === undefined ? undefined : { ...message, result: changed };
};

/** Changes the errors of requests of one method. */
export const error = (method, change) => (message, connection) => {
  const request = connection.requestOf(message);
  if ((method !== '*' && request?.method !== method) || message.error === undefined) return undefined;
  return change(message, request?.params ?? {}, connection);
};

/** Changes notifications of one method. */
export const note = (method, change) => (message, connection) =>
  message.method === method ? change(message, connection) : undefined;

/** The same for whichever step applies first. */
export const first =
  (...steps) =>
  (message, connection) => {
    for (const step of steps) {
      const changed = step(message, connection);
      if (changed !== undefined) return changed;
    }
    return undefined;
  };

/** Carries bytes of a chunk through text, which only UTF-8 survives. */
export const throughText = (chunk) =>
  Buffer.from(Buffer.from(String(chunk), 'base64').toString('utf8')).toString('base64');

/** The process of the operating system behind a process id, unless there is none, or nobody may ask yet. */
export async function pidOf(connection, processId) {
  const { result: listed } = await connection.ask('process/list', {});
  return listed?.processes.find((one) => one.processId === processId && one.running)?.pid;
}
