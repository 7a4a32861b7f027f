import { WireError } from './wire-error.ts';

/** A request as it is written: its head, and how its body is framed. */
export interface RequestHead {
  readonly text: string;
  /** Bytes that follow; undefined: chunks. */
  readonly length: number | undefined;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const unwritableValue = /[^\t\u0020-\u007e\u0080-\u00ff]/;
const unwritablePath = /[^\u0021-\u00ff]/;
const decimal = /^\d{1,15}$/;
/** Without a body these say so (RFC 9110 §8.6). */
const expectBody = new Set(['POST', 'PUT', 'PATCH']);

/**
 * Writes the head of an HTTP/1.1 request. Everything in it is checked once more: a line break that got into a value would
 * be another request on the proxy's connection. The length that the client said is kept where there is a body, and stands
 * alone: chunks are for bodies whose length nobody said. Throws a WireError.
 */
export function requestHead(
  request: {
    readonly method: string;
    readonly path: string;
    /** Names and values in turn; nothing that belongs to a connection but `content-length`. */
    readonly headers: readonly string[];
    readonly hasBody: boolean;
  },
  host: string,
): RequestHead {
  const { method, path, headers, hasBody } = request;
  if (!token.test(method) || method === 'CONNECT') throw new WireError('request', 'a method that cannot be passed on');
  if (path.charCodeAt(0) !== slash || unwritablePath.test(path)) {
    throw new WireError('request', 'a path that cannot be passed on');
  }
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  let said: string | undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    if (!token.test(name) || unwritableValue.test(value)) {
      throw new WireError('request', 'a header that cannot be passed on');
    }
    if (name.length === lengthName.length && name.toLowerCase() === lengthName) {
      if ((said !== undefined && said !== value) || !decimal.test(value)) {
        throw new WireError('request', 'a length that is none');
      }
      said = value;
      continue;
    }
    text += `${name}: ${value}\r\n`;
  }
  if (!hasBody) {
    if (said !== undefined && Number(said) !== 0) throw new WireError('request', 'a length without a body');
    return { text: `${text}${expectBody.has(method) ? 'content-length: 0\r\n' : ''}\r\n`, length: 0 };
  }
  if (said === undefined) return { text: `${text}transfer-encoding: chunked\r\n\r\n`, length: undefined };
  return { text: `${text}content-length: ${said}\r\n\r\n`, length: Number(said) };
}

const slash = 0x2f;
const lengthName = 'content-length';
