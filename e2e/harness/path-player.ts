import type { Answer } from '../conformance/transport.ts';
import type { Requests, SentRequest } from './requests.ts';

/** Answers of Kubernetes with code 500 to a query or a media type that it cannot read; each is a Status. */
const asInKubernetes =
  /strconv\.ParseUint|invalid resource version|unable to (decode|recognize)|unsupported media type|failed to create typed/i;

/** Longer ones may be refused by the parser of HTTP, which closes the connection. */
const longest = 8_000;

/** Sends requests with hostile paths, and says which answers no client may get. */
export class PathPlayer {
  readonly #requests: Requests;
  readonly problems: string[] = [];
  /** Of all answers, by status. */
  readonly statuses = new Map<number, number>();

  constructor(modules: { readonly requests: Requests }) {
    this.#requests = modules.requests;
  }

  async play(request: SentRequest): Promise<void> {
    const { as, method = 'GET', path, headers } = request;
    const what = `${as} ${method} ${path.slice(0, 500)} ${JSON.stringify(headers)}`;
    try {
      // In a path it makes every method a watch.
      if (isWatch(path)) {
        const watch = await this.#requests.watch(path, as, headers);
        watch.close();
        // Errors end by themselves, so they are read as other answers are.
        if (watch.status === 200) return this.#count(200);
      }
      // Without a body there is nothing to decode.
      const sent = isWatch(path) ? { as, path, headers } : method === 'HEAD' ? { ...request, headers: {} } : request;
      const { status, text, headers: received } = await this.#requests.send(sent);
      this.#count(status);
      const problem = problemOf({ method, path }, status, text, received);
      if (problem !== undefined) this.problems.push(`${what}: ${problem}: ${status} ${text.slice(0, 300)}`);
    } catch (error) {
      if (path.length < longest) this.problems.push(`${what}: ${(error as Error).message}`);
    }
  }

  #count(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}

/** Also if its letters are encoded. */
const isWatch = (path: string): boolean =>
  path
    .replaceAll(/%([2-7][0-9a-f])/gi, (_escape, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .includes('watch');

function problemOf(
  { method, path }: { readonly method: string; readonly path: string },
  status: number,
  text: string,
  headers: Answer['headers'],
): string | undefined {
  // kcp answers 501 to the metrics of a virtual workspace.
  if (status < 400 || status === 501) return undefined;
  if (method === 'HEAD') return status >= 500 ? 'an error of the server' : undefined;
  const { kind, message, paths, gv } = jsonOf(text);
  const isStatus = kind === 'Status' && typeof message === 'string' && message !== '';
  if (status === 500 && !(isStatus && asInKubernetes.test(message))) return 'an error of the server';
  if (status > 500 && !isStatus) return 'unavailable without a reason';
  const type = headers['content-type'] ?? '';
  const isText = type.startsWith('text/plain') && text.trim() !== '';
  // The handler of OpenAPI v3 answers without a body, as that of Kubernetes.
  const isEmpty = text === '' && path.includes('/openapi/');
  const isOtherEncoding = /yaml|protobuf|cbor/.test(type);
  return isStatus || isText || isEmpty || isOtherEncoding || paths !== undefined || gv !== undefined
    ? undefined
    : 'no Status';
}

function jsonOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}
