import { errorText } from '@multiplane/apimachinery';
import { goNetworkError } from '@multiplane/client';

/** What node's errors of files, names and connections carry. */
interface SystemError extends Error {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly path?: unknown;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  /** Of an AggregateError. */
  readonly errors?: readonly unknown[];
}

/** What a plugin says of a failure: of a connection or a file in kubectl's words, not in those of node. */
export function failureText(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return errorText(error);
  const failure = error as SystemError;
  const { code, syscall, path, address, port, hostname, errors } = failure;
  // Nobody listens on any address of a name: the whole has no text, and the first says it for all.
  if (errors !== undefined && failure.message === '') return failureText(errors[0]);
  if (code === 'ENOENT' && typeof path === 'string') return `open ${path}: no such file or directory`;
  const destination = { hostname: hostname ?? address ?? '', port: String(port ?? '') };
  if (code === 'ECONNREFUSED' && syscall === 'connect')
    return `The connection to the server ${destination.hostname}:${destination.port} was refused - did you specify the right host or port?`;
  const text = goNetworkError(failure, destination);
  return text === failure.message ? text : `Unable to connect to the server: ${text}`;
}
