/** The PATH of the environment. */
export function searchPath(): string {
  return process.env['PATH'] ?? '';
}
