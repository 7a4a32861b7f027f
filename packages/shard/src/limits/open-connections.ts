/** The connections that have an open request in one logical cluster, each by its name in the request's header. */
export class OpenConnections {
  /** Open requests by connection. */
  readonly #requests = new Map<string, number>();

  get size(): number {
    return this.#requests.size;
  }

  has(connection: string): boolean {
    return this.#requests.has(connection);
  }

  requestStarted(connection: string): void {
    this.#requests.set(connection, (this.#requests.get(connection) ?? 0) + 1);
  }

  requestEnded(connection: string): void {
    const left = (this.#requests.get(connection) ?? 0) - 1;
    if (left > 0) this.#requests.set(connection, left);
    else this.#requests.delete(connection);
  }
}
