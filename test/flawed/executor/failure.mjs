/** A failure that has a code of the protocol. */
export class Failure extends Error {
  constructor(code, message, status = 200) {
    super(message);
    this.code = code;
    this.status = status;
  }
}
