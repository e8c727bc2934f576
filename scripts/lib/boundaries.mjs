// One execution of each boundary, from the outside, with an outcome that is known.
import { ExecClient } from '../../dist/process/index.js';

/** The package that the tool boundary runs. */
export const LOAD_TOOL = {
  name: 'load-tool',
  source: `export const double = { description: 'doubles', inputSchema: { type: 'object' }, execute: async ({ n }) => ({ n: n * 2 }) };\n`,
};

/** An execution that did not end as it should. `code` is that of the boundary, or what went wrong with the connection. */
export class Failed extends Error {
  constructor(code, message = code) {
    super(message);
    this.code = code;
  }
}

/** Posts JSON and returns the answer. Rejects with Failed when the connection fails. */
export async function post(url, path, body, signal) {
  let response;
  try {
    response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
    return await response.json();
  } catch (error) {
    throw new Failed('connection', `${error.message}: ${error.cause?.message ?? ''}`);
  }
}

function expectResult({ ok, success, result, output, error }, expected, got = result ?? output) {
  if (ok !== true && success !== true) throw new Failed(error?.code ?? 'no code', error?.message);
  if (JSON.stringify(got) !== JSON.stringify(expected)) throw new Failed('wrong result', JSON.stringify(got));
}

/** Runs one program. */
export async function runGuest(url, signal) {
  const code = 'let n = 0; for (let i = 0; i < 1e4; i++) n += i; return n';
  expectResult(await post(url, '/run', { code }, signal), 49_995_000);
}

/** Calls one function of a Wasm module. */
export async function runWasm(url, signal) {
  expectResult(await post(url, '/wasm/guest/add', [20, 22], signal), 42);
}

/** Runs one tool, of a version if one is named. */
export async function runTool(url, signal, more = {}) {
  const request = { packageName: LOAD_TOOL.name, name: 'double', params: { n: 21 }, ...more };
  expectResult(await post(url, '/execute-tool', request, signal), { n: 42 });
}

/** Runs commands over one connection, which is opened again after it was lost. */
export class Commands {
  #connection;

  async run(socketUrl) {
    try {
      this.#connection ??= await ExecClient.connectWebSocket(`${socketUrl}/exec`);
      const child = await this.#connection.start({ argv: ['/bin/echo', 'hello'], cwd: '/' });
      const { exitCode } = await child.wait();
      if (exitCode !== 0) throw new Failed(`exit ${exitCode}`);
    } catch (error) {
      if (error instanceof Failed) throw error;
      await this.close();
      throw new Failed('connection', error.message);
    }
  }

  async close() {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close().catch(() => {});
  }
}
