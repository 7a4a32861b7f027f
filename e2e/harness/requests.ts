import { ScenarioTransport, parse, type Answer, type OpenWatch } from '../conformance/transport.ts';
import type { ControlPlane } from './control-plane.ts';
import { testTokens } from './local-cluster.ts';

type Value = unknown;

export interface SentRequest {
  /** A name of the token file, `anonymous`, or a token itself; default `masters`. */
  readonly as?: string | undefined;
  readonly method?: string | undefined;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly body?: unknown;
  /** The body is sent as protobuf. */
  readonly protobuf?: true | undefined;
  /** Sent as it is, instead of `body`. */
  readonly text?: string | undefined;
}

/** An answer whatever its status, with its JSON when it is one. */
export interface Response extends Answer {
  readonly json: Record<string, Value>;
}

/** Plain requests below one prefix, for tests that look at statuses and bodies as they come. */
export class Requests implements Disposable {
  readonly #transport: ScenarioTransport;
  readonly #prefix: string;
  constructor(cluster: Pick<ControlPlane, 'url' | 'ca'>, prefix: string = '') {
    this.#prefix = prefix;
    this.#transport = new ScenarioTransport({ server: cluster.url, prefix: '', tokens: testTokens, ca: cluster.ca });
  }

  async send({ as = 'masters', method, path, headers, body, protobuf, text }: SentRequest): Promise<Response> {
    const answer = await this.#transport.send({
      as,
      path: `${this.#prefix}${path}`,
      ...(method === undefined ? {} : { method }),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
      ...(protobuf === undefined ? {} : { protobuf }),
      ...(text === undefined ? {} : { bodyText: text }),
    });
    return { ...answer, json: (parse(answer.text) ?? {}) as Record<string, Value> };
  }

  /** A request that must succeed; the test fails with the server's own words otherwise. */
  async must(request: SentRequest): Promise<Response> {
    const response = await this.send(request);
    if (response.status < 200 || response.status > 299)
      throw new Error(
        `${request.method ?? 'GET'} ${request.path} answered ${response.status}: ${response.text.slice(0, 2_000)}`,
      );
    return response;
  }

  watch(path: string, as: string = 'masters', headers: SentRequest['headers'] = {}): Promise<OpenWatch> {
    return this.#transport.watch({ as, path: `${this.#prefix}${path}`, headers });
  }

  [Symbol.dispose](): void {
    this.#transport.close();
  }
}
