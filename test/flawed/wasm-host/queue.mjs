/** Chunks that wait for their reader, and how the stream ended. */
export class Queue {
  #chunks = [];
  #ended = false;
  #error;
  #wake = () => {};

  push(chunk) {
    this.#chunks.push(chunk);
    this.#wake();
  }

  end(error) {
    this.#ended = true;
    this.#error = error;
    this.#wake();
  }

  async *read() {
    for (;;) {
      if (this.#chunks.length > 0) yield this.#chunks.shift();
      else if (this.#ended && this.#error !== undefined) throw this.#error;
      else if (this.#ended) return;
      else {
        await new Promise((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
