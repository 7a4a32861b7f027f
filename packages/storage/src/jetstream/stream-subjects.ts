import { cachePrefix, parseCacheKey } from '../cache-keys.ts';
import { ValueTooLargeError } from '../errors.ts';

/** Token of an empty namespace. */
const emptyToken = '=';
/** First token of keys outside of `/cache/`; not a valid shard name. */
const plainToken = '=key';
/** Limit of a NATS protocol line, minus its other parts. */
const maxSubjectLength = 3800;

/**
 * Maps keys to subjects:
 *
 *   /cache/<group>/<resource>/<identity>/<shard>/<cluster>/[<namespace>/]<name>
 *   <prefix>.<shard>.<group>.<resource>.<identity>.<cluster>.<namespace|=>.<name>
 *
 * so that the objects of one shard, and of one resource of all shards, are one filter. Other keys keep their order after
 * `=key`. Each token is escaped byte by byte (`=2E` for a dot): Kubernetes names contain dots, and dots, spaces, `*` and
 * `>` have a meaning in subjects. The mapping is reversible.
 */
export class StreamSubjects {
  readonly #prefix: string;
  /** Matches all subjects of the stream. */
  readonly all: string;
  /** Subject of the watermark; no key maps to it. */
  readonly watermark: string;
  /** Subject of the last relist request; no key maps to it. */
  readonly relist: string;

  constructor(prefix: string) {
    this.#prefix = `${prefix}.`;
    this.all = `${prefix}.>`;
    this.watermark = `${prefix}.=floor`;
    this.relist = `${prefix}.=relist`;
  }

  /** Throws a TypeError for an invalid key below `/cache/`, ValueTooLargeError for a key that is too long. */
  encode(key: string): string {
    const parts = parseCacheKey(key);
    if (parts === undefined && key.startsWith(cachePrefix))
      throw new TypeError(`invalid key of a cached object: ${key}`);
    const tokens =
      parts === undefined
        ? [plainToken, ...key.split('/').map(escape)]
        : [
            parts.shard,
            parts.group === '' ? 'core' : parts.group,
            parts.resource,
            parts.identity,
            parts.cluster,
            parts.namespace,
            parts.name,
          ].map(escape);
    const subject = this.#prefix + tokens.join('.');
    if (subject.length > maxSubjectLength) throw new ValueTooLargeError(key, 'the key is too long for a subject');
    return subject;
  }

  isInternal(subject: string): boolean {
    return subject === this.watermark || subject === this.relist;
  }

  /** The key of a subject; undefined for internal subjects. */
  decode(subject: string): string | undefined {
    if (this.isInternal(subject) || !subject.startsWith(this.#prefix)) return undefined;
    const tokens = subject.slice(this.#prefix.length).split('.');
    if (tokens[0] === plainToken) return tokens.slice(1).map(unescape).join('/');
    if (tokens.length !== 7) return undefined;
    const [shard, group, resource, identity, cluster, namespace, name] = tokens.map(unescape) as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const inner = namespace === '' ? '' : `${namespace}/`;
    return `${cachePrefix}${group}/${resource}/${identity}/${shard}/${cluster}/${inner}${name}`;
  }

  /** Shard, group, resource and identity of a subject, or of the filter of such a prefix, escaped. */
  resourceOf(subject: string): string {
    const start = this.#prefix.length;
    let end = start;
    for (let token = 0; token < 4; token++) {
      end = subject.indexOf('.', end === start ? start : end + 1);
      if (end === -1) return subject.slice(start);
    }
    return subject.slice(start, end);
  }

  /** A filter that matches all keys with a prefix, and possibly others. */
  filter(prefix: string): string {
    const segments = prefix.split('/').slice(0, -1);
    if (!prefix.startsWith(cachePrefix)) {
      return `${this.#prefix}${[plainToken, ...segments.map(escape)].join('.')}.>`;
    }
    const [group = '*', resource = '*', identity = '*', shard = '*', cluster] = segments.slice(2).map(escape);
    const tokens = [shard, group, resource, identity, ...(cluster === undefined ? [] : [cluster])];
    while (tokens.at(-1) === '*') tokens.pop();
    return `${this.#prefix}${[...tokens, '>'].join('.')}`;
  }
}

const harmless = /^[A-Za-z0-9_:-]+$/;
const harmful = /[^A-Za-z0-9_:-]/gu;

function escape(text: string): string {
  if (harmless.test(text)) return text;
  if (text === '') return emptyToken;
  return text.replaceAll(harmful, (char) => {
    let escaped = '';
    for (const byte of Buffer.from(char)) escaped += `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    return escaped;
  });
}

function unescape(token: string): string {
  if (token === emptyToken) return '';
  if (!token.includes('=')) return token;
  return decodeURIComponent(token.replaceAll('=', '%'));
}
