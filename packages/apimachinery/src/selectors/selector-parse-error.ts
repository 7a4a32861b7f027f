/** A malformed selector; clients get its message with status 400. */
export class SelectorParseError extends Error {
  override readonly name = 'SelectorParseError';
}
