/**
 * Whether a server has loaded the data that it serves. It listens before that, so that probes can report what it waits for;
 * `withStartupGate` rejects all other requests.
 */
export class StartupGate {
  #isOpen = false;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  open(): void {
    this.#isOpen = true;
  }
}
