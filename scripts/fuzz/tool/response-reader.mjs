// Reads HTTP/1.1 responses off a byte stream, strictly: whatever is no response is a finding.
import { hold } from '../oracles.mjs';

const CRLF = '\r\n';

/** `onResponse` hears { status, headers, body } for each; `methods` are those of the requests, in order. */
export class ResponseReader {
  #bytes = '';
  #methods;
  #onResponse;

  constructor(methods, onResponse) {
    this.#methods = [...methods];
    this.#onResponse = onResponse;
  }

  /** Whether a response has begun and is not complete. */
  get midway() {
    return this.#bytes !== '';
  }

  push(chunk) {
    this.#bytes += chunk.toString('latin1');
    while (this.#bytes !== '' && this.#take()) {
      // Until what is left is not a whole response.
    }
  }

  #take() {
    const end = this.#bytes.indexOf(CRLF + CRLF);
    if (end === -1) return false;
    const [first, ...lines] = this.#bytes.slice(0, end).split(CRLF);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    hold(Number.isInteger(status), `a response begins with ${JSON.stringify(first.slice(0, 100))}`);
    const headers = new Map();
    for (const line of lines) {
      const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+): ?([^\x00-\x08\x0a-\x1f]*)$/.exec(line) ?? [];
      hold(name !== undefined, `a header is ${JSON.stringify(line.slice(0, 100))}`);
      headers.set(name.toLowerCase(), value);
    }
    const taken = this.#body(end + 4, status, headers);
    if (taken === undefined) return false;
    this.#bytes = this.#bytes.slice(taken.until);
    if (status >= 200) this.#methods.shift();
    if (status >= 200) this.#onResponse({ status, headers, body: Buffer.from(taken.body, 'latin1').toString('utf8') });
    return true;
  }

  #body(from, status, headers) {
    if (status < 200 || status === 204 || status === 304 || this.#methods[0] === 'HEAD')
      return { body: '', until: from };
    if (headers.get('transfer-encoding') === 'chunked') return this.#chunks(from);
    const length = Number(headers.get('content-length'));
    hold(Number.isSafeInteger(length) && length >= 0, `a response has neither a length nor chunks (${status})`);
    if (this.#bytes.length < from + length) return undefined;
    return { body: this.#bytes.slice(from, from + length), until: from + length };
  }

  #chunks(from) {
    let body = '';
    for (let at = from; ; ) {
      const end = this.#bytes.indexOf(CRLF, at);
      if (end === -1) return undefined;
      const size = Number.parseInt(this.#bytes.slice(at, end), 16);
      hold(Number.isSafeInteger(size), 'a chunk has no size');
      if (this.#bytes.length < end + 2 + size + 2) return undefined;
      body += this.#bytes.slice(end + 2, end + 2 + size);
      at = end + 2 + size + 2;
      if (size === 0) return { body, until: at };
    }
  }
}
