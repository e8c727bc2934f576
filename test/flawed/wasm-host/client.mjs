import { Guest } from './guest.mjs';

/** Calls a guest, and starts a fresh one after it has failed. */
export class Client {
  #argv;
  #is;
  #guest;

  constructor(argv, is) {
    this.#argv = argv;
    this.#is = is;
  }

  call(name, params, timeoutMs) {
    return this.#running().call(name, params, timeoutMs);
  }

  notify(name, params) {
    this.#running().notify(name, params);
  }

  #running() {
    if (this.#guest === undefined || (this.#guest.ended && !this.#is('never-fresh'))) {
      this.#guest = new Guest(this.#argv, this.#is);
    }
    return this.#guest;
  }
}
