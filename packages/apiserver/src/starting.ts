/**
 * Whether a server has what it answers from. It listens before that, so that whoever asks can be told what it waits for;
 * `withStarting` turns everybody else away.
 */
export class Starting {
  #over = false;

  get over(): boolean {
    return this.#over;
  }

  end(): void {
    this.#over = true;
  }
}
