import { errorText } from '@multiplane/apimachinery';
import { goNetworkError } from '@multiplane/client';

/** The fields of Node's errors of files, DNS and connections. */
interface SystemError extends Error {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly path?: unknown;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  /** The errors of an AggregateError. */
  readonly errors?: readonly unknown[];
}

/** The text of an error; connection and file errors have kubectl's text instead of Node's. */
export function failureText(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return errorText(error);
  const failure = error as SystemError;
  const { code, syscall, path, address, port, hostname, errors } = failure;
  // No address of a host name accepts connections: the AggregateError has no message, so use that of the first error.
  if (errors !== undefined && failure.message === '') return failureText(errors[0]);
  if (code === 'ENOENT' && typeof path === 'string') return `open ${path}: no such file or directory`;
  const destination = { hostname: hostname ?? address ?? '', port: String(port ?? '') };
  if (code === 'ECONNREFUSED' && syscall === 'connect')
    return `The connection to the server ${destination.hostname}:${destination.port} was refused - did you specify the right host or port?`;
  const text = goNetworkError(failure, destination);
  return text === failure.message ? text : `Unable to connect to the server: ${text}`;
}
