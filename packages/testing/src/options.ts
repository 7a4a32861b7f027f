/** The folders in which programs are looked for, as the environment gives them. */
export function searchPath(): string {
  return process.env['PATH'] ?? '';
}
