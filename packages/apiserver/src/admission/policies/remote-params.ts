import {
  errorText,
  getOwn,
  isJsonObject,
  isStatusError,
  parseJson,
  parseApiVersion,
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { failureOf, type RestTransport } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import type { ParamKind } from './policy-hook.ts';

/** How a kind of parameters is served. */
export interface ServedKind {
  readonly resource: string;
  readonly namespaced: boolean;
}

/** Which parameters are wanted: one by its name, or all of a namespace, or of the logical cluster. */
export interface WantedParams {
  readonly cluster: LogicalClusterName;
  readonly kind: ParamKind;
  readonly served: ServedKind;
  readonly namespace: string;
  /** Empty: all. */
  readonly name: string;
}

export interface ParamsElsewhereOptions {
  /** How long an answer is believed: so much later than at home a change of parameters takes effect. */
  readonly ttlMs: number;
  /** How long a question may take; the write waits for it. */
  readonly timeoutMs: number;
  /** The largest answer, and all that are remembered. */
  readonly maxAnswerBytes: number;
  readonly maxBytes: number;
}

export const defaultParamsElsewhereOptions: ParamsElsewhereOptions = {
  ttlMs: 1_000,
  timeoutMs: 3_000,
  maxAnswerBytes: 4 * 1024 * 1024,
  maxBytes: 16 * 1024 * 1024,
};

export interface ParamsElsewhereModules {
  /** The way to logical clusters of other shards; undefined: there is none. */
  readonly transport: () => Pick<RestTransport, 'open'> | undefined;
  readonly clock: Clock;
}

/** Parameters on another shard cannot be read; the message says why, in words for whoever made the write. */
export class ElsewhereError extends Error {
  override readonly name = 'ElsewhereError';
}

interface Answer {
  /** Undefined for what is not there. */
  readonly object: JsonObject | undefined;
  readonly bytes: number;
}

interface Known {
  readonly answer: Promise<Answer>;
  /** As long as it is on its way, for ever. */
  until: number;
  bytes: number;
}

/** What is counted for an answer beside its text. */
const entryBytes = 256;

/**
 * Parameters of policies whose logical cluster is on another shard: a provider's policies hold for the objects of
 * consumers everywhere (C6.13), and what they compare with lies at home. The shard that has it is asked, as the identity
 * by which shards do things for each other; that one may read there what a policy in force names as its parameters, and
 * nothing else of a tenant's.
 *
 * An answer is remembered for a moment, refusals and failures too, so that many writes cost one question and a shard that
 * is silent holds up one write at a time at most; questions under way are shared. Kept is a bounded number of bytes, the
 * answers that were asked for last.
 */
export class ParamsElsewhere {
  readonly #options: ParamsElsewhereOptions;
  readonly #modules: ParamsElsewhereModules;
  readonly #known = new Map<string, Known>();
  #bytes = 0;

  constructor(options: ParamsElsewhereOptions, modules: ParamsElsewhereModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** How a kind is served in a logical cluster; undefined: it is not. Throws {@link ElsewhereError}. */
  async servedKind(cluster: LogicalClusterName, { apiVersion, kind }: ParamKind): Promise<ServedKind | undefined> {
    const list = await this.#get(`/clusters/${cluster}${pathOf(apiVersion)}`);
    const resources = list?.['resources'];
    if (!Array.isArray(resources)) return undefined;
    for (const one of resources) {
      if (!isJsonObject(one) || getOwn(one, 'kind') !== kind) continue;
      const name = getOwn(one, 'name');
      if (typeof name === 'string' && !name.includes('/'))
        return { resource: name, namespaced: getOwn(one, 'namespaced') === true };
    }
    return undefined;
  }

  /** The objects, as they would be read here. Throws {@link ElsewhereError}. */
  async objects({
    cluster,
    kind,
    served,
    namespace,
    name,
  }: WantedParams): Promise<readonly DeepReadonly<KubeObject>[]> {
    const scope = served.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : '';
    const path = `/clusters/${cluster}${pathOf(kind.apiVersion)}${scope}/${served.resource}`;
    if (name !== '') {
      const object = await this.#get(`${path}/${encodeURIComponent(name)}`);
      return object === undefined ? [] : [object as unknown as DeepReadonly<KubeObject>];
    }
    const items = (await this.#get(path))?.['items'];
    if (!Array.isArray(items)) return [];
    // Typed lists leave out of what kind their items are.
    return items.map((item) => ({ ...kind, ...(item as object) }) as unknown as KubeObject);
  }

  async #get(path: string): Promise<JsonObject | undefined> {
    let known = this.#known.get(path);
    if (known !== undefined && known.until <= this.#modules.clock.monotonic()) {
      this.#forget(path, known);
      known = undefined;
    }
    known ??= this.#remember(path);
    return (await known.answer).object;
  }

  #remember(path: string): Known {
    const entry = {
      answer: this.#ask(path),
      until: Number.POSITIVE_INFINITY,
      bytes: entryBytes + path.length,
    };
    this.#known.set(path, entry);
    this.#bytes += entry.bytes;
    const settled = (bytes: number): void => {
      entry.until = this.#modules.clock.monotonic() + this.#options.ttlMs;
      if (this.#known.get(path) !== entry) return;
      entry.bytes += bytes;
      this.#bytes += bytes;
      this.#shrink();
    };
    entry.answer.then(
      ({ bytes }) => settled(bytes),
      // Whoever asked is told; here it is only remembered.
      () => settled(0),
    );
    this.#shrink();
    return entry;
  }

  /** A Map keeps the order of insertion: the oldest answer goes first. */
  #shrink(): void {
    for (const [path, entry] of this.#known) {
      if (this.#bytes <= this.#options.maxBytes) break;
      this.#forget(path, entry);
    }
  }

  #forget(path: string, entry: Known): void {
    this.#known.delete(path);
    this.#bytes -= entry.bytes;
  }

  async #ask(path: string): Promise<Answer> {
    const transport = this.#modules.transport();
    if (transport === undefined)
      throw new ElsewhereError('this shard has no --external-logical-cluster-admin-kubeconfig to reach others with');
    const { timeoutMs, maxAnswerBytes } = this.#options;
    const late = new AbortController();
    const timer = this.#modules.clock.after(timeoutMs, () => late.abort(new Error('no answer in time')));
    try {
      const response = await transport.open({ method: 'GET', path, signal: late.signal });
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of response as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxAnswerBytes) throw new ElsewhereError(`they are larger than ${maxAnswerBytes} bytes`);
        chunks.push(chunk);
      }
      const text = Buffer.concat(chunks).toString();
      const code = response.statusCode ?? 0;
      if (code === 404) return { object: undefined, bytes: 0 };
      if (code < 200 || code > 299) throw failureOf(code, text);
      const value = parseJson(text);
      return { object: isJsonObject(value) ? value : undefined, bytes: size };
    } catch (error) {
      if (error instanceof ElsewhereError) throw error;
      throw new ElsewhereError(whyOf(late.signal.aborted ? late.signal.reason : error), { cause: error });
    } finally {
      timer.cancel();
    }
  }
}

/** A refusal is told by its reason: its words name identities that are nobody's business. */
function whyOf(error: unknown): string {
  if (!isStatusError(error)) return errorText(error);
  return error.code === 403
    ? 'access to them is denied'
    : `the server answered ${error.code} ${error.reason}`.trimEnd();
}

function pathOf(apiVersion: string): string {
  const { group = '', version = apiVersion } = parseApiVersion(apiVersion) ?? {};
  return group === '' ? `/api/${version}` : `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`;
}
