/** What to show of something thrown: the message where there is one (errors of another realm are no `Error` here). */
export function errorText(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
