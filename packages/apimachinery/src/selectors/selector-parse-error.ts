/** A selector that cannot be understood; its message is what the client is told with a 400 (K3.6). */
export class SelectorParseError extends Error {
  override readonly name = 'SelectorParseError';
}
